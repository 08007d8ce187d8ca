# ruff: noqa: E501 (rule data: a pattern reads best on one line)
"""How a text counts on a person's action, in Portuguese, English and Spanish. Data of gate 8.

A form is who and what: we ask or tell a person, something was passed on to one, a person will do something, we come back
when a person answered, or "we" look into it and come back. `{who_…}` are the people of a business: by their trade, by
their department, or as somebody.
"""

from typing import Final

FRAGMENTS: Final = {
    "who_pt": r"(?:(?:[ao]s? |um[a]? |uns |d[oa]s? |noss[oa]s? |meus? |minhas? |outr[oa] |algum[a]? |alguem d[oa]s? |pessoal d[oa]s? )*(?:"
    r"(?:equipes?|times?|pessoal|setor|departamento|financeiro|comercial|suporte|atendimento|gerencia|diretoria|recepcao|administracao|administrativo|logistica|estoque|cozinha|juridico|cobranca|rh|"
    r"coordenacao|supervisao|secretaria|transportadora|oficina|laboratorio|almoxarifado|sac|ouvidoria|matriz|manutencao|expedicao|faturamento|marketing|compras|humano|pessoa|alguem|gente nossa|noss[oa]s? \w+(?:dor|dora|tor|tora|eiro|eira|ista)s?|producao|portaria|central|filial|limpeza|entregas|plantao|tesouraria|biblioteca|agencia|clinica|escola|soci[oa]s?|don[oa]s?|chefes?|chef|lideres|lider|fornecedor|fabrica|loja|qualidade)|"
    r"(?:gerente|supervisor|coordenador|diretor|consultor|vendedor|corretor|entregador|montador|instalador|encanador|pintor|instrutor|treinador|professor|contador|gestor|assessor|doutor|orientador|tosador|comprador|"
    r"fundador|desenvolvedor|programador|administrador|operador)(?:a|es|as)?|"
    r"(?:responsavel|responsaveis|especialista|atendente|colega|recepcionista|dentista|eletricista|nutricionista|fisioterapeuta|esteticista|analista|estoquista|motorista|motoboy|despachante|arquitet[oa]|engenheir[oa]|"
    r"advogad[oa]|tecnic[oa]|medic[oa]|mecanic[oa]|veterinari[oa]|secretari[oa]|funcionari[oa]|proprietari[oa]|enfermeir[oa]|cozinheir[oa]|confeiteir[oa]|padeir[oa]|cabeleireir[oa]|barbeir[oa]|encarregad[oa]|psicolog[oa]|"
    r"pedreir[oa]|marceneir[oa]|fotograf[oa]|perit[oa]|companheir[oa]|costureir[oa]|porteir[oa]|manicure|designer)s?|dra?\.?(?: \w+)?))",
    "who_en": r"(?:(?:the |our |my |a |an |one of |some )*(?:\w+ ){0,1}?(?:team|manager|supervisor|colleague|specialist|staff|department|support|billing|finance|sales|technician|doctor|nurse|lawyer|attorney|agent|representative|rep|"
    r"someone|somebody|human|person|owner|boss|warehouse|kitchen|accountant|people|supplier|our \w+(?:ist|ician|ologist|keeper)|branch|clinic|school|desk|front desk|reception|receptionist|coordinator|consultant|expert|engineer|advisor|adviser|partner|office|back office|head office|chef|cook|baker|vet|"
    r"mechanic|plumber|electrician|driver|dentist|hygienist|trainer|coach|teacher|director|realtor|broker|designer|architect|stylist|groomer|assistant manager|principal|concierge|housekeeping|maintenance|management|landlord|dr\.? \w+)s?)",
    "who_es": r"(?:(?:el |la |los |las |un |una |uno de |alguien de |nuestr[oa]s? |mi |otr[oa] |del |al )*(?:equipo|gerente|gerencia|encargad[oa]|supervisor[a]?|colega|companer[oa]|especialista|area|departamento|soporte|finanzas|ventas|"
    r"tecnic[oa]|doctor[a]?|medic[oa]|abogad[oa]|asesor[a]?|alguien|persona|humano|responsable|administracion|recepcion|recepcionista|coordinador[a]?|contador[a]?|duen[oa]|jef[ea]|almacen|taller|cocina|logistica|director[a]?|"
    r"secretari[oa]|vendedor[a]?|agente|chef|cociner[oa]|mecanic[oa]|veterinari[oa]|dentista|electricista|plomero|fontanero|instructor[a]?|profesor[a]?|arquitect[oa]|ingenier[oa]|enfermer[oa]|representante|operador[a]?|"
    r"dra?\.?(?: \w+)?)s?)",
    "few": r"(?:[\w,]+\s+){0,5}?",
    "to_pt": r"(?:com|para|pra|pro|pros|pras|ao|aos|a|as|junto a|junto ao|d[oa]s?|n[oa]s?)",
    "soon": r"(?:em breve|em instantes|logo(?: mais)?|ja ja|daqui a pouco|em seguida|soon|shortly|in a moment|en breve|enseguida|en un momento|pronto)",
    "come_back_pt": r"(?:(?:eu |ja |logo )*(?:te|lhe) (?:\w+ )?(?:avis|retorn|fal|cont|cham|dig|respond|pass|da|dou|damos|mand|envi)\w*|(?:aviso|avisamos|retorno|retornamos|damos|dou) (?:a )?(?:voce|vc|um retorno|retorno|uma resposta|o senhor|a senhora)|volto (?:com|a falar|aqui)|voltamos (?:com|a falar))",
    "come_back_en": r"(?:(?:i'll|we'll|i will|we will|and) (?:then )?(?:let you know|get back|tell you|update you|confirm|reply|call you|text you|follow up|come back|be in touch))",
    "come_back_es": r"(?:(?:le|te|les) (?:\w+ )?(?:avis|dig|cuent|respond|confirm|llam|escrib|inform|da|doy|damos)\w*|volvemos con|me comunico con)",
}

CASE_WORDS: Final = {
    "pt_i_ask": r"\b(?:vou|vamos|irei|iremos|deixa eu|deixe-me|ja vou|estou|estamos|to)\s+(?:\w+\s+){0,2}?(?:verific\w+|consult\w+|confirm\w+|chec\w+|pergunt\w+|fal\w+|convers\w+|ver|vendo|alinh\w+|confer\w+|trat\w+|discut\w+|"
    r"resolv\w+|pedi\w*|deix\w+|solicit\w+|avis\w+|cham\w+|combin\w+)\s+{few}{to_pt}\s+{who_pt}\b|\b(?:vou|irei|deixa eu) (?:pedir|chamar|avisar|consultar|buscar) {few}{who_pt}\b",
    "pt_i_pass": r"\b(?:vou|vamos|irei|iremos|ja|acabei de|estou|estamos|deixa que eu|pode deixar que(?: eu)?(?: vou)?)\s+(?:\w+\s+){0,2}?(?:encaminh\w+|repass\w+|acion\w+|escal\w+|transfer\w+|direcion\w+|notific\w+|solicit\w+|sinaliz\w+)\b",
    "pt_i_tell": r"\b(?:vou|vamos|irei|ja|acabei de|pode deixar que(?: eu)?(?: vou)?)\s+(?:\w+\s+){0,2}?(?:pass\w+|avis\w+|cham\w+|ped\w+|inform\w+|comunic\w+|mand\w+|envi\w+|lev\w+|abr\w+|registr\w+)\s+{few}(?:{who_pt}|um chamado|uma solicitacao|um protocolo|o caso)\b",
    "pt_i_do": r"\b(?:encaminho|repasso|aciono|transfiro|escalo|direciono) (?:voce|vc|isso|isto|seu|sua|o|a|ja|agora|esse|essa|para|pro|pra|ao)\b|\b(?:passo|falo|consulto|vejo|peco|aviso|chamo|pergunto|verifico|confirmo|confiro|levo|mando|deixo|combino|alinho|checo) {few}(?:{to_pt} ?)?{who_pt}\b",
    "pt_past": r"\b(?:encaminhei|encaminhamos|repassei|repassamos|acionei|acionamos|escalei|escalamos|notifiquei|transferi|transferindo|encaminhando|repassando|acionando)\b",
    "pt_asked": r"\b(?:solicitei|pedi|pedimos|perguntei|avisei|avisamos|falei|falamos|passei|consultei|informei|comuniquei|conversei|enviei|mandei|chamei|deixei|registrei|anotei|abri|combinei|alertei|confirmei)\s+{few}{to_pt}\s*{who_pt}\b|"
    r"\b(?:avisei|consultei|chamei|alertei|informei|comuniquei|abri) (?:[ao]s? |um |uma )?(?:{who_pt}|chamado|protocolo|ticket)\b",
    "pt_passed_on": r"\b(?:foi|foram|esta|ta|sera|ficou|fica|vai ser) (?:ja )?(?:enviad|encaminhad|repassad|passad|direcionad|transferid|levad|registrad|anotad|comunicad|informad|escalad|entregue)[oa]?s? {to_pt} ?{few}{who_pt}\b|\b(?:foi|ja foi|esta|esta sendo) (?:escalad|encaminhad|repassad)[oa]\b|"
    r"\b(?:chamado|protocolo|ticket|solicitacao) (?:\w+ )?(?:foi |ja foi |esta )?(?:abert|registrad)[oa]\b|\baguarde (?:o (?:contato|retorno) d|que )",
    "pt_they_act": r"\b{who_pt}\s+(?:[\w,]+\s+){0,3}?(?:vai|vao|ira|irao|ja vai|entrara|entrarao|retornara|retornarao|ligara|responde|responderao|respondera|analisara|verificara|cuida|cuidara|resolve|resolvera|entrara|atendera|avaliara|"
    r"(?:te|lhe) \w{3,}|entra(?:m)? em contato|confirma|retorna|assume|(?:esta|estao) (?:\w+ndo|ciente|a par|avisad\w+|em contato|a caminho|com (?:o |a )?seu)|ja vem|ja esta (?:com|ciente|\w+ndo))\b|"
    r"\b{who_pt}\s+(?:\w+\s+){0,2}?(?:fala|falam|conversa|continua|emite|manda|envia|segue|olha|avalia|analisa|verifica|confere|libera|chama|procura|liga|atende)\s+(?:\w+\s+){0,2}?(?:voce|vc|seu|sua|conversa|daqui|isso|caso|contigo|pessoalmente|em breve|em instantes|retorno)\b|"
    r"\b{soon},?\s+(?:um |uma )?{who_pt}\s+\w+",
    # a person may be only "ele" or "she": what is done is then to speak with the customer
    "pt_one_speaks": r"\b(?:ele|ela|eles|elas) (?:\w+ )?(?:te|lhe) (?:lig|retorn|respond|cham|procur|atend|avis|fal|envi|mand|contat)\w*|\b(?:ele|ela|eles|elas) (?:vai|vao|ira) (?:\w+ )?(?:te |lhe )?(?:lig|retorn|respond|cham|procur|atend|avis|fal|verific|analis|confer|avali|olhar|entrar em contato)\w*",
    "pt_in_hands": r"\b(?:em analise|sendo (?:avaliad|analisad|vist|revisad|tratad)[oa]|em avaliacao|em revisao) (?:com|pel[oa]s?|n[oa]) ?(?:[ao] )?{few}{who_pt}\b|\b(?:seu|sua|o|a|isso) (?:\w+ ){0,3}?(?:esta|ta|ficou) com {who_pt}\b|\b{who_pt} (?:ja )?(?:foi|foram|esta|estao) (?:\w+ )?(?:notificad|avisad|acionad|informad|comunicad|alertad)\w+|"
    r"\b(?:aguard|esper)(?:o|ando|amos) (?:o |a |um |uma )?(?:retorno|resposta|posicao|posicionamento|contato|liberacao|aprovacao|autorizacao) d[aeo]s? ?{who_pt}\b",
    "pt_contact": r"\b(?:em contato|te conecto|conectar voce|te transfiro|te passo|cobrar uma (?:resposta|posicao)) {few}(?:com|para|pra|pro|d[oa]) ?{who_pt}\b|\b(?:botar|colocar|pondo|ponho|coloco|por) {few}{who_pt} em contato\b|\b(?:direcionei|direcionamos|levei|levamos|encaixei com) {few}{to_pt} ?{who_pt}\b|"
    r"\b{who_pt} (?:ja )?(?:\w+ ){0,4}?e (?:ja )?(?:vai (?:te )?\w+|(?:te|lhe) \w+)|\b(?:alguem|pessoal) (?:d[ao] \w+ )?(?:passa|vai|chega|da um jeito|resolve|cuida|te)\b",
    "pt_after_them": r"\b(?:assim que|quando|logo que|depois que|tao logo)\s+{who_pt}\s+(?:[\w]+\s+){0,5}?\w*,?\s*{come_back_pt}",
    "pt_we_look": r"\b(?:a gente|nos|vamos|iremos)\s+(?:\w+\s+){0,2}?(?:confer|verific|analis|chec|olh|avali|apur|revis|investig|ve\b|ver\b)\w*[^.!?\n]{0,40}?\b{come_back_pt}",
    "pt_already_with": r"\b(?:ja|agora)\s+(?:esta|ta|foi|ficou)\s+(?:com|na mao d[oa]|nas maos d[oa]|em analise (?:com|pel[oa]))\s*{who_pt}\b",
    "pt_we_return": r"\b(?:entraremos|entramos) em contato\b|\b(?:retornaremos|responderemos|avisaremos|ligaremos|daremos (?:um )?retorno|(?:te|lhe) (?:retornamos|ligamos|damos))\b|\baguarde (?:o |um )?(?:nosso )?(?:contato|retorno)\b|\baguarde (?:a )?(?:ligacao|resposta) d\w+",
    "en_asked": r"\b(?:i|we|i've|we've|have|just|already) (?:asked|told|informed|contacted|messaged|called|emailed|notified|paged|reached out to|spoke to|spoken to|talked to|looped in|briefed) {who_en}\b|\b(?:i|we|i've|we've|have|just) (?:\w+ )?left (?:a |your )?(?:note|message|word)\b",
    "en_i_do": r"(?:^|[.!?,] ?)(?:passing|forwarding|handing|sending|escalating) (?:this|it|you|your \w+) (?:on |over |along )?to {who_en}\b|\bleave (?:it|this|that) (?:with|to) {who_en}\b|\b{who_en} (?:has|have) (?:your|got your|seen your)\b[^.!?\n]{0,40}\band\b",
    "en_passed_on": r"\b(?:is|are|was|were|has been|have been|been|got|is now) (?:\w+ )?(?:forwarded|escalated|passed|handed|referred|transferred|sent|routed|with|assigned) (?:on |over )?(?:to )?{who_en}\b|\b(?:has been|was|is being|been) (?:escalated|forwarded)\b",
    "en_i_ask": r"\b(?:i'll|i will|we'll|we will|let me|i'm going to|going to|i'm|i am|we're)\s+(?:\w+\s+){0,2}?(?:check\w*|ask\w*|confirm\w*|consult\w*|speak\w*|talk\w*|verify\w*|discuss\w*|follow\w* up|look\w* into|raise|raising|see|find out|"
    r"get|getting|have|having|loop\w* in|bring\w* in|ping\w*|call\w*|grab|page)\s+{few}(?:with |to |from |by |in )?\s*{who_en}\b",
    "en_i_pass": r"\b(?:i'll|i will|we'll|we will|let me|i'm|i've|i have|we've|we have|just|already|i|we)\s+(?:\w+\s+){0,2}?(?:forward(?:ed|ing)?|escalat(?:e|ed|ing)|pass(?:ed|ing)? (?:this|that|it|your)|notif(?:y|ied|ying)|alert(?:ed|ing)?|flag(?:ged|ging)?|"
    r"hand(?:ed|ing)? (?:this|it|you)|transfer(?:red|ring)?|refer(?:red|ring)?|open(?:ed|ing)? a (?:ticket|case|request))\b|(?:^|[.!?] ?)transferring you\b",
    "en_they_act": r"\b{who_en}\s+(?:\w+\s+){0,3}?(?:will|'ll|is going to|are going to|(?:is|are) (?:looking|reviewing|checking|working|handling|coming|on it|aware|on (?:the|their|his|her) way))\b|\b{who_en}'ll\b|\b{soon},?\s+{who_en}\s+\w+",
    "en_one_speaks": r"\b(?:he|she|they)(?:'ll| will| is going to| are going to) (?:\w+ )?(?:get back|call|text|email|contact|reach out|reply|respond|be in touch|follow up|let you know|review|look into)\b",
    "en_in_hands": r"\b(?:being |under )(?:reviewed|checked|looked at|handled|assessed|review|investigated) (?:by|with) {who_en}\b|\b(?:it's|it is|this is|that's|is) (?:now )?(?:with|in the hands of) {who_en}\b|\b{who_en} (?:has|have|was|were) (?:already )?(?:been )?(?:notified|informed|alerted|told|contacted|paged)\b|"
    r"\bwaiting (?:to hear back |to hear |for an answer |for a reply |for word |on an answer )?(?:from|on|for) {who_en}\b|\b(?:connect|put) you (?:in touch )?(?:with|to) {who_en}\b|\bgot {who_en} on it\b|\b{who_en} (?:is|are) (?:already )?(?:handling|on|working|dealing)\b",
    "en_after_them": r"\b(?:as soon as|once|when|after)\s+{who_en}\s+(?:\w+\s+){0,5}?\w*,?\s*{come_back_en}",
    "en_we_look": r"\b(?:we|i)(?:'ll| will| are going to|'re going to) (?:look into|check|review|investigate|verify)[^.!?\n]{0,30}?\b(?:and )(?:get back|let you know|come back|follow up|update you|be in touch|reply|call you)\b|\b(?:we'll|we will) (?:get back to you|be in touch)\b",
    "en_we_return": r"\b(?:we'll|we will|we're going to) (?:\w+ )?(?:call you|contact you|reach out|email you|text you|get in touch|respond|reply)\b|\b(?:expect|wait for|await) (?:a |our )?(?:call|reply|callback)\b",
    "es_asked": r"\b(?:ya )?(?:le |les |lo )?(?:consulte|avise|pregunte|hable|informe|solicite|comunique|pedi|deje|avisamos|pase|mande|envie) {few}(?:a|al|con|para|en)\s*{who_es}\b",
    "es_i_do": r"\b(?:derivo|transfiero|traslado|escalo|remito) (?:su|tu|el|la|esto|lo|al|a)\b|\b(?:paso|aviso|pregunto|pido|hablo|consulto|veo|dejo|llevo|mando|envio) {few}(?:a|al|con|para) ?{who_es}\b",
    "es_passed_on": r"\b(?:fue|ha sido|esta|esta siendo|quedo|sera) (?:ya )?(?:derivad|enviad|reenviad|trasladad|pasad|remitid|escalad|asignad)[oa] (?:a|al|con|hacia) ?{few}{who_es}\b|\b(?:fue|ha sido) (?:derivad|escalad)[oa]\b",
    "es_i_ask": r"\b(?:voy a|vamos a|dejeme|dejame|estoy|estamos|ya|lo|la)\s+(?:\w+\s+){0,2}?(?:consult\w+|verific\w+|pregunt\w+|confirm\w+|habl\w+|revis\w+|ver|viendo|pedir\w*|avis\w+)\s+{few}(?:con|a|al)\s+{who_es}\b|\b(?:consulto|verifico|hablo|reviso) (?:con|a|al) {who_es}\b",
    "es_i_pass": r"\b(?:voy a|vamos a|ya|acabo de|le|lo|la)\s+(?:\w+\s+){0,2}?(?:derivar\w*|derive|derivo|derivamos|reenvi\w+|escal\w+|notifi\w+|transfer\w+|traslad\w+|remit\w+|pas(?:ar|o|e|amos) (?:su|tu|el|la|con|al?)|avis(?:ar|e|amos) (?:a|al))\b",
    "es_they_act": r"\b{who_es}\s+(?:\w+\s+){0,3}?(?:va a|van a|se (?:comunic|pon|encarg)\w+|(?:le|te|les) \w{4,}|(?:lo|la) (?:llam|contact|atend|busc|recib|visit|ayud)\w*|(?:esta|esta ya) (?:revisando|viendo|trabajando|al tanto)|revisara|respondera|llamara|contactara|atendera|continua|continuara)\b|\b{soon},?\s+(?:lo |la |le |te )?(?:\w+ )?{who_es}\b",
    "es_one_speaks": r"\b(?:el|ella|ellos) (?:le|te|les) (?:llam|respond|escrib|contact|avis)\w*",
    "es_in_hands": r"\b(?:en (?:revision|analisis|manos)|siendo (?:revisad|evaluad|analizad)[oa]) (?:por|con|de) ?{few}{who_es}\b|\b{who_es} (?:ya )?(?:fue|ha sido|esta|fueron) (?:\w+ )?(?:avisad|notificad|informad)\w+|\besper(?:o|ando|amos) (?:la |una )?(?:respuesta|confirmacion|autorizacion) (?:de|del) ?{who_es}\b|"
    r"\b(?:lo|la|le|te) (?:pongo|ponemos|comunico|comunicamos|conecto|paso|transfiero) (?:\w+ ){0,3}?(?:con|a|al) ?{who_es}\b",
    "es_after_them": r"\b(?:cuando|en cuanto|apenas|una vez que)\s+{who_es}\s+(?:\w+\s+){0,5}?\w*,?\s*{come_back_es}",
    "es_we_return": r"\b(?:lo|la|le|te|les) (?:llamaremos|contactaremos|responderemos|avisaremos|escribiremos|devolvemos la llamada)\b|\bespere (?:nuestra |nuestro )?(?:llamada|respuesta|contacto)\b",
    "es_we_look": r"\b(?:vamos a|lo|la) (?:\w+ )?(?:revis|verific|consult|analiz|averigu)\w*[^.!?\n]{0,30}?\by {come_back_es}|\bnos (?:pondremos|ponemos|comunicaremos|comunicamos) (?:en contacto )?con (?:usted|ustedes|vos|ti)\b",
}

NAMED: Final = {
    "pt_named": r"\b(?:[AOao] )?[A-ZÁÉÍÓÚÂÊÔ][a-zà-ú]+ (?:d[aeo]s? \w+ )?(?:vai|irá|já vai) (?:te |lhe |ler |falar |ver )?(?:ligar|retornar|responder|chamar|procurar|atender você|avisar|escrever|conferir|verificar|analisar|entrar em contato)\b|"
    r"\b[AO] [A-ZÁÉÍÓÚÂÊÔ][a-zà-ú]+ (?:d[aeo]s? \w+ )?te (?:liga|retorna|responde|chama|procura|escreve)\b",
    "en_named": r"\b[A-Z][a-z]+ (?:from \w+ )?(?:will|is going to) (?:personally )?(?:call|text|email|contact|message|get back|reach out|reply|respond|follow up|be in touch|write)\b",
    "es_named": r"\b[A-ZÁÉÍÓÚ][a-zà-ú]+ (?:de \w+ )?(?:le|te) (?:va a )?(?:llam|escrib|respond|contact)\w+",
}
"""Somebody by name, whoever it is: matched on the raw text, where a capital tells a name from a thing."""

OFFERED: Final = (
    r"\b(?:se|caso|quando) (?:voce |vc |o senhor |a senhora )?(?:quiser|preferir|desejar|precisar|achar melhor|concordar|autorizar|topar|queira|prefira|deseje)\b|\b(?:com|so com|mediante) (?:a )?sua (?:autorizacao|permissao)\b|"
    r"\b(?:if|when|whenever) you(?:'d| would)? (?:\w+ )?(?:like|want|prefer|wish|agree|need)\b|\b(?:with|only with) your (?:permission|consent|ok)\b|\bsi (?:usted |tu |lo )?(?:quiere|prefiere|desea|gusta|quieres|prefieres|deseas|necesita|autoriza|esta de acuerdo)\b|"
    r"\b(?:posso|podemos|quer que|queres que|gostaria que|prefere que|may i|shall i|can i|could i|should i|do you want|would you like|puedo|quiere que|quieres que|prefiere que)\b"
)
"""Words that ask for consent, with or without a question mark."""

SCHEDULE: Final = r"\b(?:vai|vao|will|va a|van a|ira|estara|estarao) (?:ficar |estar |be |estar |permanecer )?(?:fech|abr|aberta|aberto|funcion|clos|open|cerr|cierr|love|adorar|amar|gostar|encantar)\w*"
"""What a place or a person is said to do, and is no action for the customer."""
