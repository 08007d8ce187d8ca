# ruff: noqa: E501 (rule data: a pattern reads best on one line)
"""What an internal thing looks like in a text: form, not meaning. Data of gate 9, by category.

`STRUCTURE` is matched on folded text, `CASED` on the raw text (capitals decide), `PHRASES` on folded text.
`LOANWORDS` are foreign in Portuguese and Spanish, so they alone betray the machine; in English, and for the words of
`NEAR_SYSTEM` in every language, another system word must stand in the same sentence.
"""

from typing import Final

STRUCTURE: Final = {
    "raw_data:uuid": r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b",
    "raw_data:object_id": r"\b(?:[0-9a-f]{24}|[0-9a-f]{32}|[0-9a-f]{40}|[0-9a-f]{64})\b",
    "raw_data:chat_id": r"\b\d{5,}(?::\d+)?@(?:c\.us|s\.whatsapp\.net|g\.us|lid|newsletter|broadcast)\b|\bstatus@broadcast\b",
    # what a clock writes for programs: a date with seconds, an offset, a weekday in English with seconds, seconds since 1970
    "raw_data:timestamp": r"\b\d{4}-\d{2}-\d{2}(?:t\d{2}:\d{2}| \d{2}:\d{2}:\d{2})|\b\d{2}:\d{2}(?::\d{2})?(?:\.\d+)?(?:[+-]\d{2}:\d{2}|z)\b|\b(?:mon|tue|wed|thu|fri|sat|sun),? (?:\d+ )?(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[\w ]{0,9}\d{2}:\d{2}:\d{2}|"
    r"\b(?:atualiza\w+|sincroniz\w+|timestamp|updated|synced|criad[oa]|created|expir\w+)(?: \w+){0,2}:? 1[5-9]\d{8}(?:\d{3})?\b",
    "raw_data:json": r"[{\[]\s*[\"'][\w .-]+[\"']\s*:|[\"'][\w-]+[\"']\s*:\s*(?:[\"'\[{]|\d|true\b|false\b|null\b|none\b)|\[\s*\{|\[\s*[\"'][^\"'\n]{0,60}[\"']\s*(?:,\s*[\"'][^\"'\n]{0,60}[\"']\s*)*\]|\{\s*\}|\{\s*[a-z_]+\s*:\s*[^{}\n]{1,60}\}",
    "raw_data:fence": r"```",
    "raw_data:escape": r"\\u[0-9a-f]{4}|\\x[0-9a-f]{2}|\\[nrt](?:[^a-z]|$)",
    "raw_data:tag": r"</?[a-z][a-z0-9_:-]*(?:\s+[^<>\n]{0,200})?/?>|<!--|\[/?(?:thinking|thought|reasoning|scratchpad|analysis|internal)\]|[(\[*](?:pensando|pensa|thinking|thinks|reasoning|raciocinio|reflexao|reflexion|razonamiento|internamente|internally|pensamiento|pensamento)[)\]*]|<\|[a-z_]{2,40}\|>|\[/?(?:inst|system|tool_calls?|tool_results?|assistant)\]|<</?sys>>",
    # calls, definitions and arrows: what no sentence has
    "raw_data:code": r"\bdef \w+ ?\([^)\n]{0,80}\)\s*:|\bfunction \w* ?\([^)\n]{0,80}\)\s*\{|\bif ?\([^()\n]{1,60}\) ?\{|\b(?:for|if|while) \w+ (?:in|==|!=|<|>|is none|is not) ?[\w.]* ?:|;\s*\}|\b(?:enviar|send|return|print)\w*\(\w+\)|\bconsole\.(?:log|error|warn)\b|\bprint\(|\b(?:const|let|var) \w+ ?= ?\S|"
    r"\)\s*=>\s*[\w({]|\bimport \{? ?\w+ ?\}? from\b|\bfrom [\w.]+ import\b|\bawait \w+[.(]|\bself\.\w+|\b[a-z]\w+\.[a-z]\w+\(\)|#!/(?:bin|usr)|"
    r"\bcurl (?:-\w|https?:)|\b(?:get|post|put|patch|delete) (?:/[a-z]|https?://)",
    # ids that a program gives: a prefix, a hyphen, letters with digits; the name of a place where programs run
    "raw_data:program_id": r"\b(?:req|run|msg|sess|conv|trace|span|job|evt|thread|call|chatcmpl|asst|wamid)[-.][a-z]*\d[0-9a-z]{4,}\b|\b[a-z0-9]+(?:-[a-z0-9]+)*-(?:prod|staging|stg|hml|dev)\b|"
    r"\b(?:sessao|session|sesion) (?:default|[a-z]+[-_]\d+)\b|\bids? (?:d[aoe]|of (?:the|your)|del?|de la) (?:lead|contato|conversa|contact|conversation|conversacion|tenant|sessao|session|mensagem|message|mensaje|execucao|webhook|turno)\b",
    "raw_data:key_value": r"\b(?:uid|lead id|tenant id|session id|request id|trace id|message id|contact id|conversation id)\s*[:=#]\s*[\w-]+|\b(?:msg|chat|user|lead|contact|session|contato|conversa|sessao|mensagem) ?id\b[ :=#]*\w*\d|\(id[ :#=]*\d+\)|\b(?:id|codigo|code) intern[oa]l?\b|\binternal (?:id|code)\b|\b\w+=\w+[ ,;&]+\w+=\w",
    # what a program prints instead of a sentence: a bare value, a level before its message, a count of rows
    "raw_data:printed": r"^\s*(?:true|false|null|undefined|none|nan|\[\s*\]|\{\s*\})\s*$|(?:^|\n)\s*\[?(?:debug|info|warn|warning|error|fatal|trace)\]?\s*(?::|\]|\b(?:rate|retry|failed|sent|timeout|request|resposta|response))|\(?\b\d+ (?:rows?|results) (?:returned|found|affected)|\(0 rows\)|"
    r"[:=]\s*\[\s*\]|\[(?:imagem|imagen|image|audio|video|sticker|figurinha|documento|document|midia|media)\b[^\[\]\n]{0,30}\]|\b(?:tentativa|attempt|intento) \d+ (?:de|of|/) \d+ (?:de|to|para)\b|\breturned an? (?:empty|null)\b",
    "raw_error:argument": r"\b(?:missing|invalid|required) (?:required )?(?:parameter|argument|field|property)\b|\b(?:campo|parametro|argumento|propriedade) (?:obrigatori[oa] )?(?:[\"'`]\w+[\"'`] )?(?:ausente|faltando|invalid[oa]|requerid[oa]|obrigatorio)\b|\bexpected (?:string|number|object|array|int|boolean)\b|\btoken (?:invalid|expirad|vencid)o\b|"
    r"\(#\d{3,}\)|\b(?:truncad[oa]|truncated)\b|\b(?:excedeu|exceeded|excede) (?:o |the |el )?(?:limite|limit|maximum) (?:de |of )?(?:\w+ )?(?:caracteres|tokens|characters|contexto|context)\b",
    "raw_error:trace": r"traceback \(most recent|\bat [\w.$<>]+ ?\((?:/|[a-z]:\\|file:|node:|<anonymous>)|\bfile \"[^\"\n]+\", line \d+|"
    r"\b(?:excecao|exception|excepcion) (?:ao|na|no|ocorreu|lancada|thrown|raised|occurred|while|in|al|en) \w+|\b(?:erro|error) (?:ao|al|while) (?:execut\w+|cham\w+ a|invoc\w+|pars\w+|ejecut\w+|call\w+ the)|"
    r"\b(?:stack ?trace|segmentation fault|core dumped|panic: )",
    "raw_error:socket": r"\be(?:connrefused|connreset|connaborted|timedout|notfound|hostunreach|netunreach|pipe|ai_again|noent|acces|addrinuse)\b|"
    r"\b(?:sqlstate|errno|exit code|null ?pointer|out of memory|deadlock detected|duplicate key|constraint violation|connection refused|"
    r"connection reset|read timed out|request timed out|rate limit(?:ed)? exceeded|too many requests|internal server error|bad gateway|"
    r"gateway timeout|service unavailable|unprocessable entity|unauthorized request|unhandled exception|session status is not|invalid date|ora-\d{5}|goroutine \d+|violates (?:\w+ ){1,3}constraint|unhandled (?:\w+ )?(?:rejection|exception|error)|cannot read propert\w+|is not (?:a function|iterable|callable)|unexpected (?:token|end of (?:input|file|json))|"
    r"no such (?:file|table|column|host)|max(?:imum)? (?:retries|context length|tokens)|out of range|division by zero|broken pipe|socket hang up|syntax error|context length|quota exceeded|"
    r"internal error|(?:erro|error) interno|invalid (?:token|json|signature|api key|request)|connection timed out)\b",
    "raw_error:status": r"\b(?:erro|error|http|status|status code|falha|failure|fallo|failed with|codigo de erro|retornou|returned|devolvio|respondeu)"
    r"(?:\s+(?:code|http|codigo|interno|status|de|com|with|um|a|del servidor|do servidor|servidor)){0,3}\W{0,3}[45]\d\d\b|"
    r"\b[45]\d\d\s+(?:forbidden|unauthorized|not found|bad request|conflict|error|timeout)\b|\bhttp/?[12]?\.?\d?\s*[1-5]\d\d\b",
    "raw_error:hex": r"\b0x[0-9a-f]{4,}\b",
    "raw_error:unset": r"\[object object\]|\bundefined\b(?: is not| method|!|,|\.|$)|(?:^|[,:=$] ?|(?:\b(?:oi|ola|hi|hello|hey|hola|dear|prezad[oa]|caro|cara|sr\.?|sra\.?|"
    r"dia|tarde|noite|dias|tardes|noches|morning|chega em|valor e|total e|saldo e|pedido e|data e|nome e|order is|name is|total is|pedido es|nombre es|total es) ))(?:null|undefined)(?:[\s.,!?;:]|$)|\bnull (?:dias|days|reais|horas|hours|itens|items|unidades|units|pessoas)\b|\br\$ ?(?:nan|none|null|undefined|x{2,})",
    "placeholder": r"\{\{[^{}\n]{1,60}\}\}|\{%[^%\n]{1,60}%\}|\$\{[^{}\n]{1,60}\}|\{[a-z][\w .]{0,40}\}|\{\d\}|%\([\w.]+\)s|<%=?|%%[\w]+%%|"
    r"\[(?:nome|name|first|last|full|primeiro|sobrenome|apellido|nombre|cliente|customer|client|data|date|fecha|valor|value|amount|empresa|company|produto|product|producto|hora|time|telefone|phone|"
    r"telefono|insert|inserir|insertar|insira|seu|sua|your|su|tu|link|endereco|address|direccion|cidade|preco|price|precio|placeholder|xx+|saudacao|"
    r"assinatura|signature|firma|numero|number|horario|servico|service|atendente|loja|store)\b[^\[\]\n]{0,30}\]|(?:^|[\s(:=)])%(?:\d\$)?[sdf](?:[\s,.!?):;]|$)|(?:^|[\s,(])[$#](?:nome|name|cliente|customer|nombre|first_?name|primeiro_?nome|valor)\b#?|#\{[^{}\n]{1,60}\}|\*\|\w+\|\*|\[(?:choose|select|escolh|selecion|elij|elegir|optional|opcional|if applicable|se aplicavel)[^\[\]\n]{0,40}\]|\b(?:ola|oi|hi|hello|hey|hola|dear|prezad[oa]|sr\.?|sra\.?),? x{3,}\b|\blorem ipsum\b|\b(?:todo|fixme):|"
    r"\bxx/xx(?:/xx+)?\b|\bdd/mm(?:/a{2,4}|/y{2,4})?\b|\byyyy-mm-dd\b|\bhh:mm\b|\(x{2,}\)|\bx{4,}-x{4,}\b",
    "internal_url": r"\b(?:https?|wss?)://(?:localhost|127\.|10\.|192\.168\.|172\.(?:1[6-9]|2\d|3[01])\.|0\.0\.0\.0|\[::|[a-z0-9_-]+(?::\d+)?(?:/|\s|$))|"
    r"\b(?:https?://)?[a-z0-9-]+(?:\.[a-z0-9-]+)*\.(?:internal|local|svc|cluster|lan|corp|intranet|localdomain)\b|\blocalhost\b|"
    r"\b(?:127\.0\.0\.1|192\.168\.\d+\.\d+|10\.\d+\.\d+\.\d+|172\.(?:1[6-9]|2\d|3[01])\.\d+\.\d+)\b|"
    r"\bhttps?://(?:staging|dev|homolog|hml|internal|sandbox|admin|crm|backoffice|grafana|kibana|n8n)[.-]|\b(?:file|s3|gs|postgres(?:ql)?|redis|nats|amqp|mongodb|mysql|jdbc|kafka)://",
    "secret": r"\b(?:sk|pk|rk)[-_](?:live|test|proj|ant)?[-_]?[a-z0-9]{10,}|\bakia[0-9a-z]{12,}|\bgh[pousr]_[a-z0-9]{16,}|\bxox[abprs]-[\w-]{8,}|"
    r"\bbearer [\w.~+/-]{12,}|\beyj[\w-]{8,}\.[\w-]+|-----begin |\b(?:api[ _-]?key|access[ _-]?token|client[ _-]?secret|secret[ _-]?key)\s*[=:]\s*\S{4,}|"
    r"\b(?:token|secret)\s*[=:]\s*[\w.-]{16,}|\b(?:password|passwd|pwd|senha|contrasena|clave)=\S+|\b(?:senha|password|contrasena|clave) (?:d[oae]|del|of the|for the) (?:painel|sistema|banco de dados|servidor|admin|crm|api|database|server|panel)\s*[:=]?\s*\S*\d",
    "raw_data:sql": r"\bselect (?:\*|count\()|\bselect\b[^.;\n]{1,120}\bfrom \w+ where \w+ ?[=<>]|\binsert into \w+ ?\(|\bupdate \w+ set \w+ ?=|"
    r"\bdelete from \w+(?: where|;)|\bdrop table\b|\balter table\b|\bleft join \w+ on\b",
    "raw_data:path": r"(?:^|[\s(\"'=:])/(?:home|app|apps|usr|var|etc|opt|srv|tmp|root|mnt|data|src|workspace|api|v\d|internal|admin|proc|lib)(?:/[\w.-]+)+|"
    r"\b[a-z]:\\[\w\\.-]+|\b[a-z]:/[\w.-]+/[\w.-]+|(?:^|[\s(\"'])~/[\w.-]+|(?:^|[\s(\"'])(?:\.{0,2}/)?[\w-]+(?:/[\w.-]+)+\.(?:py|ts|js|tsx|go|rb|java|sql|ya?ml|toml|env|sh|php|md|json)\b|"
    r"\b[\w-]+\.(?:py|ts|tsx|jsx|go|rb|java|php|js):\d+",
}  # fmt: skip

CASED: Final = {
    "raw_error:exception": r"\b[A-Z][A-Za-z]*[a-z](?:Error|Exception|Warning|Fault)\b",
    "placeholder:name": r"\b__[A-Z][A-Z_]{2,}__|\b[A-Z]{2,}(?:_[A-Z]{2,})+\b",
    "raw_error:not_a_number": r"\bNaN\b",
    "raw_error:none": r"[,:$=] ?None\b|\b(?:Olá|Oi|Hi|Hello|Hey|Hola|Dear|Prezad[oa]|Car[oa]|Sra?\.?|dia|tarde|noite|dias|tardes|noches|morning|afternoon|"
    r"evening|é|is|es|de|em|para|for|with|com|a|o) None(?:[.,!?:;]|$)",
    "snake_case:camel": r"\b(?:get|set|send|list|create|update|delete|move|fetch|find|search|handle|is|has|remove|call)[A-Z][a-z]\w*\b|"
    r"\b[a-z]{3,}(?:[A-Z][a-z]+)*(?:Id|Ids|Key|Url|Type|Name|Status|Token|Count|Value|Config|Handler|Service|At|By)\b|"
    r"\b(?:[A-Z][a-z]{2,}){1,4}(?:Id|Ids|Uuid|Url|Token|Config|Handler|Payload|Schema)\b",
    "snake_case:environment": r"\b[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+=|\b(?:PATH|HOME|TOKEN|KEY|SECRET|DEBUG|ENV|PASSWORD)=\S",
    "raw_data:sql_upper": r"\bSELECT\s.{1,120}\sFROM\s|\bINSERT INTO\b|\bUPDATE \w+ SET\b|\bDELETE FROM\b|\bWHERE \w+ ?[=<>]",
}  # fmt: skip

_FRAGMENTS: Final = {
    "role": r"(?:manager|admin|agent|owner|viewer|operator|superuser|superadmin|root|member|supervisor role|staff)",
    "few": r"(?:\s+[\w'\"]+){0,4}?\s+",
    "text": r"(?:mensagem|resposta|versao|rascunho|message|reply|response|answer|draft|version|mensaje|respuesta|borrador|redacao)",
    "judged": r"(?:reprovad|vetad|barrad|bloquead|rejeitad|recusad|rechazad|sinalizad|filtrad)[oa]|(?:rejected|blocked|vetoed|flagged|filtered|denied)",
    "about": r"(?:intencao|intencion|intent|sentimento|sentimiento|sentiment|categoria|category|urgencia|urgency|prioridade|prioridad|priority|spam|toxic\w*|lead|topic|label|classe|class)",
}
FRAGMENTS: Final = _FRAGMENTS

PHRASES: Final = {
    "self_reference:prompt": r"\b(?:meus?|my|mi|nosso|system|do sistema|initial|internal) prompts?\b|\bprompts? (?:de sistema|do sistema|del sistema|system|inicial|interno|template)\b|"
    r"\b(?:o|the|el|no|in the|in my|en el) prompt (?:diz|says|dice|manda|pede|indica|tells|nao|does|que recebi|i was)|\bsystem (?:prompt|message)\b",
    "self_reference:instructions": r"\b(?:instruc(?:oes|ao|ciones|cion)|diretrizes|directrices) internas?\b|\b(?:minhas|mis) (?:regras|reglas) internas\b|"
    r"\b(?:instruc(?:oes|ao|ciones|cion)|diretrizes|regras|directrices|reglas) (?:de sistema|do sistema|del sistema|do prompt|do meu sistema)\b|"
    r"\b(?:internal|system|hidden|developer) (?:instructions?|guidelines?)\b|"
    r"\b(?:minhas|my|mis|nossas) (?:instruc(?:oes|ciones)|instructions|diretrizes|guidelines|directrices|programming|programacao)(?: \w+){0,2}? "
    r"(?:diz|dizem|mandam|proibe|proibem|nao|impedem|pedem|say|tell|don't|do not|forbid|prevent|prohibit|dicen|me|no|require|exigem|indican|indicam|state)\b|"
    r"\b(?:de acordo com|conforme|segundo|segun|according to|as per|per|based on|seguindo|following|com base em) (?:as |the )?(?:minhas|my|mis) (?:\w+ )?"
    r"(?:instruc(?:oes|ciones)|instructions|diretrizes|guidelines|directrices|programming|programacao|training|treinamento)|"
    r"\b(?:fui|estou|i was|i have been|i am|i've been|i'm|fui|estoy|he sido) (?:\w+ )?(?:instruid[oa]|programad[oa]|treinad[oa]|configurad[oa]|entrenad[oa]|programmed|trained|instructed|"
    r"configured|not (?:allowed|permitted) to (?:reveal|mention|disclose))\b|\b(?:my|meus|minha|mi) (?:training|dados de treinamento|base de treinamento|entrenamiento|"
    r"knowledge cutoff|data de corte)\b|\bknowledge cut-?off\b",
    "architecture:parts": r"\b(?:busca|pesquisa|busqueda) (?:semantica|vetorial|vectorial)\b|\b(?:semantic|embedding|similarity) search\b|"
    r"\bjobs? (?:de|do|of) (?:sincroniz|process|import|export|envio|backup|fila)\w*|\b(?:falha|erro|fallo|error|failure) (?:no|na|do|da|en el|en la|in the) (?:job|worker|pipeline|backend|cron|banco de dados|fila)\b|"
    r"\b(?:fila|queue|cola) (?:de |of )?(?:mensagens|messages|mensajes|eventos|events|jobs|processamento)\b|"
    r"\b(?:saida|output|resposta|salida) (?:do|of the|del) (?:modelo|model|llm)\s*:|\b(?:minha|my|mi) (?:instrucao|instruction|instruccion) (?:e|is|es)\b|"
    r"\b(?:seu|este|esse|o|do|ao|tu|su|el|del|al) lead\b",
    "self_reference:makers": r"\b(?:meus|minhas|my|mis) (?:desenvolvedor|programador|criador|developer|creator|programmer|desarrollador|creador)\w*\b|\b(?:developer|system|assistant) (?:message|role)\b|\bmensage(?:m|ns) d[eo] (?:sistema|desenvolvedor)\b|"
    r"\b(?:minhas?|my|mis?) (?:configurac(?:ao|oes)|configuration|settings|configuraci(?:on|ones)|parametros|parameters|restric(?:ao|oes|ciones)|restrictions|politicas? internas?) (?:nao|do(?:es)?n't|do not|no|me|impede\w*|prevents?|only|so)\b",
    "architecture:parts_of_ours": r"\b(?:reiniciei|reiniciamos|restarted) (?:o |a |the |our )?(?:container|worker|pod|servidor|server|instancia|instance|servico|bot|processo)\b|\bmessage broker\b|\b(?:sessao|session|sesion) (?:do |of |de |del )?(?:whatsapp|whats|zap)\b|"
    r"\b(?:instancia|instance)\b[^.!?\n]{0,25}\b(?:desconectad|disconnected|reconectad|offline|caiu)\w*|\b(?:role|rol|papel) (?:de )?[\"']?(?:agente|gerente|administrador|operador|supervisor)[\"']? (?:nao|no|does)\b",
    "architecture:place": r"\bambiente de (?:homologacao|staging|testes?|producao|desenvolvimento|pruebas|produccion)\b|\b(?:staging|production|dev) (?:environment|server|database)\b|\bvariave(?:l|is) de ambiente\b|\benvironment variables?\b|\bvariables? de entorno\b|"
    r"\b(?:chave|clave|token|credencia(?:l|is)|credenciales) (?:d[aeo]|de la) (?:api|aplicacao|integracao)\b|\b(?:os|nos|dos|meus|los|mis) logs\b|\b(?:no|do|del) log (?:d[aeo]|consta|de|do|mostra|aparece)\b|\b(?:server|error|application) logs?\b|"
    r"\b(?:servidor|server) (?:\w+ ){0,2}?(?:caiu|fora do ar|nao respond\w+|retornou|falhou|is down|timed out|crashed|cayo|fallo|devolvio|no responde)\b|"
    r"\b(?:pipeline|funil|funnel|embudo) (?:de |of )?(?:vendas|sales|ventas|leads)\b|\bsales (?:pipeline|funnel)\b|\b(?:nosso|our|nuestro) (?:funil|funnel|embudo)\b|\bhuman[- ](?:approval|in[- ]the[- ]loop)\b|\b(?:aprovacao|aprobacion) humana\b",
    "self_reference:context": r"\b(?:meu|my|mi) (?:contexto|context(?: window)?|banco de dados|base de dados|database|memoria interna|sistema de busca)\b|"
    r"\b(?:ignor\w+|desconsider\w+|disregard\w*) (?:as |the |all |las |todas as )?(?:\w+ )?(?:instruc(?:oes|ciones)|instructions)(?: anteriores| previas)?\b|"
    r"\b(?:o|the|el) (?:modelo|model) (?:gerou|retornou|respondeu|falhou|alucinou|generated|returned|failed|hallucinated|genero|devolvio|respondio)\b|"
    r"\b(?:aguard\w+|esper\w+|waiting for|awaiting) (?:um |a |uma |o |an |que )?(?:um |una? )?(?:human[oa]?|operador[a]?|operator|reviewer|revisor[a]?|moderador[a]?)\b.{0,20}?\b(?:aprov\w+|approv\w+|revis\w+|review|apruebe|autoriz\w+)",
    "self_reference:named": r"\b(?:sou|soy|i am|i'm|am) (?:o |a |el |the )?(?:chatgpt|gpt\S*|claude|gemini|llama|copilot)\b|\b(?:entrenad|treinad|desenvolvid|criad|desarrollad|cread|feit|trained|made|created|built|developed)\w* (?:pel[oa]|por|by) (?:a |la |o )?(?:openai|anthropic|mistral|deepseek)\b|"
    r"\b(?:meu|my|mi) (?:conhecimento|knowledge|conocimiento) (?:\w+ )?(?:vai|va|goes|ends|stops|termina|llega|acaba|limited)\b|\b(?:meu|my|mi) (?:modelo|model) (?:nao|does|do|no|de (?:ia|linguagem|lenguaje)|only|so|foi|was|fue)\b|"
    r"\b(?:moderacao|moderacion) automatica\b|\bautomatic(?:ally)? moderat\w+|\b(?:retriever|recuperador) (?:returned|found|no|nao|retornou|trajo|trouxe)\b|\b(?:no|zero|\d+) chunks (?:\w+ )?(?:found|returned|matched)\b|\bnenhum (?:documento|trecho|chunk) (?:recuperado|retornado)\b",
    "self_reference:generated": r"\b(?:gpt-?\d[\w.]*-\w+|claude-[\w.-]*\d|gemini-\d[\w.-]*|llama-?\d[\w.-]*|mistral-\w+)|\b(?:gerad|escrit|generat|generad)\w* (?:com|with|con|at) (?:a )?temperatur\w*\b|\b(?:temperature|temperatura) ?= ?\d|"
    r"\b(?:como|sendo|siendo) (?:um |uma |un |una )?(?:assistente|asistente) de (?:ia\b|inteligencia artificial)",
    "self_reference:model": r"\b(?:como|sendo|siendo|por ser) (?:um |uma |un |una )?(?:modelo|ia\b|i\.a\.|inteligencia artificial|llm|chatbot|grande modelo)|"
    r"\bas an? (?:ai\b|large language|language model|llm|artificial intelligence|chatbot|machine learning)|"
    r"\b(?:sou|soy|i'm|i am|i'm just|apenas|somente|being) (?:apenas |solo |just |only |so )?(?:um |un |an? )?(?:modelo de (?:linguagem|ia|lenguaje)|(?:large )?language model|llm)\b|"
    r"\b(?:o|the|el|meu|my|nosso|our|mi) (?:modelo de (?:linguagem|ia|lenguaje)|language model|llm|ai model)(?: \w+)? (?:nao|gerou|respondeu|retornou|generated|returned|failed|"
    r"can't|cannot|no|genero|devolvio|que uso|i use)\b|\b(?:gpt-?\d|openai|anthropic|claude|gemini|llama ?\d)\b[^.!?\n]{0,30}\b(?:api|model|modelo|gerou|generated|token|respondeu)|"
    r"\b(?:powered by|rodando (?:em|no)|baseado no|running on|uso o|usando o|via|modelo) (?:o |the )?(?:gpt|openai|anthropic|claude|chatgpt|gemini|llama)|"
    r"\b(?:janela de contexto|context window|ventana de contexto|limite de tokens|token limit|max tokens|temperatura do modelo|alucin(?:ei|acao do modelo)|hallucinat\w+)\b",
    "tool_name:called": r"\b(?:cham(?:ei|ar|ando|ada)|acion(?:ei|ar|ando)|execut(?:ei|ar|ando|e)|rod(?:ei|ar|ando)|invo(?:quei|car|cando)|us(?:ei|ar|ando)|llam(?:e|ar|ando|o)|ejecut(?:e|ar|ando)|"
    r"call(?:ed|ing)?|invok(?:ed|ing|e)|using|used|ran|running|execut(?:ed|ing)|trigger(?:ed|ing)?)\s+(?:a |o |as |the |my |minha |la |el |uma |an? )?(?:\w+ )?"
    r"(?:(?:ferramenta|herramienta|funcao|funcion|tool|function)s? (?:de |para |interna|to |for |del )?(?:consult|busc|pesquis|agend|calcul|envi|pedid|catalog|search|lookup|look up|query|interna|"
    r"handoff|crm|order|calendar|sistema|knowledge|conhecimento|produt|get|fetch|\w+_)|(?:search|lookup|\w+) (?:tool|function)\b|(?:api|skill|plugin|endpoint|rotina interna)\b)",
    "tool_name:returned": r"\b(?:ferramenta|herramienta|tool|funcao|funcion|function|api|consulta interna|integracao|integration|integracion|busca interna|automacao|query|requisicao)s?"
    r"(?: (?:(?:de|do|da|del) [\w ]{1,30}?|[\w-]+))? (?:ela |me |nao |did not |didn't |no |has |tool )?(?:retorn(?:ou|a|aram)|devolve(?:u)?|devolvio|respondio|respondeu|returned|returns|responded|falhou|fallo|failed|"
    r"deu erro|dio error|timed out|errored|nao respondeu|caiu|threw|nao devolveu|return)\b|\b(?:tool|function)[ -](?:call|calls|calling|result|output|response)s?\b|"
    r"\b(?:resultado|retorno|saida|output|result|salida) (?:da|de la|of the|from the|do) (?:ferramenta|tool|funcao|function|herramienta|funcion|query|api)\b|\bquery (?:the |our )?\w+ table\b|\b(?:um|a|un) (?:select|insert|join) (?:na|no|en|on|in|from)\b|\bchamada (?:de|da|a) (?:ferramenta|funcao|api)\b|\bllamada a la (?:herramienta|funcion|api)\b",
    "architecture:database": r"\b(?:base|banco|store|indice|database|index) (?:de dados )?(?:vetorial|vectorial|de vetores|de vectores|de embeddings)\b|\bvector (?:store|database|db|search|index)\b|"
    r"\b(?:encontr\w+|consult\w+|ach(?:ei|ou|amos)|consta|busquei|busc\w+|procurei|registr\w+|grav\w+|salv\w+|atualiz\w+|retorn\w+|found|find|look\w+|search\w+|quer\w+|saved?|stored?|updated?|encontre|busque|guard\w+)\b"
    r"[^.!?\n]{0,25}\b(?:na|no|da|do|nosso|nossa|in|the|our|from|en|la|el|nuestra|de|to) (?:our |nosso |nossa |nuestra |the )?(?:banco de dados|base de dados|database|base de datos|base de conhecimento|"
    r"knowledge base|base de conocimiento|tabela de \w+|crm|cache)\b|\b(?:base de conhecimento|knowledge base|base de conocimiento)\b|"
    r"\b(?:tabela|table|tabla|coluna|column|columna|campo|field) (?:de |do |da )?[\"'`]?\w+_\w+|\b(?:tabela|table|tabla) (?:de |do |of )?[\"'`]?(?:leads|users|contacts|orders|messages|customers|conversations|tenants|appointments)\b",
    "architecture:crm": r"\b(?:nosso|no|do|nuestro|our|in the|in our|en el|to the|al) crm\b(?:[^\s]|\s*[^\d\s/-]|$)|\b(?:mov(?:i|er|endo|ido|a)|moved?|moving|mueve|mover|movi)\s+(?:o |a |seu |sua |your |the |su |tu |el )?"
    r"(?:contato|card|lead|cadastro|deal|negocio|atendimento|contact|contacto|oportunidade|opportunity|registro)\b[^.!?\n]{0,40}\b(?:etapa|estagio|funil|pipeline|coluna|stage|crm|embudo|column|kanban|quadro)|"
    r"\b(?:automacao|automation|automatizacion|gatilho|trigger|integracao|fluxo|workflow)\b[^.!?\n]{0,40}\b(?:disparad[oa]|disparou|acionad[oa]|executad[oa]|executou|triggered|fired|executed|falhou|failed)\b",
    # what a business computes about a person: a share or a mark of its chance to buy, leave or pay
    # what people of the business say of a customer among themselves
    "internal_note:judged": r"\b(?:price[- ]sensitive|sensivel a preco|sensible al precio|(?:sem|sin) potencial|(?:mau|mal|bom|buen) pagador|inadimplente (?:recorrente|contumaz)|(?:low|high)[- ]value (?:customer|client|lead)|(?:alto|baixo|bajo) valor de vida|(?:cliente|customer|client) (?:chat[oa]|insistente|dificil|"
    r"problematic\w+|enrolad[oa]|regatead\w+|difficult|annoying|pushy|frio|quente|morno|molest[oa]))\b|\b(?:our|nossas|nuestras|sus|suas) (?:notes|anotacoes|notas) (?:\w+ )?(?:say|dizem|dice|dicen|mostram|show|indicam)\b|\bltv\b|"
    r"\b(?:vendedor|atendente|agente|operador|seller|agent|rep)[a]? (?:anotou|registrou|escreveu|noted|wrote|logged|anoto)\s*:|\b(?:marquei|taguei|etiquetei|classifiquei) (?:voce|vc)\b|\bte (?:marquei|taguei|classifiquei|etiquetei|clasifique|etiquete) (?:como|de)\b|"
    r"\b(?:you're|you are|you were|voce esta|voce foi|usted esta|usted fue) (?:\w+ )?(?:tagged|flagged|segmented|scored|etiquetad|segmentad|classificad|clasificad)\w* (?:as|como|in|no|with|en|em)\b|\bsegmento \S+ d[ae] (?:nossa |nuestra )?base\b|"
    r"\b(?:painel|dashboard|ferramenta|planilha|ficha|cadastro|sistema|panel) intern[oa]\b|\binternal (?:dashboard|tool|spreadsheet|panel|system|record)s?\b|\blead (?:record|profile|card|file|data)\b|"
    r"\b(?:etapa|estagio|stage|fase) (?:\w+ )?(?:no|do|in|of the|in the|del|en el) (?:funil|pipeline|funnel|embudo|kanban|crm)\b",
    "internal_note:handled": r"\b(?:marc|transfer|atribu|etiquet|mov|rote|enfileir|tag|assign|asign|flag|rout)\w* (?:o |a |el |la |the )?(?:seu|sua|your|su|tu) (?:contato|conversa|card|negocio|deal|contact|conversation|contacto|conversacion)\b|"
    r"\b(?:tags?|etiquetas?|marcador(?:es)?) (?:do|da|of|del?) (?:seu|sua|o|your|su|tu|el) (?:contato|cadastro|contact|contacto|perfil|card)\b|\b(?:agente|agent) (?:operador|conversador|supervisor|operator|orchestrator)\b|\b(?:operator|supervisor) agent\b|"
    r"\b(?:mensagem|conversa|contato|message|conversation|contact|mensaje|conversacion|contacto) (?:foi|esta|ficou|fue|was|is|has been) (?:\w+ )?(?:classificad|categorizad|marcad|etiquetad|rotulad|clasificad|flagged|tagged|labell?ed|classified|categorized|routed|enfileirad)\w*|"
    r"\b(?:analise|analisis) de (?:sentimento|sentimiento|intencao|intencion)\b|\bsentiment analysis\b|\b(?:fluxo|flujo) automatico (?:foi|esta|parou|fue|caiu|falhou)\b|\bjobs? (?:pendentes?|pending|pendientes?|na fila|em fila|queued|travad\w+)\b",
    "internal_note:computed": r"\b(?:score|pontuacao|puntuacion|probabilidade|probabilidad|probability|likelihood|propens(?:ao|ion|ity)|risco|riesgo|risk|chances?) (?:score |rating )?(?:de |of |for |to )(?:\w+ )?(?:fecha\w+|compra\w*|conver\w+|churn|"
    r"cancela\w+|vendas?|clos\w+|buy\w*|purchas\w+|cierre|cerrar|recompra|renova\w+|renewal|evasao|abandono|inadimpl\w+|engaja\w+|engagement)\b[^.!?\n]{0,25}\d|"
    r"\b(?:churn|engagement|propensity|intent|sentiment|lead|conversion|toxicity|upsell|fit) (?:risk )?(?:score|scoring|rating|probability)\b|\bscore (?:de |of )?(?:engaja\w+|propensao|churn|sentimento|leads?|intencao|risco|conversao)\b|"
    r"\bmarcad[oa] como (?:lead|insistente|dificil|problematic\w+|(?:baixa|alta) prioridade|spam|churn|frio|quente|morno)\b|\b(?:como|as an?) (?:\w+ )?lead\b|\blead (?:perdid[oa]|ganh[oa]|lost|won|cold|warm|hot|caliente|tibio|calificado)\b|"
    r"\b(?:price floor|floor price|internal (?:cost|margin|price|discount)|(?:custo|margem|preco|desconto|costo|margen|precio|descuento) intern[oa])\b",
    "internal_note:lead": r"\b(?:seu|este|esse|o|do|ao|um|novo|your|this|the|tu|su|el) lead\b(?: (?:esta|ta|is|foi|was|tem|has|score|status|e\b|qualificad|frio|quente|morno|qualified|stage|source|nao|no|entrou|"
    r"veio|id|owner|es|fue|tiene)|[.,!?]|$)|\blead (?:score|scoring|qualificad[oa]|status|stage|id|frio|quente|morno|owner|source)\b|\b(?:score|pontuacao|puntuacion)\s+(?:do |de |del |of )?(?:lead|contato|cliente|customer|contact)\b",
    "internal_note:classified": r"\b(?:classifi(?:quei|cad[oa]|cou|ed|camos|que)|clasifi(?:que|cad[oa]|co)|categori(?:zei|zad[oa]|zed|ce)|detect(?:ei|ad[oa]|ed|amos|e|ou)|identifi(?:quei|cad[oa]|ed|que)|flagged|marked|marquei|tagged|"
    r"etiquet\w+|rotul\w+|labell?ed)\b[^.!?\n]{0,40}\b{about}\b|\b{about} (?:detectad[oa]|identificad[oa]|detected|classificad[oa]|classified|recognized|reconhecid[oa])\b|"
    r"\b(?:confianca|confidence|confianza)\s*(?:score|level|de|of|:|=|do modelo|is|em|at)?\s*(?:[:=]|de|of)?\s*(?:0?[.,]\d+|\d{1,3} ?%)|\b(?:0?[.,]\d+|\d{1,3} ?%) (?:de )?(?:confianca|confidence|confianza)\b|"
    r"\b(?:nivel|grau|score|level|grado) (?:de |of )?(?:confianca|confidence|confianza)\b|\bintent(?: classifier)?\s*[:=]|\b(?:classificador|classifier|clasificador)(?: de inten\w+| marcou| flagged| said| retornou| disse| devolvio| marco|[.,!]|$)|\b(?:by|pelo|por el) (?:our |nosso |the |nuestro )?(?:classifier|classificador|clasificador)\b|\b(?:classificador|classifier|clasificador) (?:\w+ ){0,2}?(?:achou|disse|entendeu|pensou|indicou|apontou|detectou|errou|decidiu|leu|thought|says|decided|picked|read|failed|creyo|penso|entendio|dijo|decidio|detecto)\b|\b(?:classificou|clasifico|classified|categorizou|flagged) (?:\w+ ){0,4}?(?:como|as) \w+",
    "internal_note:note": r"\b(?:nota|observacao|anotacao|comentario|mensagem|mensaje|observacion|recordatorio|instruccion|aviso|lembrete|informacao|uso|documento|politica|procedimento|regra) intern[oa]s?\b|"
    r"\b(?:uso|memo|documento|comentario) interno\b|\binternal (?:note|only|use|memo|comment|message|policy|document|reminder|remark)s?\b|\bfor internal\b|\bpara (?:o )?(?:uso|time|equipe) intern[oa]\b|"
    r"\b(?:nao|no|do not|don't|never|nunca) (?:mostr\w+|envi\w+|compartilh\w+|revel\w+|show|send|share|reveal|forward|diga|decir|mencion\w+|mention|tell|oferec\w+|offer) (?:\w+ ){0,4}?(?:ao|para o|pro|al|"
    r"to the|with the|com o|con el|the) (?:cliente|customer|client|lead|usuario|user|contato)\b",
    "internal_note:approval": r"\b(?:fila|queue|cola|lista|etapa) (?:de |for |of |da )?(?:aprovacao|approval|aprobacion|moderacao|revisao humana|human review)\b|\bapproval (?:queue|panel|workflow)\b|"
    r"\b(?:minha|esta|my|this|mi|sua|a|the|la|nossa) (?:\w+ ){0,2}?{text} (?:\w+ ){0,3}?(?:{judged})\b|\b(?:{judged})\s+(?:a |o |my |the |this |la |mi |minha |este |esta )?(?:\w+ ){0,2}?{text}\b|"
    r"\b(?:aprov|liber|recus|reprov|vet|rejeit|approv|reject|aprob|aprueb|rechaz)\w* (?:[oa] |el |la )?(?:meu|minha|mi|my) (?:\w+ )?(?:rascunho|texto|resposta|mensagem|draft|reply|answer|message|borrador|respuesta|mensaje)\b|\bliberar (?:esta|essa|a) (?:resposta|mensagem)\b|"
    r"\b(?:reprovou|vetou|barrou|bloqueou|rejeitou|recusou|rechazo|bloqueo|veto) (?:a |o |la |mi |minha |el |esta |este )?(?:\w+ ){0,2}?{text}\b|"
    r"\b(?:{judged})\s+(?:pel[oa]s?|por|by|en|na|no|in)\s+(?:the |our |la |el |o |a |nosso |nossa )?(?:\w+ )?(?:filtro|sistema|politica|guardrail|gate|moderacao|filter|policy|system|moderation|guardrails|regra|validador|seguranca|compliance)|"
    r"\b(?:content|safety) (?:filter|policy|moderation|guardrail)s?\b|\bfiltro de (?:conteudo|seguranca|contenido)\b|\b(?:rascunho|draft|borrador) (?:da|de|desta|of|del|of the|of my|of your) (?:\w+ )?(?:resposta|mensagem|reply|message|response|respuesta|mensaje)\b|"
    r"\b(?:draft (?:reply|response|answer|message)|(?:rascunho|draft|borrador) (?:pendente|pending|aguardando|para aprova\w+))\b|\b(?:aguardando|awaiting|pending|esperando) (?:\w+ )?(?:aprovacao|approval|aprobacion) "
    r"(?:do operador|humana|interna|from (?:the )?operator|by (?:a )?human|del operador|humana)\b",
    "reasoning:transcript": r"\b(?:usuario|user|cliente|customer|human|humano)\s*:[^\n]{0,200}\b(?:assistente|assistant|asistente|agente|agent|bot|ai)\s*:|"
    r"(?:^|[\n|.!?,;] ?)(?:sentiment|sentimento|sentimiento|intent|intencao|intencion|urgency|urgencia|lead score|persona|confidence|confianca)\s*[:=]\s*\w|"
    r"(?:^|\n)(?:response|reply|message|resposta|mensagem|respuesta|mensaje) (?:to|for|para|ao|al|pro) (?:the |o |el )?(?:customer|client|user|cliente|usuario)\s*:",
    "reasoning:header": r"(?:^|\n)[\s*_#>-]*(?:reasoning|thinking|thoughts?|raciocinio|pensamento|chain of thought|scratchpad|razonamiento|pensamiento|action input|"
    r"(?:final|suggested|proposed|draft|revised) (?:answer|reply|response|message)|(?:resposta|mensagem|respuesta|mensaje|texto) (?:final|sugerid[oa]|propost[oa]|revisad[oa]|ao cliente|para o cliente|para enviar|al cliente)|"
    r"sugestao de (?:resposta|mensagem)|rascunho|borrador|assistant|system|output|tool|observation|(?:context|contexto) (?:interno|da conversa|do cliente|for the (?:model|agent)|de la conversacion)|objetivo da resposta|(?:tom|tone) (?:da|of|de la) \w+|intent|intencao|estrategia|strategy|analysis|analise d[oa] (?:cliente|conversa|mensagem|pedido|solicitacao|caso|situacao|contexto|intencao|usuario|sentimento|lead)|"
    r"justificativa|internal|resumo interno)(?: \d{1,2})?(?: ?\([^()\n]{1,40}\))?\s*[*_]*\s*:",
    # deliberation before the answer: what the writer tells itself to be or do
    "reasoning:deliberation": r"\b(?:devo|deveria|i should|i must|debo|deberia) (?:(?:ser|soar|be|sound|sonar) (?:mais |more )?(?:simpatic|gentil|educad|empatic|breve|cordial|clar[oa]|objetiv|cuidados|brief|polite|friendly|careful|empathetic|concise|helpful|nice|amable|cort)\w*|"
    r"(?:responder|answer|reply|respond) (?:com|de forma|brevemente|educad\w+|briefly|politely|with|con|in)|(?:manter|keep|mantener) (?:o |a |el |the )?(?:tom|tone|tono|resposta|reply|respuesta|short)|(?:evitar|avoid) (?:promet\w+|mencion\w+|fal\w+|mention\w+|promis\w+)|"
    r"(?:pedir desculpas|apologi[sz]e|disculparme)|(?:oferecer|offer|ofrecer) (?:dois|duas|um|uma|two|an?|dos|un|una) (?:horario|slot|opc|option|desconto|discount|alternativ|descuento)\w*)|"
    r"\b(?:o|este|esse|el|the|this) (?:usuario|user) (?:\w+ )?(?:quer|quiere|wants|deseja|desea|pediu|perguntou|mencionou|needs|said|mentioned|pidio|pregunto|menciono|is)\b|"
    r"(?:^|\n)(?:o|a|the|el|la) (?:cliente|customer|client|contato|contacto) (?:quer|quiere|wants|deseja|desea|pediu|pidio|asked|parece|seems|insist\w+|perguntou|is (?:asking|angry|upset|asking))\b",
    "reasoning:third_person": r"\b(?:the (?:user|customer|client|lead)|(?:o|este|esse) (?:usuario|cliente|lead|contato)|(?:el|este) (?:usuario|cliente|contacto)) (?:\w+ )?(?:seems?|appears?|wants?|is asking|is requesting|asked|"
    r"just asked|sounds|demonstr\w+|parece|pediu|perguntou|esta (?:pedindo|perguntando|irritad|querendo|interessad|solicitando|insatisfeit|frustrad|bravo|brava)|quer saber|quer (?:um |o )?(?:preco|desconto)|"
    r"deseja saber|pregunta|pide|quiere saber|pregunto|pidio|esta (?:preguntando|pidiendo|molest))\b|(?:^|[>\n:.]\s*)(?:cliente|customer|user|usuario|lead) (?:quer|quiere|wants|parece|seems|pediu|pidio|asked|esta|insist\w+|perguntou)\b|"
    r"\b(?:vou|devo|preciso|i should|i will|i'll|i need to|debo|voy a|so i will|entao vou|let me) (?:\w+ )?(?:responder com|manter (?:o )?tom|usar (?:um )?tom|usar empatia|respond with|keep (?:the|a) tone|be empathetic|mostrar empatia|"
    r"apologi[sz]e first|desculpar-me primeiro|oferecer uma resposta|classificar|acknowledge the|mantener (?:el|un) tono|follow the (?:policy|instructions))\b",
    "self_reference:rules": r"\b(?:minhas|my|mis) (?:regras|rules|reglas) (?:dizem|nao|say|don't|do not|no|me|proibem|prohiben|forbid|dicen|mandam)\b|\b(?:o|the|el) (?:sistema|system) (?:me |que me )(?:pediu|mandou|disse|instruiu|indica|pidio|told|asked|orienta|orientou|manda|impede|proibe)\b|\b(?:told|instructed|asked|autorizad[oa]|instruid[oa]) (?:by|pelo|por el) (?:the |my |o |meu |el |mi )?(?:system|sistema)\b|"
    r"(?:^|\n)(?:regra|rule|regla) \d+\s*:|\b(?:memoria|memory) (?:de longo prazo|do agente|long[- ]term|atualizada|updated|actualizada|a largo plazo)\b|\blong[- ]term memory\b|\bmodo (?:de )?(?:teste|debug|sandbox|prueba) (?:ativad|ligad|activad)\w*|\b(?:gerando|generating|generando) (?:a |uma |la |una )?(?:resposta|response|respuesta)\b",
    "internal_note:read_off": r"\b(?:nivel|grau|level) de urgencia\s*:|\b(?:slots?|entidades|entities) (?:preenchid|extraid|filled|extracted)\w*|\b(?:sua |your |su )?(?:intencao|intent|intencion) ?: ?\w+|\bperfil comportamental\b|\b(?:cliente|contato|customer) classificad[oa]\b|\b\d{1,3} ?%(?: \w+)? (?:de )?(?:chances?|probabilidade|probabilidad|chance|likely|likelihood) (?:de|of|to) (?:\w+ )?(?:compr|fech|buy|convert|cancel|clos|conver)\w*|"
    r"\b(?:nosso|our|nuestro|o) (?:algoritmo|algorithm) (?:calculou|decidiu|classificou|flagged|decided|calculo|marcou|sugeriu|suggested|scored)\b|\b(?:hubspot|salesforce|pipedrive|zendesk|rd station|kommo|bitrix)\b|\b(?:tarefa|task|tarea) intern[oa]\b|\b(?:proximo|next|siguiente) agente?\s*:|\b(?:bot|agente) (?:\d+|de (?:vendas|suporte|triagem|cobranca|ventas))\b[^.!?\n]{0,3}\(|"
    r"\b(?:operador|atendente|operator) humano \d|\b(?:disparei|disparou|acionei|iniciei|triggered|started) (?:o |the |el )?(?:fluxo|flow|flujo)\b|\btemplate (?:de mensagem )?(?:nao )?(?:aprovad|rejeitad|approved|rejected)\w*|\bjanela de 24 ?h(?:oras)?\b|\b24[- ]hour window\b",
    "reasoning:assistant": r"\b(?:reescrevi|reformulei|rewrote|reworded|rephrased|reescribi|reformule) (?:a|o|the|your|el|la|sua|su) (?:mensagem|texto|resposta|message|reply|text|mensaje|respuesta)\b|\bmake (?:it|this|the (?:message|reply|text)) (?:more |less )?(?:formal|polite|concise|friendly|friendlier|professional)\b|"
    r"\b(?:mensagem|resposta|texto|message|reply|mensaje|respuesta) (?:(?:mais|more|mas) (?:curt|long|formal|amigavel|educad|friendly|breve|cort|amable)\w*|(?:em|en|in a) (?:um |un )?(?:tom|tono|\w+ tone)\b)|\b(?:tom|tone|tono) d[ae] (?:mensagem|resposta|mensaje|respuesta)\b|\bespero que (?:esta|essa|a) (?:resposta|mensagem|versao) atenda\b|"
    r"\b(?:here(?:'s| is)|below is|abaixo (?:esta|segue)|aqui (?:esta|tienes|tiene|vai)|segue|a continuacion)(?: abaixo)? (?:o |a |the |el |la |un |uma? )?(?:\w+ )?(?:texto|text|mensaje|message|mensagem|reply|resposta|respuesta|version|versao)(?: \w+)?\s*:\s*$|"
    r"\b(?:sugestao|opcao|option|opcion|suggestion|sugerencia) (?:de |of |for )?(?:a )?(?:resposta|mensagem|respuesta|mensaje|reply|response|message)(?: \d+)?\s*:|"
    r"\b(?:analise|analysis|analisis|objetivo|goal|plano|plan|estrategia|strategy|contexto|context|raciocinio|thought|pensamento)\s*:[^\n]{0,200}[\n.!?;|] ?(?:resposta|mensagem|response|reply|message|answer|respuesta|mensaje)\s*:|"
    r"\b(?:o|the|el|este|esse|this) (?:cliente|customer|client|usuario|user|contato|lead) (?:esta|is|seems|parece|ta|sounds) (?:\w+ )?(?:irritad|brav[oa]|frustrad|chatead|angry|upset|frustrated|annoyed|molest|enojad|com pressa|apressad|impacient|insatisfeit|unhappy|in a hurry|confus)\w*|"
    r"\b(?:preciso|tenho que|i need to|i have to|tengo que|melhor|mejor|better) (?:ser|soar|be|sound|sonar) (?:mais |more )?(?:simpatic|gentil|educad|empatic|breve|cordial|objetiv|brief|polite|friendly|empathetic|concise|amable)\w*",
    "reasoning:addressed": r"(?:^|\n)(?:lembrete|nota|aviso|recado|instruc(?:ao|oes)|note|reminder|instructions?|recordatorio|instruccion(?:es)?) (?:para|to|for|ao|pro|al) (?:[oa] |the |el |la )?"
    r"(?:atendente|vendedor[a]?|operador[a]?|agente|agent|equipe|time|modelo|model|assistente|assistant|asistente|equipo|operator|team|staff)\s*:|\b(?:check|identify|verify|verificar|identificar|detectar|classify|classificar|clasificar) (?:the |a |o |la |el )?(?:\w+ )?(?:intent|intencao|intencion)\b",
    "reasoning:plan": r"\b(?:passo|step|paso|etapa) \d+\s*[:.)-][^.!?\n]{0,60}\b(?:intencao|intent|intencion|empatia|empathy|o cliente|the (?:customer|user)|el (?:cliente|usuario)|o usuario|tom|tone|tono|resposta|response|respuesta|ferramenta|tool)\b",
    "reasoning:revised": r"\b(?:aqui (?:esta|vai|segue|tiene[s]?|va)|segue|here(?:'s| is| you go)|sigue)[\s:,]+(?:a |o |the |your |an? |la |el |un |uma |my |su |tu |uma )?(?:\w+ ){0,2}?{text}"
    r"(?:[^.!?\n:]{0,40})?(?:revisad|reescrit|corrigid|corregid|ajustad|sugerid|atualizad|revised|rewritten|updated|suggested|corrected|safer|better|shorter|for the customer|para o cliente|para el cliente|conforme solicitado|"
    r"as requested|como pediu|solicitad|with a|com (?:um )?tom|mais (?:curta|educada|formal)|:)|\bhere(?:'s| is) (?:a|the|my|your) (?:\w+ )?(?:reply|response|draft|answer)(?:\s*:|$| (?:you (?:can|could|may)|for the (?:customer|client|user)|to (?:send|the (?:customer|client|user))))|"
    r"\b(?:revised|rewritten|reworded) (?:message|reply|response|answer|version)\b|\b(?:mensagem|resposta|mensaje|respuesta) (?:reescrita|revisada|reformulada)\b|"
    r"\blet me know if you(?:'d| would) like (?:me to )?(?:adjust|rewrite|revise|change the tone|any changes to the (?:message|reply))|\b(?:quer|deseja|gostaria) que eu (?:ajuste|reescreva|reformule|mude o tom|refaca a mensagem)|"
    r"\bso here is a (?:\w+ )?(?:one|answer|version)\b",
    "system_role:scope": r"\b[a-z]+:(?:read|write|admin|delete|manage|override|all|\*)(?:\b|$)",
    "system_role:rights": r"\bpermis(?:sao|soes|os?|sions?|siones) (?:e |es |is )?(?:so |solo |apenas |only )?(?:de )?(?:admin\w*|leitura|lectura|escritura|escrita|read|write)\b",
    "system_role:access": r"\b(?:perfil|role|papel|rol|profile|escopo|scope|permiss(?:ao|ions?)|permisos?|acesso|access|nivel de acesso|access level|privilege|privilegio)s?(?: \w+)?(?: (?:atual|actual|current))?"
    r"\s*(?:e|is|es|de|of|:|=|do tipo|como|as|level|required:?|requerido)?\s*[\"'`(]*(?:{role})\b(?: [^d]|[^\w ]|$)|\b(?:requer|exige|precisa de|requires?|required|needs?|requiere|necesita|require|exigem)\s+(?:\w+ ){0,3}?[\"'`]?(?:{role})[\"'`]?"
    r"(?:'s)?(?: (?:role|permission|access|scope|privileges?|rights|level)|[\"'`]|[.,)]|$)|\b(?:{role}) (?:role|permission|scope|privilege|access level|rights)s?\b|"
    r"\b(?:role|permission|permissao|escopo|scope|permiso|privilege)s? (?:[\"'`]?\w+[\"'`]? )?(?:insuficiente|insufficient|not sufficient|denied|negad[oa])|\binsufficient (?:role|permission|scope|privilege)s?\b|"
    r"\b(?:nao tenho|nao tem|no tengo|i don't have|i do not have|missing|sem|falta|lack) (?:\w+ ){0,2}?(?:escopo|scope|role|permissao de (?:escrita|leitura|api)|write access|read access|permisos de (?:escritura|lectura))\b",
}  # fmt: skip

LOANWORDS: Final = (
    "webhook", "webhooks", "endpoint", "endpoints", "payload", "payloads", "uuid", "guid", "json", "yaml", "mcp", "llm", "backend",
    "back-end", "stacktrace", "traceback", "middleware", "localhost", "regex", "api key", "rate limit", "vector store", "embedding",
    "embeddings", "guardrail", "guardrails", "fallback", "tenant", "tenants", "system prompt", "prompt", "enrollment", "schema", "timeout",
    "parser", "cron", "cronjob", "serverless", "kubernetes", "docker", "postgres", "postgresql", "redis", "supabase", "nats", "kafka", "graphql",
    "sql", "boolean", "deploy", "rollback", "hardcoded", "debug", "handoff", "tool call", "function call", "dataset",
    "query", "queries", "request id", "access token", "openapi", "crawler", "scraper", "retry", "retries", "webhook_sources",
    "undefined", "waha", "baileys", "backlog", "orchestrator", "orquestrador", "orquestador", "subagent", "subagente", "websocket", "oauth", "jwt", "pgvector",
    "pinecone", "pull request", "microservice", "microservices", "microservico", "microservicos", "worker", "workers", "microsservico", "microsservicos", "microservicio", "runtime", "api", "apis",
    "workflow id", "trigger", "event log", "namespace", "frontend", "front-end", "n8n", "langchain", "rag", "thread id",
)  # fmt: skip
"""Words that Portuguese and Spanish business talk does not use."""

ALWAYS: Final = (
    "webhook", "webhooks", "uuid", "guid", "llm", "mcp", "stacktrace", "stack trace", "traceback", "webhook_sources", "localhost",
    "vector store", "tool call", "function call", "api key", "system prompt", "n8n", "langchain", "jsonb", "waha", "pgvector", "graphql", "postgresql", "supabase",
)  # fmt: skip
"""Words that betray the machine in every language."""

NEAR_SYSTEM: Final = (
    "pipeline", "schema", "prompt", "payload", "tenant", "fallback", "guardrail", "guardrails", "gate", "migration", "migrations", "migracao",
    "endpoint", "endpoints", "json", "backend", "back-end", "middleware", "timeout", "cache", "token", "tokens", "header", "headers", "query", "parser", "script",
    "deploy", "rollback", "trigger", "handoff", "embedding", "embeddings", "api", "apis", "cron", "retry", "enrollment",
    "workflow", "yaml", "regex", "null", "boolean", "dataset", "namespace", "rate limit",
)  # fmt: skip

HALVES_ARE_NEIGHBOURS: Final = frozenset(("dataset", "parser"))
"""Terms that two ordinary words make when they meet: "data: set. 2026", "um par, ser"."""

SYSTEM: Final = (
    r"\b(?:api|apis|endpoint|webhook|payload|json|servidor|server|banco de dados|database|base de datos|request|requisicao|requisicoes|"
    r"solicitud http|integracao|integration|integracion|prompt|modelo de linguagem|language model|bot|crm|backend|null|timeout|timed out|"
    r"retorn(?:ou|a|aram)|returned|devolvio|executa\w*|execuc\w+|executed|disparou|disparad[oa]|triggered|acionad[oa]|deploy\w*|tool|ferramenta de|herramienta de|"
    r"parse\w*|configurad[oa]s?|configured|inbound|outbound|stack|exception|excecao|guardrails?|gate|schema|token|query|tenant|uuid|sql|"
    r"automac\w+|automation|my (?:first |previous )?(?:answer|reply|response|draft)|minha (?:primeira )?resposta|mi (?:primera )?respuesta|resposta padrao|default (?:reply|response|answer)|"
    r"respuesta (?:por defecto|predeterminada)|vazi[oa]|empty response|http|status code|migration|migrac\w+|fallback|embedding\w*|llm)\b"
)  # fmt: skip

INNOCENT: Final = {
    "truck": r"\b(?:truck|caminh\w+|camion\w*|kg|quilos|kilos|tons?|toneladas?|drone|vehicle|veiculo|vehiculo|cargo|carga|lbs?|satellite|foguete|rocket|van)\b",
    "course": r"\b(?:curso|cursos|course|courses|aula|aulas|workshop|livro|libro|book|apostila|bootcamp|faculdade|taller|palestra|podcast|edicao)\b",
    "place": r"\b(?:bar|cafe|pub|restaurante|restaurant|hostel|hotel|loja|store|club|clube|festival|studio|rua|avenida|street)\b",
    "estate": r"\b(?:lease|rent|apartment|landlord|building|property|condo|aluguel|inquilino|unit|flat|house)\b",
    "pipes": r"\b(?:gas|oil|oleo|petroleo|agua|water|queijo|producao|production|duto|sewage|esgoto)\b",
}  # fmt: skip
