# ruff: noqa: E501 (rule data: a pattern reads best on one line)
"""Commissive phrases by family: a family is a surface form. Data of gates 6 and 7, matched on folded text.

The name's first word, up to the underscore, is the kind that a find is told with.
"""

from typing import Final

FRAGMENTS: Final = {
    "when": r"(?:antes d[oa]s? \w+|cedinho|na vespera|nesse horario|n?as (?:uma|duas|tres|quatro|cinco|seis|sete|oito|nove|dez|onze|doze)|(?:by|at|before) (?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|noon|midnight|\d{1,2}(?::\d\d)?)|(?:mon|tues|wednes|thurs|fri|satur|sun)day|a las (?:dos|tres|cuatro|cinco|seis|siete|ocho|nueve|diez|once|doce)|en (?:enero|febrero|marzo|abril|mayo|junio|julio|agosto|septiembre|octubre|noviembre|diciembre)|before (?:the|your) \w+|antes de(?:l| la) \w+|hoje|amanha|depois de amanha|agora mesmo|logo cedo|(?:ate|dentro de|antes de|em|no maximo|daqui a|antes d[oa]) "
    r"(?:\w+ ){0,3}?(?:\d+|um|uma|dois|duas|tres|\w+ (?:horas?|dias?|minutos?|semanas?)|segunda|terca|quarta|quinta|sexta|sabado|domingo|"
    r"amanha|hoje|fim|final|janeiro|fevereiro|marco|abril|maio|junho|julho|agosto|setembro|outubro|novembro|dezembro|natal|"
    r"manha|tarde|noite|meio[- ]dia)|"
    r"(?:na |n?esta |nessa |a partir de |para |pra )?(?:segunda|terca|quarta|quinta|sexta)(?:-feira)?|(?:no |n?este |nesse )(?:sabado|domingo)|"
    r"dia \d{1,2}|semana que vem|proxim[oa] (?:semana|mes|dia|segunda|terca|quarta|quinta|sexta)|as \d{1,2}|\d{1,2}h|\d{1,2}:\d\d|"
    r"\d+ (?:dias?|horas?|minutos|min|semanas?)(?: uteis)?|ainda (?:hoje|esta semana)|(?:tomorrow|today|tonight|"
    r"(?:by|within|before|until|no later than|in|on|at|next|this|for) (?:the )?(?:\w+ ){0,2}?(?:\d+|monday|tuesday|wednesday|thursday|"
    r"friday|saturday|sunday|week|month|noon|tomorrow|today|end|hours?|days?|minutes|morning|afternoon|evening|january|february|"
    r"march|april|june|july|august|september|october|november|december|christmas)|\d+ ?[ap]m|first thing|right away)|"
    r"(?:manana|pasado manana|(?:antes del?|dentro de|en|para el|hasta el|a mas tardar|el|este|esta|proxim[oa]) (?:\w+ ){0,2}?(?:\d+|lunes|"
    r"martes|miercoles|jueves|viernes|sabado|domingo|horas?|dias?|minutos|semana|mes|fin|final|tarde|noche|mediodia)|a las \d{1,2}|"
    r"a la una|esta (?:tarde|noche|semana)))",
    "deed_pt": r"(?:(?:te|lhe|nos) (?:busc|lev|entreg|peg|receb)\w*|chega(?:ra|m|rao|ndo)?|entreg(?:o|amos|aremos|a|arei|ue|ues)|fica(?:ra)? pront[oa]s?|(?:estara|estarao|esta|estao|fica|"
    r"vai estar|vao estar) (?:ai|pront[oa]s?|na sua casa|disponive(?:l|is)|no seu endereco)|resolv(?:o|emos|eremos|id[oa])|"
    r"envi(?:o|amos|aremos|ad[oa]s?)|despach(?:o|amos|ad[oa])|recebe(?:ra|m)?|termin(?:o|amos|aremos)|conclu(?:imos|iremos|id[oa])|"
    r"cai(?:ra)?(?: na)?|instal(?:amos|aremos|ad[oa])|busc(?:o|amos)|retir(?:o|amos)|lev(?:o|amos)|(?:te|lhe) (?:lig|retorn|respond|envi|mand|"
    r"avis|chamo|passo)\w*|retorn(?:o|amos|aremos)|ligamos|ligaremos|respond(?:o|emos|eremos)|pass(?:o|amos) (?:ai|na sua)|"
    r"mand(?:o|amos|aremos)|estamos ai|estaremos|(?:vou|vamos|vai|vao|podemos|posso|consigo|conseguimos|da pra|da para) (?:te |lhe |ser |estar |ficar )?(?:chegar|entreg\w+|resolv\w+|envi\w+|"
    r"receber|terminar|instal\w+|buscar|retirar|levar|ligar|retornar|responder|mandar|pront\w+|conclu\w+|despach\w+|ai|passar|consert\w+|"
    r"troc\w+|devolv\w+|fazer|atender|ir ai|visitar|abrir|liberar|deposit\w+|pagar|credit\w+)|sai(?:ra|em)?|(?:na sua (?:mao|casa|porta)|em maos)|"
    r"libera(?:mos|remos|do|da)?|consert(?:o|amos|aremos)|atend(?:o|emos|eremos) (?:voce|vc|o senhor|a senhora)|te atend\w+|"
    r"pag(?:amos|aremos)|deposit(?:amos|aremos|ado)|visit(?:amos|aremos)|volta(?:mos|remos)? a funcionar|(?:tecnico|entregador|motorista|"
    r"equipe|montador|eletricista|encanador|motoboy|instalador) (?:vai|passa|chega|sai|estara|esta a caminho))",
    "deed_en": r"(?:(?:'ll|will|shall|going to|gonna|can) (?:\w+ ){0,3}?(?:arrive|be|deliver|ship|call|get back|get it|fix|resolve|finish|complete|"
    r"send|have|pick|refund|email|reply|respond|install|come|replace|repair|bring|drop|process|receive|reach|contact|visit|pay|credit|open|"
    r"start|return|see|sort|hear|release)|(?:arrives?|ships?|delivers?|is ready|are ready|is due|get(?:s|ting)? there|be there|is coming|"
    r"are coming|is on (?:its|the) way|see you|lands?|we deliver|we ship|goes out|hits your account))",
    "deed_es": r"(?:llega(?:ra|n|ran)?|entreg(?:o|amos|aremos|a|ara)|(?:estara|estaran|queda|quedara|esta) (?:list[oa]s?|alli|ahi|en su casa)|"
    r"envi(?:o|amos|aremos|ad[oa])|resolv(?:emos|eremos|era)|solucion(?:amos|aremos)|reciben?|recibir(?:a|as)|(?:le|te|lo|la) (?:llam|escrib|"
    r"envi|respond|devolv|mand|atend|visit|contact|esper|avis)\w*|devolv(?:emos|eremos)|tendra|tendras|tiene list[oa]|"
    r"(?:voy|vamos|va|van) a (?:llegar|entregar|enviar|resolver|llamar|estar|recibir|instalar|reparar|devolver|pasar)|pas(?:o|amos|aremos) por|"
    r"instal(?:amos|aremos)|repar(?:amos|aremos)|(?:sale[n]?|saldra[n]?|en sus manos)|termin(?:o|amos|aremos))",
    # what happens to the customer's thing, whatever the verb: a passive of the future, a future of ours, "you have it"
    "event_pt": r"(?:(?:sera|serao|vai ser|vao ser|estara|estarao|ficara|ficarao|vai estar|vai ficar) (?:\w+ )?(?:\w+(?:ad|id)[oa]s?|pront[oa]s?|feit[oa]s?|entregues?|limp[oa]s?|no ar|funcionando)|fica(?:m)? (?:pront|list|liberad|resolvid|instalad|disponive|acertad)\w*|\w{3,}(?:aremos|eremos|iremos)|"
    r"(?:publicamos|protocolamos|assinamos|terminamos|finalizamos|iniciamos|montamos|buscamos|refazemos|devolvemos|depositamos|pagamos|lavamos|pintamos|imprimimos|emitimos|postamos|lancamos)|(?:vou|vamos) (?:te |lhe )?(?:protocol|public|entreg|envi|mand|lig|resolv|termin|instal|assin|devolv|deposit|pag|emit|post|busc|lev|retorn|conclu|finaliz|inici|comec|lan)\w+|"
    r"(?:voce|vc|a senhora|o senhor) (?:ja )?(?:recebe|tem|vai ter|tera|retira|sai com|pega|vai receber|recebera)|(?:te|lhe) (?:dou|damos|passo|trago|entrego|conto)|esta(?:ra)? (?:funcionando|pront[oa]|na sua (?:conta|mao|casa))|(?:vai|entra|esta|ta) (?:ao ar|no ar|na rua|a caminho|em rota)|(?:eletricista|tecnico|encanador|equipe|pessoal|motoboy|entregador|montador|instalador|pintor) (?:resolve|vai|passa|chega|entrega|busca|termina|conserta|troca|visita))",
    "event_en": r"(?:'s ready|expect (?:it|them|delivery|your \w+|us)|gets? (?:\w+ )?(?:\w+ed|done|sent|built|paid|cut|made)|(?:it's|it is|they're) (?:with you|yours|there|done)|(?:is|are) (?:yours|with you)|have (?:it|this|that|everything|your \w+) (?:done|ready|fixed|back|sorted|finished)|(?:will|'ll) be (?:\w+ )?(?:\w+ed|done|sent|ready|built|paid|made|there|with you)|you(?:'ll| will) (?:\w+ )?(?:hear|have|get|receive))",
    "event_es": r"(?:se (?:termina|entrega|envia|instala|publica|firma|devuelve|paga|resuelve|repara|acredita)|\w{3,}(?:aremos|eremos|iremos)|(?:sera|seran|va a ser|quedara|queda) (?:\w+ )?(?:\w+(?:ad|id)[oa]s?|list[oa]s?|hech[oa]s?|entregad[oa]s?)|(?:le|te|les) \w+(?:amos|emos|imos|are|ere|ire)|esta (?:el|la|su) \w+ en su \w+|tendra su|tiene su)",
    "thing": r"(?:vaga|mesa|ingresso|horario|lugar|quarto|assento|unidade|apartamento|terreno|lote|sala|ultim[oa]|encaixe|spot|seat|table|room|slot|place|ticket|unit|apartment|last one|appointment|cupo|habitacion|turno|plaza|entrada|asiento|departamento)",
    "count": r"(?:\d{1,3}|um|uma|dois|duas|tres|quatro|cinco|seis|dez|doze|vinte|trinta|noventa|un|una|dos|cuatro|diez|doce|treinta|one|two|three|four|five|six|ten|twelve|thirty|sixty|ninety)",
    "any": r"(?:[^.!?;\n]{0,60}?)",
}

FAMILIES: Final = {
    "deadline_pt": r"\b{deed_pt}\b{any}\b{when}|\b{when}\b{any}\b{deed_pt}\b",
    "deadline_en": r"(?:\b|')?{deed_en}\b{any}\b{when}|\b{when}\b{any}{deed_en}\b",
    "deadline_es": r"\b{deed_es}\b{any}\b{when}|\b{when}\b{any}\b{deed_es}\b",
    "deadline_event_pt": r"\b{event_pt}\b{any}\b{when}|\b{when}\b{any}\b{event_pt}\b",
    "deadline_event_en": r"\b{event_en}\b{any}\b{when}|\b{when}\b{any}\b{event_en}\b",
    "deadline_event_es": r"\b{event_es}\b{any}\b{when}|\b{when}\b{any}\b{event_es}\b",
    "deadline_assured": r"\b(?:sem|sin) (?:atrasos?|demora|retraso)\b|\bwithout (?:any )?delay\b|\bpode contar com (?:a|o|essa|esse|nossa|isso)\b|\b(?:puede contar con|you can count on) (?:it|that|la|el|eso|esa|delivery|us (?:to|for))\b",
    # what the customer is told to become, win or be rid of
    "guarantee_outcome": r"\bvoces? (?:vai |vao |ja )?(?:passar?|emagrecer?|perder?|falar?|aprender?|ganhar?|economizar?|recuperar?|dobrar?|vender?|triplicar?)\b[^.!?\n]{0,40}\b(?:\d+ ?(?:kg|quilos|%|por cento)|prova|concurso|exame|vestibular|ingles|fluente|o dobro|causa|processo|(?:em|ate) (?:{count} (?:mes|meses|semanas?|dias)|o verao)|com (?:a gente|[oa] noss[oa]))|"
    r"\bem {count} (?:mes|meses|semanas|dias|aulas|sessoes) (?:voces? )(?:fala|aprende|emagrece|perde|passa|ganha|domina|ve|sente)\b|\b(?:causa|processo|acao|caso) (?:esta |ta |e )(?:ganh[oa]|garantid)\w*|\b(?:ganhamos|vencemos|a gente ganha|vamos ganhar|vamos vencer|voce ganha|voce vai ganhar) (?:essa|a|sua|esse|o|seu) (?:causa|acao|processo|caso)\b|"
    r"\b(?:dor|dores|manchas?|rugas?|defeito|barulho|vazamento|praga|pulgas?|cicatriz) (?:\w+ ){0,2}?(?:vai sumir|vao sumir|vai acabar|vai desaparecer|some|somem|desaparecem?|acaba de vez)\b|\b(?:resolve|elimina|acaba com|tira) (?:o |a |seu |sua |esse |essa )?\w+ (?:de vez|para sempre|pra sempre|definitivamente|por completo)\b|"
    r"\byou(?:'ll| will|'re going to| are going to) (?:\w+ )?(?:win (?:this|the|your)|pass (?:the|your|this) (?:exam|test|bar|course|inspection)|lose (?:\w+ )?(?:weight|pounds|kilos|inches|kg|lbs)|double|be fluent|be pain[- ]free|speak \w+ (?:in|by))|\bwe(?:'ll| will| always)? win (?:this|the|your|these)\b|"
    r"\b(?:va a|vas a|usted va a) (?:aprobar|ganar|adelgazar|perder \w+ kilos|recuperar)\b|\b(?:aprueba|gana) (?:el|su|la) (?:examen|juicio|caso|curso|causa)\b|\b(?:quita|elimina|resuelve) (?:el|la|su) \w+ (?:para siempre|por completo|de una vez|definitivamente)\b",
    "guarantee_outcome_of": r"\b(?:seu|sua) \w+ (?:aprende|emagrece|passa|cresce|melhora|para de|dobra|vende|rende)\b[^.!?\n]{0,30}\bem {count} (?:mes|meses|semanas?|dias|aulas|sessoes)\b",
    "guarantee_lasting": r"\bfix(?:es)? (?:it|this|that) (?:for good|once and for all|permanently)\b|\b(?:fica|ficara|queda|quedara|esta|estara|volta) como (?:nov[oa]|nuev[oa])\b|\bgarantia de {count}\b|\bas good as new\b",
    "fee_taken_off": r"\b(?:vou|posso|consigo|eu|a gente|i can|i'll|we'll|voy a|puedo) (?:te |lhe |le )?(?:tir|retir|remov|cancel|abat|perdo|isent|zer|quit|waiv|drop)\w* (?:a|essa|o|esse|os|as|sua|seu|the|your|that|la|el|su) (?:\w+ )?(?:multa|taxa|juros|cobranca|tarifa|fee|charge|penalty|recargo|mora)\b|\bdesconsider\w+ (?:a|essa|o|esse|sua) (?:cobranca|multa|taxa)\b|"
    r"\bsem pagar(?: nada)?(?:[.,!]|$)",
    "guarantee_stable": r"\b(?:preco|valor|taxa|mensalidade|aluguel|tarifa|orcamento|price|rate|fee|rent|precio|cuota|alquiler)s?\b[^.!?\n]{0,40}\b(?:travad|congelad|mantid|fixad|locked|frozen|fixed|capped)\w*|"
    r"\b{count} (?:anos?|mes(?:es)?|dias|years?|months?|days?) (?:de |of )(?:garantia|warranty|guarantee)\b|\b(?:covered|guaranteed) (?:for|by) (?:{count}|the|our|a)\b|\bgarantia (?:cobre|cubre|inclui|incluye)\b|\bwarranty on\b",
    "absolute_price": r"\b(?:preco|valor|taxa|mensalidade|aluguel|tarifa|orcamento|price|rate|fee|rent|precio|cuota|alquiler|tarifa)s?\b[^.!?\n]{0,30}\b(?:nao|nunca|never|doesn't|don't|won't|no) (?:vai |vao |va a )?(?:mud|alter|sob|sub|aument|reajust|go(?:es)? up|chang|increas|ris|cambi)\w*|\b(?:never goes up|nunca (?:vas|va) a pagar|(?:won't|will not|will never|never) (?:hurt|scar|fade|shrink|rust|peel|stain))\b",
    "absolute_risk": r"\b(?:sem|zero|sin|no|without) (?:\w+ )?(?:riscos?|riesgos?|risks?)(?: nenhum| alguno| at all| pra| para|[.,!]|$)|\b(?:never|don't|do not|won't|will not) (?:raise|increase|change) (?:our |the |your )?(?:price|rate|fee)s?\b|\bnunca (?:aumentamos|subimos|mudamos|cobramos)\b",
    "absolute_surprise": r"\b(?:nao tem|sem|sin|no|without) (?:\w+ )?(?:surpresas?|surprises?|sorpresas?|letras? miudas?|hidden (?:fees|costs|charges))\b",
    "hold_yours": r"\b{thing}\b[^.!?\n]{0,40}\b(?:e|ja e|is|are|es|ya es|esta) (?:tod[oa] |all )?(?:su[oy]?[oa]?|seus?|suas?|yours|tuy[oa]|d[ea] voces?)(?:[.,!]|$)|\b(?:put|got|wrote) your name (?:down )?(?:on|for)\b|\bseu nome (?:ja )?(?:esta|ta|ficou) na lista\b|\bta na mao\b|\byours for (?:[$€£] ?)?\d",
    "exchange_terms": r"\b(?:aceit(?:o|amos)|acept(?:o|amos)|we(?:'ll| will)? (?:accept|allow|take)) (?:\w+ ){0,2}?(?:trocas?|devoluc\w+|returns?|exchanges?|cambios?)\b|\bvoces? (?:tem|tera) {count} (?:dias|meses|horas) (?:para|pra) (?:devolver|trocar|cancelar|desistir)|\b(?:returns?|exchanges?|refunds?|cancell?ations?) (?:are|is) (?:\w+ )?(?:accepted|free|possible|fine)\b|"
    r"\byou can (?:\w+ )?(?:return|exchange|cancel|send (?:it|them) back)\b|\b(?:pode|podem|puede|pueden|can|podra|podera) (?:ser|be) (?:trocad|devolvid|cancelad|reembolsad|cambiad|devuelt|returned|exchanged|refunded|cancell?ed)\w*|\b(?:tiene|tienes) {count} (?:dias|meses) para (?:devolver|cambiar|cancelar)",
    "concession_exception": r"\b(?:aceit|liber|receb|accept|take|honou?r|acept|permit|entra|let you)\w*\b{any}\b(?:mesmo (?:com|sem|fora|depois|apos|que|vencid)|even (?:without|if|after|though|past)|aunque|without (?:the|a|your) (?:receipt|id|deposit|card)|fora do (?:prazo|horario)|depois do (?:prazo|horario))|"
    r"\b(?:you can|pode|podem|puede|puedes|podes)\b[^.!?\n]{0,40}\b(?:no problem|sem problemas?|sin problemas?)\b",
    "freebie_ours": r"\b(?:presente|cortesia|brinde) (?:nosso|nossa|meu|da casa)\b|\b(?:dou|damos|give you|doy|damos) (?:\w+ ){0,2}?(?:upgrade|bonus|creditos?|cortesia|brinde|mes gratis)\b",
    "discount_kept": r"\b(?:faco|fazemos|mantenho|mantemos|seguro|seguramos|mantengo|mantenemos) (?:o|esse|este|seu|el|este) (?:\w+ )?(?:preco|valor|orcamento|desconto|precio|presupuesto|descuento)\b|\b(?:preco|precio|price|valor|rate) (?:se mantem|se mantiene|stays|holds|esta mantido|segue mantido|fica mantido)\b|"
    r"\b(?:discount|coupon|credit|desconto|cupom|credito|descuento|cupon) (?:has been|was|foi|ja foi|esta|fue|ya esta|is|ya fue) (?:\w+ )?(?:applied|added|aplicad|lancad|incluid)\w*",
    "freebie_gift": r"\b(?:ganhe|ganha|ganham|llevate|get|receive) (?:um|uma|un|una|an?) (?:\w+ ){0,2}?(?:gratis|free|brinde|presente|gift|regalo|cafe|sobremesa|cortesia|bonus)\b|\bpresente (?:te )?espera\w+|\b(?:delivery|shipping|installation|breakfast|tax|frete|entrega|instalacao|envio|instalacion|cafe da manha|desayuno) (?:is |are |e |esta |ja esta |ya esta |va )?(?:included|inclus[oa]|incluid[oa])\b|"
    r"(?:'s|\bis|\bare) on (?:me|us|the house)\b|\bpor (?:nossa|minha|nuestra|mi) (?:cuenta|conta)\b|\bno se paga\b|\b(?:fix|repair|replace|redo|do|clean) (?:it|that|them|this) (?:for )?free\b|\bvai um[a]? (?:brinde|presente|mimo|cortesia)\b",
    "refund_within": r"\b(?:devolucao|reembolso|estorno|refunds?|devolucion) [\w ]{0,24}\b(?:em|within|in|en|dentro de) (?:ate )?{count}\b|\b(?:se lo|se la|le|te) (?:cambio|devuelvo|reparo|repongo|descuento|regalo|incluyo|rebajo)\b",
    "refund_back": r"\b(?:reintegr(?:o|amos|aremos|are)|(?:tudo|valor|dinheiro|cada centavo|seu \w+) (?:todo )?de volta|(?:dinheiro|valor) volta|(?:every (?:penny|cent)|all of it|your (?:money|deposit)|it all) back|recupera (?:el|su|todo|cada)|recebe (?:um |o |seu )?(?:credito|reembolso|dinheiro|estorno)|a gente (?:reembolsa|estorna|devolve|ressarce))\b",
    "approval_raised": r"\b(?:limite|limit) (?:\w+ )?(?:aumentou|subiu|foi aumentado|aumento|subio|has been raised|was raised)\b",
    "hold_named": r"\b(?:esta|ta|ficou|fica|is|esta a) (?:no|em|in|a) (?:seu|your|su) (?:nome|name|nombre)\b|\bbloque(?:ei|amos)\b[^.!?\n]{0,30}\b(?:para|pra) (?:voce|vc|voces)\b|\bsegur(?:ei|amos|o) (?:a|o|essa|esse|sua|seu|esta|este)\b|\b(?:e|fica) (?:seu|sua) por\b",
    "extension_given": r"\b(?:damos|dou|tem|ganha|give you|doy|tiene) (?:mais|more|another|otr[oa]s?|mas) {count} (?:dias|semanas|meses|days|weeks|months)\b|\b(?:extiendo|extendemos|prorrogo|prorrogamos|estendo|estendemos|alargo) (?:o|el|a|la|seu|su|sua)\b",
    "fee_nothing": r"\b(?:nada|nenhum\w*|nothing|none of (?:it|that))\b[\w ]{0,20}\b(?:cobrad|charged|cobrar)\w*|\btook (?:the|that|your) \w+ off\b",
    "hold_listed": r"\byou(?:'re| are) (?:all )?(?:on the (?:list|schedule|calendar)|in for|down for)\b|\byou have {count} (?:days|weeks|months) to (?:return|cancel|exchange)\b",
    "approval_thing": r"\b(?:credito|cadastro|financiamento|emprestimo|cartao|solicitacao|limite|parcelamento|loan|credit|application|prestamo|solicitud) (?:\w+ ){0,2}?(?:aprovad|liberad|autorizad|approved|aprobad|granted|went through)\w*|\byou(?:'re|'ve been| are| have been) (?:\w+ )?(?:cleared|approved|pre-?approved|accepted)\b",
    "appointment_closed": r"\b(?:fechado|combinado|marcado|hecho|listo|quedamos|it's a date|deal|agendado)[,:!]? (?:entao |para |pra |el )?(?:[^.!?\n]{0,12}\b)?{when}|\b(?:nos vemos|te vejo|vejo voce|quedamos)\b[^.!?\n]{0,25}\b(?:as \d|a las|\d{1,2}h|\d{1,2}:\d\d)|\blo anot(?:e|o|amos) para\b|\b(?:put|pencil(?:ed)?|got|have) you (?:down|in) (?:for|at)\b|"
    r"\b(?:reuniao|consulta|visita|sessao|aula|prova|vistoria) (?:fechad|acertad|combinad|marcad)[oa]\b",
    "price_quoted": r"\b(?:fica|sai|fecho|sale|queda)(?: tudo| os dois| todo)? \d{2,6}(?:[.,]\d{2,3})* (?:no|na|em|a vista|fechado|con|cash|total|tudo)\b|\bpor \d{2,6}(?:[.,]\d{2,3})? (?:eu |a gente |nos )?(?:fecho|faco|deixo|vendo|fechamos|fazemos)\b|\b(?:baixar|baixo|reduzir|abaixar|chegar|fechar) (?:o preco |o valor |isso )?(?:para|pra|em|por) (?:r\$ ?)?\d{2,6}|"
    r"\b(?:dois|duas|tres|quatro|cinco|[2-9]|two|three) (?:por|for) (?:cem|cinquenta|oitenta|noventa|cien|cincuenta|fifty|a hundred)(?:$|[.,!])|\b(?:leva|leve|lleva|llevate|buy|compre|compra) (?:\d|dois|duas|tres|dos|two|three|um|uno|one)\b[\w ]{0,15},? ?(?:e |y |and )?(?:paga|pague|pay|get|ganha|ganhe|leva|lleva) (?:so |only |apenas )?(?:\d|um|uma|dois|duas|one|two|uno|una|dos|outro)\b|"
    r"\bcobrimos(?: a oferta| o preco| o valor|[.,!]|$)",
    "deadline_stated": r"\b(?:prazo(?: de \w+)?|delivery time|tiempo de entrega|plazo(?: de \w+)?|turnaround|garantia|warranty)\s*(?::|is|e|es)\s*(?:de )?(?:ate )?\d",
    "freebie": r"\b(?:gratis|gratuit[oa]s?|gratuitamente|de graca|na faixa|0800|cortesia|de brinde|brinde|mimo|por (?:nossa|minha) conta|"
    r"por conta da casa|cortesia da casa|sem cobrar(?: nada)?|(?:nao|sem) (?:te |lhe |vai |vamos |ha |tem )?(?:cobr\w+|custo\w*)(?: nada)?|"
    r"isent[oa]s?|isencao|free (?:of charge|shipping|delivery|parking|trial|upgrade|exchange|returns?|installation|gift|breakfast|refills?|"
    r"replacement|quote|estimate|consultation|month|night|coffee|dessert|entry|wi-?fi|samples?|repairs?|service|cancell?ation)|for free|"
    r"(?:at )?no (?:extra |additional |added )?(?:cost|charge)|on the house|on us|complimentary|"
    r"(?:won't|will not|don't|do not|never|will never|not going to) (?:be )?charge[ds]?|throw in|sin (?:costo|cargo|coste)(?: alguno)?|(?:nao|no) (?:te |le |lhe )?(?:custa|cuesta|(?:tem|tiene|tendra|tera) (?:\w+ )?(?:custo|costo|cargo))(?: nada)?|custo zero|costo cero|(?:eat|stay|enter|travel|ride|park|swim) free|(?:shipping|delivery|parking|entry|breakfast|lesson|class|it|that|installation|repair|quote|visit|one|everything) (?:is|are|comes|will be|'s) (?:\w+ )?free|"
    r"de regalo|regalamos|le regalo|por cuenta de la casa|invita la casa|(?:no|sin) (?:te |le |les )?cobr\w+)\b",
    "fee_waived": r"\b(?:sem (?:multa|taxa|juros|cobranca|entrada|fidelidade|carencia|anuidade|adesao|frete|acrescimo|burocracia|consulta)\w*|"
    r"nao (?:vai |precisa |vao )?pag(?:ar|ara|am|a)\b(?: nada| multa| taxa| frete)?|no (?:\w+ )?(?:fees?|penalty|interest|deposit|extra charges?|"
    r"down payment|strings attached)(?: needed| required)?|waiv(?:e|ed|ing)|sin (?:multa|intereses|comision|penalizacion|recargo|anticipo|"
    r"enganche|permanencia)|exent[oa]s?|exonerad[oa]|(?:abr|abri|fac|faz|fiz)\w* (?:uma |essa )?excecao|make an exception|"
    r"(?:haremos|hacemos|hago) una excepcion|zer(?:amos|o|ei|ado|ada|aremos)|perdo(?:amos|o|ei|ado|ada)|abon(?:amos|ei|ado|ada|aremos)|"
    r"desconsider(?:e|amos)|(?:multa|taxa|tarifa|cobranca|juros|fee|charge|penalty|recargo|cargo) (?:\w+ ){0,2}?(?:cancelad|retirad|removid|perdoad|zerad|abonad|anulad|eliminad|waived|removed|cancell?ed|dropped)\w*|(?:a|essa|esta) (?:taxa|multa|tarifa) (?:fica|sai|esta|sera|vai ser|eu|a gente|nao)|include[ds]? at no)\b",
    "refund": r"\b(?:estorn(?:o|amos|aremos|ei|ad[oa]) (?:cai|sera|sai|ja|foi|esta|em|na|no|o|a|vai|integral|total|do)|"
    r"estorn(?:amos|aremos|ei|ad[oa])|reembols(?:amos|aremos|ei|ad[oa])|reembolso (?:cai|sera|sai|ja|foi|esta|integral|total|de|em|vai)|"
    r"devolv(?:emos|eremos|o|erei|id[oa])\b|devolvemos|(?:vou|vamos) (?:te |lhe )?(?:devolver|estornar|reembolsar|ressarcir)|ressarci\w+|"
    r"dinheiro (?:de )?volta|devolucao (?:integral|total|do valor|do dinheiro|imediata)|credito (?:na sua|de r\$|em)|creditamos|creditei|(?:will|'ll|can|going to|we|i've|we've|have) (?:\w+ )?refund\w*|"
    r"refunded|(?:full|complete|partial|your) refund\b|(?:fully|is|are|e|es|totalmente) (?:refundable|reembolsave(?:l|is)|reembolsables?)|money[- ]back|reimburse\w*|credit (?:your|the) (?:account|card)|"
    r"reembols(?:amos|aremos|o|are|ad[oa]) (?:su|el|la|todo|completo|en)|(?:le|te|les|se le) (?:devolvemos|reembols\w+|devolv\w+)|"
    r"devolucion (?:sera|total|completa)|(?:su|el|tu) dinero de vuelta)\b",
    "guarantee": r"\b(?:garanto|garantimos|garantid[oa]s?|garantiremos|garantia (?:de (?:\d+|uma?|ate|\w{4,})|total|vitalicia|incluida|estendida)|"
    r"(?:com|tem|tera|possui) (?:\w+ )?garantia|sem falta|(?:com|pode ter|dou) certeza|prometo|prometemos|prometid[oa]|asseguro|asseguramos|"
    r"dou minha palavra|pode (?:confiar|ficar tranquil[oa])|palavra de honra|cobr(?:imos|o|iremos) (?:qualquer|o preco|a oferta|a proposta)|"
    r"guarantees? (?:that|you|your|it|this|the|results?|on|of|a|we|same|delivery)|(?:i|we|'ll|will|can|do|personally) guarantee|(?:money[- ]back|satisfaction|lifetime|price|our|full) guarantee|guaranteed|promise|promised|you have my word|match (?:any|that|the|their|your|it)|price[- ]match|rest assured|lifetime|"
    r"(?:\d+|one|two|three|five|ten)[- ](?:month|year|day)s? warranty|warranty (?:of|covers|included|is)|under warranty|"
    r"(?:comes|come) with a|garantiz(?:o|amos|ad[oa]s?|aremos)|garantia (?:por|de \w{4,}|de \d+)|sin falta|aseguramos|le aseguro|te aseguro|"
    r"igualamos|(?:tiene|con) (?:\w+ )?garantia|cuente con)\b",
    "absolute": r"\b(?:nunca (?:mais|vai|vamos|cobr\w+|aument\w+|sub\w+)|(?:nao|nem) (?:vai |vao )?(?:mais )?(?:doer|arder|estragar|sob\w+|subir|subira|aument\w+|"
    r"acontec\w+|falt\w+|falh\w+|mud\w+ (?:o|de) (?:preco|valor)|quebr\w+|se repet\w+|repet\w+|vaz\w+ mais|alter\w+ (?:o|de) (?:preco|valor)|"
    r"ter(?:a|ao)? (?:mais )?(?:nenhum )?(?:problema|custo|surpresa)|haver\w+ (?:custo|cobranca|reajuste|aumento))|sem reajuste|(?:preco|valor) fixo|"
    r"(?:will never|never|won't|will not|not going to) (?:ever )?(?:\w+ )?(?:charge|go up|happen|change|increase|rise|fail|break|leak|cost|pay (?:more|extra|a cent|a penny|anything)|"
    r"be charged)|(?:no|nunca|jamas) (?:le |se |va a |volvera a |vuelve a )?(?:sub(?:e|en|ir|ira|iran)|aument(?:a|an|ar|ara|aran)|ocurr\w+|pasar\w*|fall\w+|cobrar\w+|cambi\w+ de precio))\b",
    "hold": r"\b(?:separei|separamos|reservei|reservamos|guardei|guardamos|seguro (?:pra|para)|seguramos|(?:deixei|deixo|deixamos|esta|ta|ficou|"
    r"fica|ficam|estao|ja|foi|foram|ficara) (?:\w+ )?(?:reservad[oa]s?|separad[oa]s?|guardad[oa]s?)|(?:reservad|separad|guardad)[oa]s? (?:no seu|em seu|pra|"
    r"para (?:voce|vc|o senhor|a senhora|sua|seu)|ate)|sua (?:vaga|mesa|reserva) (?:esta|ta|ja)|vaga garantida|(?:held|reserved|saved|set aside|put aside|kept) "
    r"(?:\w+ )?(?:for you|until|in your name|one|a|the|your)|(?:is|are|been) (?:\w+ )?(?:saved|reserved|held|set aside)|"
    r"(?:i'll|we'll|i will|we will|i'm|we're|can|i've|we've) (?:\w+ )?(?:hold|holding|save|reserve|reserved|keep|set aside|put aside)|"
    r"apart(?:e|amos|aremos|ad[oa]s?)|reserv(?:e|amos|aremos) (?:su|tu|una?|la|el|dos|tres)|(?:esta|queda|quedo|tiene|tienes|ya) (?:\w+ )?reservad[oa]s?|"
    r"reservad[oa] a (?:su|tu) nombre|(?:le|te) (?:guardo|guardamos|reservo|reservamos|aparto))\b",
    "approval": r"\b(?:(?:esta|foi|ta|ja|fica|ficou|saiu|sera|seu \w+|sua \w+) (?:\w+ )?(?:aprovad[oa]|liberad[oa]|autorizad[oa]|deferid[oa]|contemplad[oa])|"
    r"aprov(?:ei|amos|ado) (?:o|a|seu|sua|em)|liber(?:ei|amos|o) (?:o|a|seu|sua|pra|para|um|uma)|autoriz(?:ei|amos|o) (?:o|a|seu|sua|um|uma)|"
    r"(?:esta|ja|ta|fica) (?:\w+ )?ativ(?:o|a|ado|ada)|(?:desbloquead|ampliad|reativad|concedid)[oa]|(?:is|are|been|was|you're|got|it's|application|loan|credit|request|refund) (?:\w+ )?(?:approved|authori[sz]ed|granted|pre-approved)|"
    r"we(?:'ve| have)? (?:approved|authori[sz]ed)|(?:esta|fue|queda|quedo|ha sido|ya) (?:\w+ )?(?:aprobad[oa]|autorizad[oa])|aprobamos|"
    r"autorizamos)\b",
    "appointment": r"(?:\b|')(?:(?:esta|ta|fica|ficou|ja|foi|horario|consulta|visita|reserva|agendamento|reuniao|presenca|vaga|entrega|mesa|tudo|"
    r"voce|sessao|exame|aula|pedido) (?:\w+ ){0,2}?(?:confirmad|agendad|marcad|remarcad|reagendad)[oa]s?|"
    r"(?:confirmad|agendad|marcad|remarcad)[oa] (?:para|pra|dia|na|no|as|com)|(?:agendei|marquei|remarquei|confirmei|encaixei|agendamos|marcamos)\b|"
    r"(?:te|lhe|o|a) (?:espero|esperamos|aguardo|aguardamos|encaixo|encaixamos)|consigo te encaixar|"
    r"(?:you're|you are|is|are|it's|all|been|i've|we've|have|your \w+ is|now) (?:\w+ )?(?:confirmed|booked|scheduled|rescheduled|set for|penciled in)|"
    r"(?:booked|scheduled|confirmed) (?:for|you|in|on|your)|see you (?:at|on|tomorrow|then|there|monday|tuesday|wednesday|thursday|"
    r"friday|saturday|sunday)|(?:esta|queda|quedo|ha sido|cita|visita|reserva|mesa|ya|reunion) (?:\w+ )?(?:confirmad|agendad|programad|reagendad)[oa]s?|"
    r"(?:agend|program|confirm)(?:e|amos) su|(?:lo|la|le|los|te|les) (?:espero|esperamos))\b",
    "appointment_ready": r"\b(?:tudo (?:certo|pronto|acertado|ok) (?:para|pro|pra|com)|todo (?:listo|confirmado|arreglado) (?:para|con)|all set (?:for|with))\b",
    "concession": r"\b(?:(?:vou|vamos|podemos|posso|consigo|conseguimos|iremos) (?:te |lhe |sim )?(?:inclu|acrescent|adicion|cobr(?:ir)|arc|banc|assum|abat|descont|estend|isent|"
    r"compens|dobr|zer|mant|ressarc|perdo|antecip|bonific|reembols|renov)\w*|(?:incluo|incluimos|acrescento|acrescentamos|adicionamos|adiciono|cubro|arco com|arcamos|bancamos|banco a|"
    r"assumimos|assumo o|compensamos|abato|abatemos|dobramos|descontamos|bonificamos|antecipamos)|(?:eu|a gente|nos) (?:cubro|cobre|cobrimos|inclui)|"
    r"(?:get|fit|squeeze|work) you in\b|(?:'ll|will|can|we|i) (?:\w+ )?(?:get (?:that|the|this|your) \w+ (?:removed|waived|refunded|cancell?ed)|cover|include|add (?:a|an|one|two|the|extra|another)|absorb|compensate|double|reduce|lower|beat|honou?r|comp|bump)|"
    r"(?:cubrimos|cubro|incluimos|agregamos|anadimos|asumimos|compensamos|duplicamos|descontamos|bonificamos|sumamos)|"
    r"(?:vamos a|voy a|podemos) (?:incluir|agregar|anadir|cubrir|asumir|compensar|duplicar|descontar|bonificar|regalar)|"
    r"(?:seguro|garantia|plano|convenio|insurance|warranty|plan|poliza) (?:\w+ )?(?:cobre|covers|cubre)|"
    r"(?:cancel|retir|remov)(?:amos|ei) (?:a|o|essa|esse|sua|seu|os|as) (?:\w+ )?(?:cobranca|multa|taxa|juros|tarifa|mensalidade|fatura))\b|'ll (?:cover|include|add|absorb|throw)\b",
    "appointment_stated": r"\b(?:confirmad[oa]s?|agendad[oa]s?|confirmed|booked|all set|listo)\s*[:!,]",
    "deal": r"\b(?:(?:ta|esta) fechado (?:entao|por|nesse|com|assim)|fechado entao|fechado por|negocio fechado|fechamos (?:por|em|nesse|assim)|"
    r"combinado entao|deal then|it's a deal|you(?:'ve| have)? got a deal|trato hecho|queda cerrado|trato cerrado)\b",
    "discount": r"\b(?:(?:dou|damos|faco|fazemos|consigo|conseguimos|aplico|aplicamos|apliquei|liber\w+|ganha|oferec\w+|conced\w+|tem|temos|tera|"
    r"recebe|vou dar|vamos dar|dar|fazer|da pra fazer|posso fazer) (?:\w+ ){0,4}?(?:desconto|abatimento|preco especial|valor especial|condicao especial)|"
    r"com (?:\w+ )?desconto|(?:mesmo|manten\w+ o|segur(?:o|a|ar|amos) (?:o|esse|este|seu)|baix\w+ o) (?:preco|valor)|preco (?:promocional|de custo|fixo)|"
    r"(?:give|offer|apply|applied|take|knock|get|getting|do|honou?r|extend) (?:\w+ ){0,4}?(?:discount|off|deal|price)|same price|"
    r"lock(?:ed)? (?:in|that)|half[- ]price|(?:hago|hacemos|doy|damos|aplic\w+|ofrec\w+|tiene|tendra|dejo|dejamos) (?:\w+ ){0,4}?(?:descuento|rebaja|precio)|"
    r"(?:preco|valor|mensalidade|price|fee|rate|precio|cuota) (?:\w+ )?(?:fica|permanece|continua|segue|sera|stays|remains|will stay|se mantiene|queda|sigue) (?:\w+ )?(?:mesm[oa]|igual|same|mism[oa])|mismo precio|manten\w+ el precio|con (?:\w+ )?descuento)\b",
    "exchange": r"\b(?:a gente (?:troca|conserta|devolve|refaz|cobre|paga|busca|entrega|resolve|banca|assume|repoe|arca|segura)|(?:vou|vamos) (?:trocar|substituir|consertar|repor|refazer|corrigir)|trocamos|substituimos|repomos|refazemos|consertamos|"
    r"(?:mand|envi)(?:o|amos|aremos|arei) (?:um |uma )?(?:outr[oa]|nov[oa])|(?:pode|podem) (?:trocar|devolver|cancelar)|"
    r"(?:will|'ll|can|we) (?:\w+ )?(?:replace|exchange|redo|remake)|send (?:you |out )?(?:a |an )?(?:new|another|replacement)|"
    r"(?:puede[sn]?) (?:devolver|cambiar|cancelar)\w*|(?:le |te )?(?:cambiamos|reponemos|sustituimos|reparamos)|(?:vamos|voy) a (?:cambiar|reponer|sustituir|reparar))\b",
    "done": r"\b(?:ja (?:\w+ )?(?:apliquei|cancelei|troquei|lancei|creditei|removi|tirei|retirei|inclui|estendi|prorroguei|ajustei|baixei|coloquei|"
    r"deixei|deixamos|cancelamos|aplicamos|mandei|enviei|liberei|ativei|renovei)|"
    r"(?:i've|we've|i have|we have|just|already) (?:\w+ )?(?:waived|applied|added|upgraded|credited|extended|issued|cancell?ed|removed|shipped|renewed|"
    r"activated|adjusted|lowered|knocked|reduced|put|processed|secured)|(?:ya|he|hemos) (?:le |te )?(?:\w+ )?(?:aplicado|apliqu\w+|cancelado|cancel[eo]|devuelto|"
    r"acreditado|agregado|extendido|enviado|descontado|quitado|activado)|ya (?:le|te|les) (?:quite|quitamos|descont\w+|aplique|cancele|devolvi|active|baje|agregue))\b",
    "extension": r"\b(?:(?:prorrog|estend|extend)(?:o|amos|emos|ei|i|imos|ido|ida|e|ed|aremos|emos)\w* (?:\w+ ){0,2}?(?:prazo|vencimento|deadline|term|trial|plazo|"
    r"validade|garantia|warranty|by|until|ate|hasta)|(?:vale|valido|valida|valendo) ate|valid (?:until|through)|valid[oa] hasta|(?:upgrade|upgrading|upgraded) you)\b",
}

HABITUAL: Final = {
    "pt": r"\b(?:todos? (?:os |as )?(?:dias?|semanas?|sabados?|domingos?|segundas?)|toda (?:semana|segunda|terca|quarta|quinta|sexta|manha|noite)|das? \d{1,2}[h:\d]* (?:as|a|ate)|de \w+ a (?:sexta|sabado|domingo)|as \d{1,2}h?(?:\d\d)? e (?:as )?\d{1,2}h?|aos (?:sabados|domingos)|as (?:segundas|tercas|quartas|quintas|sextas)|costuma\w*|normalmente|geralmente|em geral)\b",
    "en": r"\b(?:every (?:day|week|morning|monday|tuesday|wednesday|thursday|friday|saturday|sunday|night)|(?:mon|tues|wednes|thurs|fri|satur|sun)days|usually|normally|generally|from \d.{0,8} to \d|daily|weekly)\b",
    "es": r"\b(?:todos los \w+|cada (?:dia|semana)|de lunes a|de \d{1,2} a \d|los (?:lunes|martes|miercoles|jueves|viernes|sabados|domingos)|normalmente|generalmente|suele\w*)\b",
    "others": r"^\s*(?:[oa]s? |the |el |la |los |las |um |uma |seu |your )?(?:voo|onibus|trem|metro|filme|missa|feriado|aulas?|curso|jogo|show|feira|evento|prova|vestibular|inscric\w+|tinta|gesso|cimento|cola|massa|bateria|remedio|banco|inss|detran|correios|receita|cartorio|"
    r"verao|inverno|train|flight|bus|movie|film|game|match|class|course|paint|glue|battery|medicine|bank|court|museum|library|holiday|summer|winter|tren|vuelo|autobus|pelicula|partido|misa|pintura|bateria|juzgado|festival|concert|plane|aviao|avion)\b",
    "hours": r"\b(?:fechad|abert|abrimos|abre|fechamos|fecha|atendemos|funciona|closed|opens?|closes|cerrad|abiert|cierra|abrimos|atiende)\w*",
}
"""When a business works, and what always happens: a date in such a sentence is no date for this customer."""

OTHER_MEANING: Final = {
    "asked_elsewhere": r"\b(?:pergunte|confira|verifique|veja|consulte|ask|check|pregunte|averigue)\b.{0,40}\b(?:se|if|whether|si)\b",
    "title": r"\b(?:livro|book|libro|filme|film|pelicula) [\"']",
    "due": r"\b(?:invoice|bill|payment|rent|fatura|boleto|factura|aluguel|cuota|parcela) (?:\w+ )?(?:is due|vence|vencem)\b",
    "law": r"\b(?:the law|by law|a lei|la ley|por lei|por ley)\b|\bgarantid[oa]s? (?:por lei|pel[ao])|\bguaranteed by|\bgarantizad[oa]s? por",
    "idiom": r"\bo que (?:mais )?nao falta\b|\bfeel free\b",
}
"""Words of a family that speak of the law, or are said so."""

HAPPENED: Final = r"\b(?:foi|foram|fue|fueron|was|were|esteve|estive|estuvo|veio|chegou|llego|vino|lament\w+|sentimos|sinto|desculp\w+|disculp\w+|sorry|apologi\w+)\b"

PUBLIC: Final = (
    r"\b(?:parque|biblioteca|museu|museo|museum|library|prefeitura|shopping|public[oa]s?|ayuntamiento|city)\b"
)
"""What is free there is not given by the business."""
