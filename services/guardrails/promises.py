# ruff: noqa: E501 (rule data: a pattern reads best on one line)
"""Commissive phrases: what a reader could rely on as the business's commitment, offer term or done concession.

A family is a surface form; the guards of `clauses` remove refusals, questions, reports and instructions. Forms whose
own words deny ("won't charge", "não cobramos") contain the denial, so that the guard looks only before them.
"""

from dataclasses import dataclass
from typing import Final

from services.guardrails.amounts import amounts
from services.guardrails.clauses import NO, is_guarded
from shared.patterns import Hit, Patterns
from shared.text import Folded, fold

_FRAGMENTS: Final = {
    "when": r"(?:antes d[oa]s? \w+|before (?:the|your) \w+|antes de(?:l| la) \w+|hoje|amanha|depois de amanha|agora mesmo|logo cedo|(?:ate|dentro de|antes de|em|no maximo|daqui a|antes d[oa]) "
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
    "any": r"(?:[^.!?;\n]{0,60}?)",
}

_FAMILIES: Final = Patterns(
    {
        "deadline_pt": r"\b{deed_pt}\b{any}\b{when}|\b{when}\b{any}\b{deed_pt}\b",
        "deadline_en": r"(?:\b|')?{deed_en}\b{any}\b{when}|\b{when}\b{any}{deed_en}\b",
        "deadline_es": r"\b{deed_es}\b{any}\b{when}|\b{when}\b{any}\b{deed_es}\b",
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
        "guarantee": r"\b(?:garanto|garantimos|garantid[oa]s?|garantiremos|garantia (?:de|total|vitalicia|incluida|estendida)|"
        r"(?:com|tem|tera|possui) (?:\w+ )?garantia|sem falta|(?:com|pode ter|dou) certeza|prometo|prometemos|prometid[oa]|asseguro|asseguramos|"
        r"dou minha palavra|pode (?:confiar|ficar tranquil[oa])|palavra de honra|cobr(?:imos|o|iremos) (?:qualquer|o preco|a oferta|a proposta)|"
        r"guarantees?|guaranteed|promise|promised|you have my word|match (?:any|that|the|their|your)|price[- ]match|rest assured|lifetime|"
        r"(?:\d+|one|two|three|five|ten)[- ](?:month|year|day)s? warranty|warranty (?:of|covers|included|is)|under warranty|"
        r"(?:comes|come) with a|garantiz(?:o|amos|ad[oa]s?|aremos)|garantia (?:de|por)|sin falta|aseguramos|le aseguro|te aseguro|"
        r"igualamos|(?:tiene|con) (?:\w+ )?garantia|cuente con)\b",
        "absolute": r"\b(?:nunca (?:mais|vai|vamos|cobr\w+|aument\w+|sub\w+)|(?:nao|nem) (?:vai |vao )?(?:mais )?(?:doer|arder|estragar|sob\w+|subir|subira|aument\w+|"
        r"acontec\w+|falt\w+|falh\w+|mud\w+ (?:o|de) (?:preco|valor)|quebr\w+|se repet\w+|repet\w+|vaz\w+ mais|alter\w+ (?:o|de) (?:preco|valor)|"
        r"ter(?:a|ao)? (?:mais )?(?:nenhum )?(?:problema|custo|surpresa)|haver\w+ (?:custo|cobranca|reajuste|aumento))|sem reajuste|congelad[oa]s?|(?:preco|valor) fixo|"
        r"(?:will never|never|won't|will not|not going to) (?:ever )?(?:\w+ )?(?:charge|go up|happen|change|increase|rise|fail|break|leak|cost|pay (?:more|extra|a cent|a penny|anything)|"
        r"be charged)|(?:no|nunca|jamas) (?:le |se |va a |volvera a |vuelve a )?(?:sub\w+|aument\w+|ocurr\w+|pasar\w*|fall\w+|cobrar\w+|cambi\w+ de precio))\b",
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
    },
    _FRAGMENTS,
)


# Families whose own words deny something and so promise: a denial inside the find is the promise itself.
_DENYING: Final = frozenset({"freebie", "fee", "absolute", "done"})
_DENIED_INSIDE: Final = Patterns({"denied": r"\b(?:nao|nunca|jamais|not|never|aun|todavia)\b|n't\b|" + NO})


@dataclass(frozen=True, slots=True)
class Promise:
    """One commissive phrase: offsets and excerpt are of the raw text."""

    kind: str
    start: int
    end: int
    excerpt: str


def detect_promises(text: str) -> list[Promise]:
    folded = fold(text)
    hits = [*_FAMILIES.hits(folded.text), *(Hit("price", each.start, each.end) for each in amounts(folded.text))]
    return [_promise(folded, text, hit) for hit in hits if _commits(folded.text, hit)]


def _commits(text: str, hit: Hit) -> bool:
    if _family(hit) not in _DENYING and _DENIED_INSIDE.found_in(text[hit.start : hit.end]):
        return False
    return not is_guarded(text, hit.start, hit.end)


def _family(hit: Hit) -> str:
    return hit.name.partition("_")[0]


def _promise(folded: Folded, text: str, hit: Hit) -> Promise:
    start, end = folded.span(hit.start, hit.end)
    return Promise(_family(hit), start, end, text[start:end])
