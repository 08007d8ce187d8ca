# ruff: noqa: E501 (rule data: a pattern reads best on one line)
"""Words and phrases of opt-out, erasure, opt-in and their innocent neighbours. Folded: lower case, no accents."""

from typing import Final

KEYWORDS: Final = frozenset(
    ["stop", "stopall", "unsubscribe", "cancel", "end", "quit", "revoke", "optout", "remove", "arret", "parar", "pare", "parem", "sair", "cancelar", "descadastrar", "descadastre", "descadastrem", "descadastro", "remover", "remova", "desinscrever", "desinscreva", "desinscricao", "baja", "alto", "cancelar", "desuscribir", "desuscribirme", "desuscribirse", "desuscribanme", "desuscribir", "unsub"]
) | frozenset(
    (
        "stop all", "opt out", "opt me out", "stop it", "stop messages", "stop messaging", "stop texting", "end messages",
        "dar de baja", "darme de baja", "darse de baja", "de baja", "dame de baja", "deme de baja", "cancelar suscripcion", "cancelar la suscripcion",
        "cancelar inscricao", "cancelar a inscricao", "cancelar assinatura de mensagens", "cancelar envio", "cancelar envios", "cancelar mensagens", "cancelar recebimento",
        "cancelar cadastro", "cancelar lista", "parar mensagens", "parar envio", "parar envios", "parar de receber", "parar de enviar",
        "parar tudo", "pare de enviar", "quero sair", "quero parar", "sair da lista", "me remova", "me remove", "me tira", "me descadastra", "me descadastre",
        "me descadastrem", "remove me", "take me off", "cancel subscription", "cancel messages", "unsubscribe me", "unsubscribe please",
        "no mas mensajes", "no more messages", "chega de mensagens", "chega de mensagem", "mensagens nao", "cancelar mensajes", "parar mensajes",
        "digitei sair", "ja mandei sair", "ja mandei parar", "sair sair", "quero cancelar o recebimento", "stop sending", "quitarme", "no me interesa baja",
        "salir de la lista", "eliminarme", "quiero salir", "quiero baja", "quiero la baja", "un subscribe", "unsubscribe all", "pare com isso", "parem com isso", "podem parar", "podem parar com isso", "me desvincula", "me desvinculem", "dont text", "dont text me", "no text", "no texts", "tira eu", "me tire", "me tirem", "me exclui",
        "me exclua", "me excluam", "me apaga", "me apaguem", "me deleta", "me removam", "tirem me", "could take me off", "can take me off", "me pueden dar de baja", "quiero darme de baja", "please stop",
    )
)  # fmt: skip
# Real words one letter away from a keyword.
NOT_A_TYPO: Final = frozenset(
    [
        "param",
        "parara",
        "parada",
        "parado",
        "parados",
        "pagar",
        "parir",
        "marcar",
        "canceler",
        "cancela",
        "cancelas",
        "cancelo",
        "cancelei",
        "cancelou",
        "cancelado",
        "cancelada",
        "removi",
        "removeu",
        "removido",
        "remova?",
        "cancelaram",
        "parece",
        "parede",
        "alta",
        "ativar",
        "sairam",
        "removed",
        "cancels",
        "removal",
        "quite",
        "spot",
        "sari",
        "alot",
        "parque",
    ]
)
CANCELS: Final = frozenset(("cancelar", "cancel", "cancela", "cancele", "cancelo", "2", "nao"))
OPT_IN_WORDS: Final = frozenset(
    ["start", "unstop", "resume", "subscribe", "yes", "voltar", "ativar", "reativar", "retomar", "receber", "sim", "alta", "activar", "reactivar", "volver", "suscribir", "suscribirme", "continuar"]
) | frozenset(("opt in", "sign me up", "dar de alta", "darme de alta", "quero voltar", "quero receber", "quiero volver", "pode voltar", "pode mandar"))  # fmt: skip
DOUBTFUL: Final = frozenset(
    ["para", "chega", "sai", "basta", "ja", "deu", "deixa", "cancela", "cancele", "enough", "no", "nope", "chega!", "fuera", "vete", "basta", "saia", "sumam", "some", "largue", "pausar", "pausa", "pause", "desisto", "desistir", "halt", "leave", "remova?", "cala"]
) | frozenset(
    (
        "para com isso", "chega disso", "ja chega", "ja deu", "para de encher", "me deixa", "me deixa em paz", "deixa quieto", "que saco", "enough already",
        "no gracias", "no thanks", "nao obrigado", "nao obrigada", "nao quero", "nao tenho interesse", "sem interesse", "not interested", "no me interesa",
        "give it a rest", "nao quero mais", "no quiero", "no quiero mas", "dont want it", "i dont want this", "deixa pra la", "vaza", "some daqui", "ja basta",
        "parou", "no more", "para por favor", "para ai", "go away",
    )
)  # fmt: skip
COURTESY: Final = frozenset(
    ["por", "favor", "pfv", "pf", "pfvr", "porfa", "porfavor", "pff", "obrigado", "obrigada", "obg", "obgd", "vlw", "valeu", "grato", "grata", "gracias", "please", "pls", "plz", "thanks", "thank", "you", "thx", "ty", "kindly", "oi", "ola", "hi", "hello", "hey", "hola", "bom", "boa", "dia", "tarde", "noite", "buenos", "buenas", "dias", "tardes", "noches", "ok", "okay", "gentileza", "favor", "sim?", "senhores", "amigo", "amigos", "kkk", "kkkk", "rs", "digo", "eu", "just", "ya", "opcao", "opcion", "option", "responder", "resposta", "respuesta", "reply", "palavra", "agora", "imediatamente", "urgente", "now", "immediately", "ahora"]
)  # fmt: skip

SPELLINGS: Final = {
    "kero": "quero", "qero": "quero", "qro": "quero", "naum": "nao", "nau": "nao", "nd": "nada", "nda": "nada", "dnv": "de novo", "reseber": "receber",
    "resebe": "recebe", "mensagen": "mensagem", "zapzap": "zap", "wpp": "whats", "kiero": "quiero", "qiero": "quiero", "msj": "mensaje", "msjs": "mensajes",
    "mjs": "mensajes", "txt": "text", "txts": "texts", "txting": "texting", "ur": "your", "wanna": "want to",
}  # fmt: skip
"""How chats spell words of the phrases below; read before them."""

QUOTE_LINE: Final = r"^\s*>|^\s*\||^\s*\[\d{1,2}/\d{1,2}[^\]]{0,20}\].{0,40}:.{0,80}\b(?:responda|reply|envie|digite|text|responde|escriba)\b"
HISTORY: Final = (
    r"^\s*(?:enviado (?:do|desde|pelo) |sent from |get outlook|obtenha o outlook|-- ?$|(?:enviado|sent|assunto|subject|asunto): |(?:de|from): \S.{0,80}$|on (?:mon|tue|wed|thu|fri|sat|sun)\w*,? \w+ \d{1,2},? \d{4}|"
    r"em (?:seg|ter|qua|qui|sex|sab|dom)\w*\.?,? \d{1,2} de |el (?:lun|mar|mie|jue|vie|sab|dom)\w*\.?,? \d{1,2} |em .{0,80}escreveu:|on .{0,120}wrote:|el .{0,120}escribio:|-{2,} ?(?:mensagem original|original message|mensaje original|"
    r"forwarded message|mensagem encaminhada)|de: .{0,80}@|from: .{0,80}@|_{10,}|"
    r"(?:para (?:sair|parar|cancelar|nao receber)|to (?:unsubscribe|stop|opt out)|para (?:darse|dejar) ).{0,60}(?:responda|envie|digite|reply|text|clique|click|escriba|responde))"
)

FRAGMENTS: Final = {
    "msg": r"(?:mensage(?:m|ns)|msgs?|mgs|menssagens?|sms|whats(?:app)?|zap|emails?|e-mails?|propagandas?|promoc(?:ao|oes)|promos?|ofertas?|anuncios?|notificac(?:ao|oes)|"
    r"novidades|divulgac(?:ao|oes)|conteudos?|avisos|campanhas?|newsletter|spam|publicidade|marketing|comunicados?|informativos?|mala direta|lembretes|textos?|"
    r"messages?|texts?|promos?|promotions?|offers?|ads?|notifications?|updates|reminders|communications?|marketing|mail(?:s|ings?)?|"
    r"mensajes?|mensajitos|promociones|promocion|anuncios|publicidad|notificaciones|correos?|avisos|comunicaciones|novedades|boletines|boletin)",
    "me_pt": r"(?:me|mim|pra mim|para mim|nos|comigo)",
    "send_pt": r"(?:mand(?:a|ar|e|em|es|ando|am|arem)|envi(?:a|ar|e|em|es|ando|am|arem)|cham(?:a|ar|e|em|es|ando|am)|lig(?:a|ar|ue|uem|ando|am)|perturb(?:a|ar|e|em|ando)|incomod(?:a|ar|e|em|ando)|"
    r"contat(?:a|ar|e|em|ando|o)|escrev(?:a|am|er|e|endo)|importun(?:a|ar|e|em|ando)|encher?|entr(?:e|em|ar|ando) em contato|dispar(?:ar|em|e)|spammar|bombardear|avis(?:e|em|ar))",
    "send_en": r"(?:send(?:ing)?|text(?:ing)?|messag(?:e|ing)|contact(?:ing)?|call(?:ing)?|write|writing|e?-?mail(?:ing)?|spam(?:ming)?|bother(?:ing)?|harass(?:ing)?|ping(?:ing)?|notify(?:ing)?|reach(?:ing)? out|"
    r"bug(?:ging)?|hit(?:ting)? me up|pester(?:ing)?|annoy(?:ing)?|blast(?:ing)?|whatsapp(?:ing)?)",
    "send_es": r"(?:mand(?:ar|e|en|es|arme|enme|ando)|envi(?:ar|e|en|es|arme|enme|ando)|escrib(?:ir|a|an|as|irme|anme|iendo)|llam(?:ar|e|en|es|arme|enme)|contact(?:ar|e|en|es|arme|enme)|molest(?:ar|e|en|es|arme|enme|ando)|"
    r"comuni(?:car|que|quen|carse)|acos(?:ar|en|arme)|spamear(?:me)?|fastidiar(?:me)?)",
    "list_pt": r"(?:list(?:a|agem)|cadastro|contatos?|mailing|grupo|base|transmissao|agenda|sistema(?: de mensagens)?|disparos?|envios?|mensage(?:m|ns)|ofertas|promocoes|propagandas)",
    "list_en": r"(?:lists?|mailing|database|contacts?|group|distribution|sms|texts|messages|this|here|updates|broadcasts?|records)",
    "list_es": r"(?:lista|listas|contactos|base|grupo|envios|difusion|mailing|registros)",
    "out_of": r"(?:$|[.,!?;]| please| now| (?:of|from) (?:this|these|it|all|everything|(?:the |your |all |any )?(?:\w+ )?(?:messages?|texts?|texting|promotions?|offers|ads|notifications|updates|reminders|communications?|marketing|mailings?|sms|lists?|database|alerts|emails?)))",
    "want_pt": r"(?:quero|queria|desejo|gostaria(?: de)?|preciso|to a fim de|tenho interesse em|aguento|autorizo|aceito|suporto|permito|concordo em)",
}  # fmt: skip

NEGATED: Final = {
    "pt": r"\bnao (?:quero |precisa(?:m)? |e pra |e para |vou |vamos |va |pretendo |penso em |tem como |vai |pode |deixe(?:m)? de |pense em |"
    r"me )?(?:parar|pare|parem|cancelar|cancele|cancelem|sair|descadastr(?:ar|em?|a)|remov(?:er|am?|em?)|tir(?:ar|em?|a)|retir(?:ar|em?|a)|exclu(?:ir|am?)|apagu?(?:ar|em?)|bloque(?:ar|iem?)|saia|saiam|deixem? de)\b",
    "en": r"\b(?:don't|dont|do not|never|please don't|won't|not going to|wouldn't|didn't|didnt) (?:want (?:you )?to |ever )?(?:stop|unsubscribe|cancel|quit|remove|opt out|end)\b",
    "es": r"\bno (?:quiero |vayan a |vaya a |voy a |se |me |lo |la )?(?:pares|pare|paren|parar|cancel\w+|dejes|dejen|deje|salir|darme de baja|me den de baja|quiten)\b",
}  # fmt: skip

ERASURE: Final = {
    "pt_delete": r"\b(?:exclu\w+|apag\w+|delet\w+|elimin\w+|remov\w+|retir\w+|esquec\w+|descart\w+|anonimiz\w+|sum\w+ com)\b[^.!?]{0,40}\b(?:meus? (?:\w+ )?(?:dados|cadastro|registros?|informacoes|numero|telefone|contato|historico|cpf|"
    r"nome|perfil|conta)|minhas? (?:\w+ )?(?:informac\w+|conta|conversas?|ficha)|(?:os |todos os )?dados (?:pessoais|meus|sobre mim|que (?:voces )?t\w+)|tudo (?:sobre|que (?:voces )?t\w+)|o que (?:voces )?tem (?:sobre|de) mim)",
    "unnamed": r"^(?:quero )?(?:excluir|apagar|deletar|encerrar|delete|close|erase|eliminar|borrar) (?:a |o |la |el |the )?(?:cadastro|conta|dados|account|data|cuenta|datos)[.!]*$",
    "kept": r"\b(?:nao|no|don't|dont|do not) (?:quero que |quiero que |want you to )?(?:voces? |vcs? |ustedes )?(?:guard|armazen|mantenh|mantenga|keep|stor|hold|conserv|almacen)\w* (?:os |mis |my |meus )+(?:\w+ )?(?:dados|data|datos|info\w*)",
    "as_a_state": r"\b(?:meus|minhas|mis) (?:\w+ )?(?:dados|informac\w+|registros|datos|informacion|conversas) (?:\w+ )?(?:apagad|excluid|deletad|eliminad|removid|borrad|suprimid)[oa]s\b|\bmy (?:\w+ )?(?:data|info\w*|details|account|records) (?:\w+ )?(?:deleted|erased|removed|wiped|destroyed)\b",
    "pt_forget": r"\b(?:direito (?:ao|a|de) (?:esquecimento|exclusao|eliminacao|apagamento|remocao|ser esquecid\w+)|revog\w+ (?:o |meu )?consentimento|exclusao (?:d[oe]s? )?(?:meus? )?(?:dados|cadastro|conta)|eliminacao (?:d[oe]s? )?(?:meus? )?dados|"
    r"(?:pela|conforme a?|com base na|segundo a|art\w* \d+ da) lgpd\b[^.!?]{0,60}(?:exclu|apag|elimin|remo|delet))|\blgpd\b[^.!?]{0,60}(?:exclu\w+|apag\w+|elimin\w+|remo\w+|delet\w+)|\b(?:exclus\w+|apag\w+|elimin\w+|delet\w+|remoc\w+)\b[^.!?]{0,40}\blgpd\b",
    "en_delete": r"\b(?:delet\w+|eras\w+|remov\w+|wip\w+|purg\w+|destroy|forget|scrub|get rid of)\b[^.!?]{0,40}\b(?:my (?:\w+ )?(?:data|info\w*|details|account|record\w*|number|profile|file|history|phone|name|personal\w*)|"
    r"(?:all )?(?:the )?(?:personal )?(?:data|info\w*|everything) (?:you (?:have|hold|keep|store|collected)|about me|on me)|all my \w+|me from your (?:system|database|records))",
    "en_right": r"\bright to (?:be forgotten|erasure|deletion)|\bgdpr (?:erasure|deletion|removal)|\b(?:erasure|deletion) request|\bwithdraw (?:my )?consent\b[^.!?]{0,40}data",
    "es_delete": r"\b(?:borr\w+|elimin\w+|suprim\w+|quit\w+|olvid\w+|destru\w+)\b[^.!?]{0,40}\b(?:mis (?:\w+ )?(?:datos|registros?|informacion|conversaciones)|mi (?:\w+ )?(?:informacion|cuenta|registro|numero|telefono|historial|perfil|ficha)|"
    r"(?:todos )?(?:los )?datos (?:personales|mios|que tienen)|todo lo (?:mio|que (?:tienen|tengan)))",
    "es_right": r"\bderecho (?:al olvido|de supresion|a la supresion)|\bsupresion de (?:mis )?datos|\bderechos? arco\b",
}  # fmt: skip

OPT_OUT: Final = {
    "pt_not_want": r"\bn(?:ao|unca)? (?:{want_pt} )(?:mais )?(?:ser (?:contatad|incomodad|perturbad|avisad|chamad)\w+|receb\w+|(?:suas?|seus?|essas?|esses?|estas?|nenhuma?|as|os|mais|nada d[eo])? ?(?:\w+ )?{msg}|contato|ligac\w+|"
    r"(?:que )?(?:voces? |vcs? )?(?:me )?{send_pt}|fazer parte d\w+ {list_pt}|participar d\w+ (?:grupo|lista)|(?:mais )?nada d[eo] (?:voces?|vcs?|empresa)|papo|ver (?:mais )?(?:\w+ )?{msg})",
    "pt_done_without": r"\b(?:dispenso|recuso|rejeito) (?:as |os |essas |esses |suas |seus |qualquer |mais )?(?:{msg}|contato)\b",
    "pt_contact": r"\bnao (?:{me_pt} )?(?:mais )?(?:voltem? a |tentem? |quero que )?(?:entr(?:e|em|ar|arem)|fac(?:a|am)|fazer) (?:mais )?(?:em )?contato\b",
    "pt_my_name": r"\b(?:tir[ae]m?|tirar|remov[ae]m?|remover|risqu?em?|risca|riscar|exclu[ai]m?|exclui|excluir|retir[ae]m?|retirar) (?:o )?meu nome(?:$|[.,!?]| d(?:ai|aqui|isso|ali)\b| d\w+ (?:sua |vossa )?{list_pt})",
    "pt_noun": r"\b(?:remocao|exclusao|retirada|descadastro|descadastramento|cancelamento|interrupcao) (?:imediat\w+ )?(?:d[oe] (?:meu )?(?:numero|contato|telefone|nome|whats\w*)|d[oa]s? (?:envio|recebimento|{msg}))",
    "pt_next": r"\bproxim[oa] (?:mensagem|msg|contato|ligac\w+|vez)\b[^.!?]{0,30}\b(?:procon|denunci\w+|bloque\w+|process\w+|advogad\w+|policia|justica|reclame aqui)\b|\bmais uma (?:mensagem|msg)\b[^.!?]{0,30}\b(?:procon|denunci\w+|bloque\w+|process\w+|justica)\b",
    "pt_times": r"\b(?:vez que|cansei de|cansad\w de|quantas vezes) (?:eu )?(?:ja )?(?:tenho que |preciso |vou )?(?:peco|pedi|pedir|falo|falei|falar|solicito|digo|dizer)\b.{0,25}\b(?:sair|par(?:ar|em|e)|remov\w+|tir\w+|nao|descadastr\w+)\b",
    "pt_out_of_this": r"\bme (?:tir[ae]m?|remov[ae]m?|retir[ae]m?|exclu[ai]m?|exclui|descadastr[ae]m?) d(?:isso|isto|aqui|ai|ali)\b|\b(?:remov|exclu|tir|retir|descadastr)\w+-me(?: (?:imediatamente|ja|por|agora|d\w+)|[.,!]|$)|\b(?:some|suma|sumam|sumir) com (?:o )?meu (?:numero|contato|nome)\b",
    "pt_not_for": r"\bnao e (?:pra|para) (?:{me_pt} )?(?:mais )?{send_pt}\b|\bnao precisam? mais (?:{me_pt} )?(?:{send_pt}|receber)\b|\b(?:nao (?:tenho|ha)|sem) (?:mais )?(?:nenhum )?interesse (?:mais )?em (?:receb\w+|continuar recebendo|{msg})",
    "pt_consent": r"\b(?:nunca|jamais|nao) (?:te |lhes |vos )?(?:autorizei|permiti|consenti|concordei)(?:[.,!]|$| (?:voces?|vcs?|que|isso|nada|receber|o envio|o uso|ess\w+|{msg}))|\bnao tem (?:\w+ )?(?:autorizacao|permissao|consentimento|direito) (?:pra|para|de) (?:me |usar)|"
    r"\b(?:retir|revog|cancel|suspend)\w+ (?:o |a |meu |minha )?(?:consentimento|autorizacao)(?: d[eo] (?:contato|envio|uso)| para (?:contato|receber|o envio|{msg})|[.,!]|$)",
    "pt_done_with": r"\bnao quero (?:mais )?(?:saber (?:mais )?d(?:e|a) (?:voces?|vcs?|nada|empresa)|ouvir falar|(?:nenhum|qualquer|mais nenhum) contato|(?:isso|isto|nada disso|voces|vcs) no meu (?:celular|whats\w*|zap|telefone|numero))\b",
    "pt_blocked": r"\bja (?:te )?bloqueei (?:voces?|vcs?|esse|este|o numero|ess\w+)|^bloquead[oa]s?[.!]*$|\b(?:vou dar|dou|dei|dar) (?:um )?(?:block|blok|bloqueio)\b|\b(?:reportando|denunciando|reportei|denunciei|bloqueando)(?: \w+)? (?:como spam|por spam|esse numero|este numero|voces|vcs|esse contato)|"
    r"\bprocon (?:neles|em voces|em vcs)\b|\bse (?:nao parar\w*|continu\w+|mandar\w*|insisti\w+)\b[^.!?]{0,20}\b(?:procon|denunci\w+|bloque\w+|justica|policia)",
    "pt_asked_to": r"\b(?:pode|podem|poderia|poderiam|favor|quero que|tem como|da pra|da para) (?:voces? |vcs? )?me (?:remover|tirar|excluir|descadastrar|retirar|tirem|removam|excluam)(?:[.,!?]|$)",
    "pt_said": r"\b(?:eu disse|eu falei|falei|pedi|pedimos|eu pedi) (?:pra |para )?(?:parar(?:em)?|sair|descadastrar)(?:[.,!?]|$| (?:semana|mes|ontem|ja|varias|mil|\d))|\b(?:quero|queria|preciso) sair d(?:isso|isto|aqui)\b|\bme livrar d\w+ (?:\w+ )?{msg}\b",
    "pt_too_many": r"\b{msg}\b[^.!?]{0,30}\b(?:podem? parar|me (?:tir|remov|exclu|retir)\w+)(?:[.,!?]|$)|[,.!] ?me (?:tira|tirem|remove|removam|exclui|excluam|descadastra)(?:[.,!]|$)|\bfavor nao (?:me )?(?:enviar|mandar|ligar|contatar|escrever|chamar)(?:[.,!]|$| mais)",
    "pt_forbid": r"\b(?:proibo|nao permito) (?:mais )?(?:o uso|qualquer|contato|que)\b|\bcess(?:e|em|ar|assem) (?:o |os |as |com |com os |com as )?(?:envios?|contatos?|{msg})\b|\b(?:desabilit|deslig|silenci|desativ)\w+ (?:as |os |essas |esses )?(?:notificac\w+|mensage\w+|avisos|alertas|promoc\w+)|"
    r"\b(?:desvincul|desativ|cancel)\w+ (?:o )?meu (?:numero|contato|telefone)\b|\bme cancela (?:\w+ )?d\w+ {list_pt}",
    "pt_block_me": r"\bme bloque(?:ia|iem|ie|iam)(?: (?:ai|logo|entao|de vez|por favor|nessa lista)|[.,!]|$)",
    "pt_no_interest": r"\b(?:nao (?:tenho|ha|temos)|sem) (?:mais )?(?:nenhum )?interesse\b.{0,40}\b(?:nao|pare|parem|para|favor|retir\w+|remov\w+|tir\w+) ",
    "pt_do_not": r"\bn(?:ao|em|unca)? (?:mais )?(?:{me_pt} )?(?:mais )?{send_pt}(?:-me)?(?: (?:mais|nada|nunca|de novo|outra vez|pra mim|para mim|{msg}))",
    "pt_do_not_me": r"\bn(?:ao|unca)? (?:mais )?me (?:mais )?(?:{send_pt}|procur(?:a|e|em))\b",
    "pt_more": r"\bnao (?:preciso|precisa|precisam) (?:mais )?(?:{me_pt} )?(?:mais )?(?:{send_pt}|receber)\b.{0,20}\b(?:mais|nada|{msg})",
    "pt_stop_doing": r"\b(?:stop|par(?:a|e|em|ar|assem|asse)|deix(?:e|em|a|ar)|cess(?:e|em|ar)|chega|basta|evit(?:e|em|ar))(?: logo| ja| agora| por favor| pfv)?,? (?:de |com |d)?(?:{me_pt} )?(?:(?:ficar )?(?:{me_pt} )?{send_pt}|me procur\w+|(?:me )?receber|(?:tanta |tantas |a |as |os |o |essas? |esses? |suas? |seus? |esta |estas )?{msg})\b",
    "pt_asked": r"\bja (?:te |lhe |lhes |voces |vos )?(?:pedi|falei|disse|solicitei|mandei|avisei|cansei de pedir|tinha pedido|havia pedido|respondi)\b.{0,30}\b(?:par(?:ar|em|e|assem)|sair|remov\w+|tir\w+|descadastr\w+|cancelar(?:em)? (?:o envio|as mensagens|isso)|nao (?:me )?(?:mand|envi|receb|quer|cham|lig)\w*|retir\w+)\b",
    "pt_want_stop": r"\b(?:quero|queria|gostaria de|gostaria que|preciso|exijo|solicito|peco|desejo|favor|por favor|pf|pfv|pode|podem|poderia|poderiam|da pra|da para|como (?:faco|faz)(?: pra| para)?) (?:que )?(?:voces? |vcs? )?(?:me )?"
    r"(?:par(?:ar|em|e) (?:de |com )?(?:me )?(?:receber|{send_pt}|com (?:as |os |essas |esses )?{msg}|(?:as |os |essas |esses )?{msg})|descadastr\w+|desinscrev\w+|(?:sair|remov\w+|retir\w+|tir\w+|exclu\w+|risc\w+) (?:d\w+ |meu (?:numero|contato|telefone|nome|whats\w*|e-?mail) (?:d\w+ )?)(?:sua |vossa )?{list_pt}|"
    r"cancelar (?:a |o |as |os |meu |minha )?(?:inscricao|recebimento|envio|envios|{msg}|cadastro na lista)|deixar de receber)",
    "pt_remove_me": r"\b(?:me (?:tir[ae]m?|remov[ae]m?|retir[ae]m?|exclu[ai]m?|exclui|apag\w+|descadastr\w+|desinscrev\w+|desvincul\w+|bloque\w+|delet\w+|saia)|(?:tirar|remover|retirar|excluir|tir[ae]m?|remov[ae]m?|retir[ae]m?|exclu[ai]m?|exclui|apagu?em?|apaga|delet[ae]m?|risqu?em?|risca|descadastr[ae]m?)(?:-me| o meu| meu| esse| este| o)? ?"
    r"(?:numero|contato|telefone|nome|whats\w*|e-?mail|celular)?)\b[^.!?]{0,20}\b(?:d\w+ )(?:sua |vossa |suas |essa |seu )?{list_pt}",
    "pt_my_number": r"\b(?:tirar|remover|retirar|excluir|apagar|deletar|tir[ae]m?|remov[ae]m?|retir[ae]m?|exclu[ai]m?|exclui|apagu?em?|apaga|delet[ae]m?|esque(?:ce|ca|cam)|perc?a(?:m)?|descart[ae]m?) (?:o )?(?:meu|esse|este) (?:numero|contato|telefone|whats\w*|celular|zap)\b",
    "pt_leave_list": r"\b(?:quero|queria|gostaria de|desejo|como (?:faco|faz) (?:pra|para)|preciso) (?:sair|me (?:descadastrar|remover|retirar|desinscrever)|ser (?:removid|retirad|excluid|descadastrad)\w+)\b(?: d\w+ (?:sua |vossa )?{list_pt}|[.,!]|$)",
    "pt_threat": r"\b(?:vou|irei|vamos|terei que|tenho que|sou obrigad[oa] a|se \w+(?: \w+){0,4} (?:eu )?(?:vou)?|senao|ou eu) ?(?:te |os |esse numero |o numero |vos |voces |vcs )?(?:(?:bloque\w+|report\w+)(?: (?:voces?|vcs?|o numero|o contato|esse|este|essa|e|se|caso|seu|tudo|aqui|por|como|assim)\b|[.,!]|$)|(?:denunci\w+|process\w+) (?:voces?|vcs?|o numero|esse|este|essa|e|se|caso|a empresa|por|como|no)\b|denunci\w+(?:[.,!]|$)|acionar o (?:procon|juridico)|reclamar no (?:procon|reclame))",
    "pt_reported": r"\b(?:isso|isto|essa mensagem) (?:ja )?(?:e|eh|virou|ta virando|esta virando) (?:um )?(?:spam|assedio|perturbacao|importunacao)\b|\bpar(?:a|e|em) (?:com |de )(?:esse|essa|este|fazer|o)? ?(?:spam|assedio|perturbacao|importunacao)\b|\bnao autorizei (?:o |esse |este )?(?:contato|envio|uso d\w+ (?:meu )?numero)|"
    r"\bnao (?:dei|autorizei|autorizo|permiti) .{0,30}(?:numero|contato|{msg})",
    "pt_forget": r"\b(?:me (?:esquec(?:e|a|am)|deix(?:a|e|em) em paz|larg(?:a|ue|uem)|err(?:a|e|em))|esquec(?:e|a|am) (?:de mim|que eu existo|meu numero)|sum(?:a|am) daqui|deix(?:a|e|em)-me em paz)\b",
    "pt_wrong": r"\b(?:numero errado|engano|nao sou (?:a |o )?\w+|essa pessoa nao)\b.{0,40}\b(?:nao (?:me )?(?:mand|envi|cham|lig)\w+|par(?:e|em)|remov\w+|tir\w+|retir\w+)\b",
    "pt_wanted_off": r"\b(?:cancel(?:a|e|em|ar|o)|suspend(?:a|am|er)|interromp(?:a|am|er)|encerr(?:a|e|em|ar)|desativ(?:a|e|em|ar)) (?:o |os |a |as |esse |essas? |meu |minha |esses )?(?:(?:envio|envios|recebimento|disparos?|inscricao|cadastro d[eo]s? {msg}|{msg})\b|cadastro(?: com voces| ai| de voces| por favor|[.,!]|$))",
    "pt_keyword_sentence": r"(?:^|[.!] ?)(?:parar|sair|pare|descadastr\w+|stop)[.!]+(?: |$)|[.!] ?(?:parar|sair|parem|descadastr\w+|stop|baja)[.!]*$|^(?:parar|sair|descadastrar|stop),? (?:por favor|pf|pfv|ja|agora|de vez|imediatamente|urgente|tudo|nao|chega)\b|\b(?:digito|digitei|respondo|respondi|escrevi|mandei|enviei|envio|mando) (?:a palavra )?(?:sair|parar|stop|pare)\b",
    "pt_enough": r"\b(?:chega|basta|cansei|to cansad[oa]|estou cansad[oa]|saco cheio|de saco cheio|farto|farta|cansad[oa])\b.{0,20}\b(?:de |com |das |dos |dessas |desses )(?:tant\w+ |essas? |esses? |suas? |seus? |receber |voces |vcs )?(?:\w+ )?(?:{msg}|{send_pt}|voces|vcs)\b",
    "en_stop_doing": r"\b(?:stop|quit|cease|no more|cut it out|knock it off)\s+(?:it )?(?:with |please |all |all of |sending |getting |with all )?(?:these |the |those |your |me |this |any )?(?:\w+ )?(?:{send_en}|{msg}|spam)\b",
    "en_dont": r"\b(?:don't|dont|do not|never|no longer|please don't|pls don't) (?:ever |want (?:you )?to (?:be |get |receive |hear )?|wish to (?:be |receive )?|want (?:any )?(?:more )?(?:of )?(?:these |your |this |any )?)?(?:more )?(?:{send_en}(?:ed|ted)?\b.{0,15}\b(?:me|us|again|anymore|any more|anything|this number|here|{msg})|"
    r"(?:messages|texts|promotions|promos|offers|ads|notifications|emails|updates|spam)\b|from you|receive\b|receiving|contacted|hear from (?:you|this|your)|be on (?:this|your|the))",
    "en_not_want": r"\b(?:don't|dont|do not|no longer) (?:want|wish|care|need|consent|agree) (?:to )?(?:receive|get|be (?:contacted|texted|messaged|called)|hear from|any(?:thing)? (?:more )?(?:from|of)|(?:these|your|any|more|this) (?:\w+ )?{msg}|you (?:to )?{send_en}|to be {send_en})",
    "en_remove_me": r"\b(?:remove|take|unsubscribe|delete|drop|get|opt|cut|scratch|pull|strike) (?:me|us|my (?:number|name|phone|email|contact|cell)|this number)\b(?: please|[.,!]|$|(?: off| from| out)(?: of)?(?:[.,!]|$| (?:this|that|it|here|please|your|(?:the |all |any )?(?:\w+ )?(?:{list_en}))\b))",
    "en_want_out": r"\b(?:want|wanna|would like|i'd like|like|need|please|how do i|how can i|can i|let me|wish) (?:to )?(?:be )?(?:unsubscribe[d]?\b|removed(?: from|[.,!]| please|$)|taken off\b|off (?:this|the|your) list\b|get off (?:this|your)\b|opt(?:ed)?[ -]out{out_of}|out[.,!]|out$)",
    "en_how": r"\bhow (?:do|can|to) (?:i )?(?:stop|end|turn off|get rid of|unsubscribe from) (?:(?:these|getting|receiving)(?:[.,!?]|$)|(?:getting |receiving )?(?:the |your |these |all )?(?:\w+ )?{msg}\b)",
    "en_off": r"\b(?:cancel|turn off|disable|end|mute|switch off) (?:all |all of )?(?:these |those |the |your |my |any |this )?(?:\w+ )?(?:messages|texts|promotions|promos|notifications|updates|communications|marketing|mailings?|sms|newsletters?|alerts)\b|\bleave me (?:out of|off) (?:your|this|the|any)\b|\bforget (?:about )?me(?:[.,!]|$)|^(?:blocked|reported|blocking)(?: and (?:blocked|reported|reporting))?(?: you)?[.,!]*$",
    "en_opt_out": r"^opting out{out_of}|\bnot my (?:number|phone)\b.{0,40}\b(?:remove|stop|delete|don't)\b|(?:^|[.,!] ?)(?:reporting|blocking) (?:you|this|u|as spam|and)\b|^no (?:more )?(?:texts|messages|promos|spam|emails|ads)(?: please| pls)?[.!]*$|\bi(?:'m| am)? (?:\w+ )?(?:opt(?:ing)? out{out_of}|unsubscrib(?:e|ing)\b|(?:revok(?:e|ing)|withdraw(?:ing)?) (?:my )?consent\b)|^(?:opt|unsubscribe)(?: me)? (?:out{out_of}|me\b|this number\b|from (?:this|these|your|all|every\w+|(?:the )?(?:\w+ )?(?:{msg}|{list_en}))\b)",
    "en_meant": r"\bstop means stop\b|\bhow many times (?:do|must|should|will) i (?:have to |need to )?(?:say|ask|text|tell|reply)\b.{0,25}\b(?:stop|no|unsubscribe|you|leave)\b|^delete[- ]me[.!]*$",
    "en_lose": r"\b(?:lose|forget|delete|erase|block) (?:my|this) (?:number|contact|phone)\b|\bleave me alone\b|\bget lost\b|\bleave (?:us|me) be\b|\bdo not contact\b|\bdo not disturb\b",
    "en_asked": r"\b(?:already|i've|i have|i) (?:\w+ )?(?:asked|told|said|replied|texted|requested)\b.{0,30}\b(?:stop|unsubscribe|to be removed|remove me|no more|not to|leave me alone|opt out|quit)\b",
    "en_threat": r"\b(?:i'll|i will|gonna|going to|will be|i'm|we'll|or i) (?:\w+ )?(?:block|report)(?:ing)?(?: and (?:block|report))?(?: (?:you|u|this|your|the number|if|as)\b|[.!,]|$)",
    "en_spam": r"\b(?:this is|that's|it's|you're|consider this) (?:pure |just |now )?(?:spam|spamming|harassment|harassing|unsolicited)\b|\bi (?:never|didn't|did not) (?:sign(?:ed)? up|subscribe[d]?|consent(?:ed)?|agree[d]?|ask(?:ed)? for|give you (?:my|permission))\b.{0,30}|\bwrong (?:number|person)\b.{0,40}\b(?:stop|remove|don't|do not|take)\b",
    "en_keyword_sentence": r"^(?:stop|unsubscribe|quit|end|cancel)[.!]+(?: |$)|^(?:please |pls )?stop(?: please| now| it| this| immediately| already)+[.!]*$|^stop,? (?:thank|please|no|i|seriously|immediately)",
    "es_not_want": r"\bno (?:quiero|quisiera|deseo|me interesa|necesito|autorizo|acepto|autorice|queremos)\b(?: mas| ya| seguir| que)*(?: me)? (?:recib\w+|ser (?:contactad|molestad|llamad)\w+|(?:sus?|estos?|estas?|mas|ningun\w*|tus?|esos?|esas?|los|las) ?(?:\w+ )?{msg}|{msg}|(?:mas )?nada de (?:ustedes|uds)|que (?:me )?{send_es}|estar en (?:\w+ )?{list_es}|contacto)",
    "es_do_not": r"\b(?:no|nunca|ya no|jamas) (?:mas )?(?:me|nos) (?:vuelvan? a |vuelvas a |sigan? |siga )?{send_es}(?:\b)",
    "es_stop_doing": r"\b(?:dej(?:en|a|e|ar|as)|par(?:en|a|e|ar)|ces(?:en|e|ar)|basta|ya)\b(?: ya| por favor)?,? (?:de |con )(?:estar )?(?:(?:me )?{send_es}|(?:los |las |tantos |tantas |sus |tus |estos |estas |tanto )?{msg}|molestar\w*)\b",
    "es_remove_me": r"\b(?:borr(?:enme|ame|eme|en|a|ar|arme)|quit(?:enme|ame|eme|en|a|ar|arme)|elimin(?:enme|ame|eme|en|ar|arme)|saqu(?:enme|eme|en)|sacame|sacarme|remuev\w+|retir(?:enme|ame|eme|en|arme)|den(?:me)? de baja|saquen)\b(?: (?:mi|este) (?:numero|contacto|telefono|correo))?[^.!?]{0,20}\b(?:de|del) (?:la |su |sus |tu |esta |esa |este |ese |los )?{list_es}",
    "es_baja": r"\b(?:dar(?:me|nos|se)?|den(?:me|nos)?|dame|deme|quiero(?: la)?|solicito(?: la)?|pido(?: la)?|tramitar|procesen) (?:de )?(?:la |mi )?baja\b(?: de (?:la |su |esta |sus |los |las |estas? )?(?:lista|mensaje|envio|suscripcion|correo|notificacion|promocion|grupo|difusion|publicidad)\w*| mi (?:numero|contacto|correo|telefono|celular)|,|[.!?]|$| por favor| ya| ahora)",
    "es_number": r"\b(?:borr(?:en|a|e|ar)|elimin(?:en|a|e|ar)|olvid(?:en|a|e|ense de)|pierd(?:an|e)|quit(?:en|a|e)) (?:mi|este|ese) (?:numero|contacto|telefono|celular)\b|\bdej(?:enme|ame|eme) en paz\b|\bno (?:molest(?:en|es|e|ar)|insist(?:an|as|a))\b(?: mas|[.!]|$)|\bdejen de molestar\b",
    "es_asked": r"\bya (?:les |le |te |lo |se los )?(?:pedi|dije|solicite|mande|avise|habia pedido|respondi)\b.{0,30}\b(?:par(?:en|ar|e)|baja|no (?:me )?(?:escrib|mand|envi|llam|quier|molest)\w*|dej(?:en|ar|aran|e)|quit\w+|borr\w+|sac\w+)\b",
    "es_threat": r"\b(?:voy a|vamos a|los|lo|les|te) (?:tener que |voy a |vamos a )?(?:(?:bloque|denunci|report|demand)(?:ar|o|amos|aremos|are)(?:los|las|lo|la|les|te)\b|(?:bloque|denunci|report|demand)\w+(?:$|[.,!]| (?:este|ese|esto|el numero|el contacto|su|por|si|como|y|a ustedes|ahora|ya)\b))",
    "es_spam": r"\b(?:esto|eso) (?:ya )?es (?:spam|acoso|hostigamiento)\b|\bnunca (?:me )?(?:suscribi|autorice|pedi|di (?:mi )?(?:permiso|consentimiento|numero))\b|\b(?:cancel(?:en|ar|a|e)|suspend(?:an|er)) (?:el |los |la |mi |las )?(?:envio|envios|suscripcion|{msg})\b|\b(?:basta|hart[oa]|cansad[oa]) (?:ya )?de (?:tant\w+ |sus |tus |recibir |estos |estas )?(?:{msg}|ustedes)\b",
    "es_take_me": r"[,.!] ?(?:saquenme|borrenme|quitenme|eliminenme|sacame|quitame|borrame|eliminame)(?:[.,!]|$)|\b(?:borr|quit|elimin)(?:en|a|e) est[ea](?: numero| contacto)?(?:[.,!]|$)",
    "es_polite": r"\bno (?:me )?(?:enviar|mandar|escribir|llamar|contactar|molestar)(?:me|nos)\b|\b(?:no|ya no) (?:manden|escriban|envien|llamen|escribas|mandes|envies)(?: (?:mas|nada|nunca))?(?:[.,!]|$)|\bcancel\w+ (?:estos|estas|los|las|sus|esos|esas) (?:\w+ )?{msg}",
    "es_enough": r"\bno (?:quiero )?mas (?:\w+ )?(?:publicidad|mensajes|promociones|notificaciones|spam|correos|ofertas|anuncios)\b|^baja de (?:la |esta |su )?{list_es}|\bno (?:di|autorice|me suscribi|he autorizado|di permiso)\b.{0,20}\b(?:numero|permiso|contact\w+|{msg}|esto)|\bme tienen? (?:hart|cansad|podrid)[oa]s? (?:con|de)\b",
    "es_keyword_sentence": r"^(?:baja|stop|alto)[.!]+(?: |$)|^numero equivocado.{0,30}\b(?:no|borr\w+|quit\w+|dej\w+)\b|\bdesuscrib\w+\b|\bsalir(?:me)? de (?:la |esta |este |su |tu |el )?(?:lista|grupo|difusion)\b",
    "pt_how": r"\bcomo (?:eu )?(?:saio|me descadastro|me removo|me tiro) d\w+ (?:sua )?{list_pt}\b|\bcomo (?:eu )?(?:faco|faz|posso|fazer|consigo)?.{0,12}\b(?:nao (?:mais )?receb\w+|par(?:ar|o) de receb\w+|deix(?:ar|o) de receb\w+|sair d\w+ {list_pt})|\bnao (?:pedi|solicitei|me cadastrei|assinei|me inscrevi)\b.{0,30}\b(?:receb\w+|{msg}|lista)",
    "en_enough": r"\b(?:enough|tired|sick|fed up|done) (?:of|with) (?:all )?(?:the |these |your |this |receiving |getting )?(?:\w+ )?(?:{msg}|spam)\b|\bnot interested\b.{0,25}\b(?:remove|stop|unsubscribe|take me)\b",
    "es_how": r"\bcomo (?:hago para |puedo )?(?:me doy de baja|dejo de recib\w+|dejar de recib\w+|no recib\w+|salgo de (?:la|esta) {list_es})",
    "pt_group": r"\bsair d(?:a|essa|esta|o|esse) (?:lista|transmissao|mailing|newsletter|grupo de (?:ofertas|promocoes))\b|\b(?:desinscrev|descadastr)\w+\b",
}  # fmt: skip

INNOCENT: Final = {
    "format_pt": r"\b(?:par(?:a|e|em)|nao|evit\w+|prefiro) (?:de )?(?:me )?(?:mand\w+|envi\w+|receber|por)? ?(?:audios?|figurinhas?|videos?|fotos?|memes|gifs?|stickers?|links?|pdfs?|documentos?)\b",
    "format_es": r"\b(?:no|dej\w+|par\w+|mejor) (?:de )?(?:me )?(?:mand\w+|envi\w+)? ?(?:audios?|stickers?|videos?|fotos?|notas de voz)\b",
    "format_en": r"\b(?:stop|don't|no|please don't|quit) (?:send(?:ing)? )?(?:me )?(?:the )?(?:voice (?:notes?|messages?)|audios?|videos?|stickers?|gifs?|photos?|pdfs?)\b",
    "hours": r"\b(?:depois d[ae]s|antes d[ae]s|a noite|de madrugada|no fim de semana|aos (?:sabados|domingos)|de manha(?: cedo)?|tao (?:cedo|tarde)|after \d|before \d|at night|on weekends|so early|this late|por la noche|los (?:domingos|sabados|fines de semana)|despues de las|antes de las|tan (?:temprano|tarde))\b",
    "booking": r"\b(?:consulta|agendamento|horario|pedido|entrega|reserva|visita|appointment|booking|order|reservation|delivery|cita|turno)\b.{0,30}\b(?:nao|cancel\w+|remarc\w+)|\b(?:cancel\w+) (?:o |a |meu |minha |my |the |mi |la |el |our )?(?:consulta|agendamento|horario|pedido|entrega|reserva|visita|appointment|booking|order|reservation|delivery|cita|turno|plano|contrato|assinatura|compra|matricula|subscription|plan|membership|contract)\b",
    "other_person": r"\b(?:meu|minha|o|a|my|mi|el|la) (?:irma[o]?|marido|esposa|filh[oa]|vizinh[oa]|ex|chefe|brother|sister|husband|wife|boss|neighbou?r|hermano|esposo|vecin[oa]|jefe|sogr[oa])\b.{0,40}\b(?:par\w+|nao|stop|keeps|no|dej\w+|opted)",
    "address": r"\bme cham\w+ (?:so )?de \w+|\bcall(?:ing)? me (?:\w+ )?(?:sir|ma'?am|madam|dear|honey|buddy|miss|mr|mrs)\b|\bllam\w+ (?:me )?(?:senor\w*|don|dona|usted|de usted)\b|\bdecirme \w+|\bllamarme (?:senor\w*|dona?|de)\b",
    "delivery": r"\b(?:receb\w+|receive|get|recib\w+)\b (?:\w+ ){0,3}?(?:hoje|amanha|today|tomorrow|tonight|hoy|manana|em casa|at home|en casa|no trabalho|at work|pedido|encomenda|pacote|package|paquete|produto|product|antes|depois)\b",
    "channel": r"\b(?:prefiro|prefer|prefiero|melhor|mejor|rather) (?:\w+ ){0,2}?(?:por|via|by|mensage\w+|mensaje\w*|textos?|text|whats\w*|e-?mail|correo|audios?|llamadas?|ligac\w+|calls?|depois|after|de manha|a tarde)\b|, (?:so|apenas|somente|only|just|solo) (?:por |via |by )?(?:mensage\w+|textos?|whats\w*|e-?mail|messages?|email|mensajes?|correo)\b",
    "for_now": r"\b(?:nao|n|don't|dont|do not|no) (?:me )?(?:lig\w+|cham\w+|mand\w+|envi\w+|call|text|send|llam\w+|escrib\w+)(?: me)? (?:agora|hoje|now|today|ahora|hoy|ainda|yet|todavia|antes|so depois)\b",
    "someone_else": r"\b(?:message|call|text|contact|llam\w+|escrib\w+|lig\w+|mand\w+) (?:a |para |pra )?(?:o |a )?(?:my|mi|minha|meu) (?:wife|husband|mother|father|mom|dad|boss|esposa|esposo|marido|mae|pai|madre|padre|chefe|jefe|filh[oa])\b|\b(?:off|out of) (?:speaker|hold|mute)\b",
    "one_thing": r"\b(?:mandar|enviar|sending|mandarme|enviarme) (?:esse|este|o mesmo|the same|that|ese|el mismo) (?:link|arquivo|boleto|file|archivo|enlace|pdf|formulario|codigo)\b",
    "told_another": r"\b(?:told|asked) (?:him|her|my \w+|the \w+)\b",
    "solved": r"\bja (?:resolvi|resolveu|comprei|achei|paguei|falei com|recebi|deu certo|vi|consegui)\b|\bya (?:lo )?(?:resolvi|compre|pague|recibi|consegui)\b",
    "one_document": r"\bescrib\w+ (?:la|el|un|una) \w+|\b(?:mand\w+|envi\w+|send|print) (?:me )?(?:a |o |la |el |the |mi |minha |meu |my |mais )?(?:nota|fatura|factura|boleta|boleto|conta|cuenta|pedido|recibo|comprovante|invoice|bill|receipt|order|orcamento|presupuesto|contrato|ticket|paquete|chave|foto|endereco)\b",
    "other_channel": r"\b(?:don't|dont|do not|no|nao) (?:me )?(?:call|ring|llam\w+|lig\w+)\b[^.!?]{0,12}[,;] ?(?:just |so |solo |pode |me |mejor )*(?:text|message|write|email|escrib\w+|mand\w+|envi\w+|whats\w*|mensage\w+)\b",
    "keep": r"\b(?:pode(?:m)? (?:continuar|seguir)|continue(?:m)?|keep (?:sending|them|it)|sigan (?:enviando|mandando))\b",
    "mistake": r"\b(?:nao (?:estou|to|consigo|estava|recebi|chegou|chegaram|estao chegando)) (?:mais )?(?:conseguindo )?(?:receb\w+|a mensagem|mensagens|ver)\b|\b(?:not|stopped|why (?:did|have)) (?:i |you )?(?:receiving|getting|stop(?:ped)? (?:sending|getting))\b|\bno (?:estoy recibiendo|me llego|me llegan|recibi)\b",
}  # fmt: skip

OPT_IN: Final = {
    "pt": r"\b(?:quero|queria|gostaria de|pode(?:m)?|podem?|desejo) (?:voltar|continuar|tornar)? ?(?:a )?(?:me )?(?:receb\w+|mand\w+|envi\w+|cadastr\w+|reativ\w+)\b|\b(?:me )?(?:reativ\w+|cadastr\w+|inscrev\w+|readicion\w+|coloc\w+|inclu\w+)(?:-me)? (?:de novo|novamente|meu (?:numero|contato|cadastro)|na lista|outra vez)|\bvoltar a receber\b|\bpode(?:m)? voltar a\b",
    "en": r"\b(?:sign me (?:back )?up|subscribe me|opt me (?:back )?in|opt (?:back )?in|resume (?:the )?{msg}|start sending|(?:want|like) to (?:receive|get|resubscribe|subscribe|hear|start)|add me (?:back|again)|re-?subscribe|put me back|turn (?:them |it )?(?:back )?on|you can (?:text|message|write) me again)\b",
    "es": r"\b(?:quiero|quisiera|pueden|deseo) (?:volver a |seguir )?(?:recib\w+|suscrib\w+|mand\w+|envi\w+)\b|\b(?:denme|dame|darme|dar) de alta\b|\b(?:suscrib|reactiv|agreg|inclu)\w*(?:me|anme|enme) (?:de nuevo|otra vez|a la lista)\b|\bvolver a recibir\b",
}  # fmt: skip

PREFERENCE: Final = {
    "pt": r"\b(?:par(?:a|e|em)|nao|evit\w+|prefiro|so|somente|apenas|melhor)\b.{0,20}\b(?:audios?|textos?|figurinhas?|videos?|ligac\w+|e-?mail|whats\w*|figurinha|links?|fotos?|de manha|a noite|a tarde|depois das|antes das|fim de semana|domingos?|sabados?)\b",
    "en": r"\b(?:stop|don't|please|prefer|only|rather|just)\b.{0,25}\b(?:voice (?:notes?|messages?)|audios?|by (?:e-?mail|text|phone)|videos?|stickers?|after \d|before \d|at night|in the mornings?|on weekends?|once a (?:week|month))\b",
    "es": r"\b(?:no|dej\w+|prefiero|solo|mejor|par\w+)\b.{0,25}\b(?:audios?|textos?|notas de voz|videos?|stickers?|por correo|llamadas|por la (?:noche|manana)|despues de las|los domingos|fines de semana)\b",
}  # fmt: skip

HANDOFF: Final = {
    "cancel": r"\b(?:cancel\w*|desmarc\w+|anul\w+|desist\w+ d\w+)\b",
    "app": r"\b(?:sair|salir|log ?out|sign ?out|desinstal\w+|uninstall) (?:d[oae]|del|da|of|from|my|a|the)\b.{0,20}\b(?:app|aplicativo|aplicacion|conta|cuenta|account|sistema|site|sessao|portal)\b|\blog ?out\b",
    "pause": r"\b(?:paus\w+|suspend\w+|interromp\w+|trancar|congelar|freeze|put on hold|pausar)\b.{0,30}\b(?:entreg\w+|plano|assinatura|matricula|servic\w+|deliver\w+|plan|subscription|membership|entregas|suscripcion|contrato|envios)\b",
    "person": r"\b(?:falar com (?:um |uma |alguem|atendente|humano|pessoa)|atendente|speak (?:to|with) (?:a |an |some)|talk to (?:a |an |some)|hablar con (?:un|una|alguien)|humano de verdade|real person)\b",
}  # fmt: skip
