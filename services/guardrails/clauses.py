# ruff: noqa: E501 (rule data: a pattern reads best on one line)
"""Who says what in a sentence: guards that keep a refusal, a question or a customer's wish from reading as a promise."""

from typing import Final

from shared.patterns import Patterns
from shared.text import sentence_at

# "no" denies in Spanish and English and means "in the" in Portuguese: only what follows it tells.
NO: Final = (
    r"\bno (?:puedo|podemos|puede|pueden|podria\w*|se|le|les|lo|la|los|las|te|me|nos|hay|tenemos|tengo|tiene|tienen|hacemos|hago|ha|han|he|hemos|esta|estan|estamos|"
    r"es|fue|fueron|voy|vamos|va|van|quiero|quisiera|ofrecemos|damos|doy|garantiz\w+|promet\w+|entregamos|aplic\w+|aprob\w+|confirm\w+|cobr\w+|incluye\w*|"
    r"discounts?|refunds?|guarantees?|promises?|appointments?|deliver\w+|warranty|confirmation|longer|way|free|one|price|bookings?|reservations?|estimate)\b"
)
_NEGATED_BEFORE: Final = Patterns(
    {
        "no": NO + r"(?:\s+[\w']+){0,4}\s*$|\bno\s+$",
        "pt": r"\b(?:nao|nem|nunca|jamais|sem|impossivel|deixou de|ninguem)\s+(?:\w+\s+){0,4}$",
        "en": r"\b(?:not|never|cannot|unable|without|nor|neither|nobody|no one)\s+(?:[\w']+\s+){0,4}$",
        "en_contraction": r"n't\s+(?:[\w']+\s+){0,4}$",
        "es": r"\b(?:nunca|jamas|sin|tampoco|imposible|ni|nadie)\s+(?:\w+\s+){0,4}$",
    }
)
_HEDGED: Final = Patterns(
    {
        "pt": r"\b(?:talvez|quem sabe|pode ser que|provavelmente|possivelmente|depende|dependendo|sujeit[oa]s? a|a confirmar|"
        r"ainda nao (?:sei|ha|temos|tenho|esta|foi)|acho que|creio que|nao tenho certeza|nao sei|vou tentar|vamos tentar|"
        r"tentarei|tentaremos|se (?:houver|tiver|der(?: certo| tempo| para| pra)|for possivel|for aprovad\w+|conseguir\w*|sobrar|abrir)|caso (?:haja|tenha|seja)|"
        r"quem (?:decide|confirma|define|autoriza|aprova)|preciso (?:confirmar|verificar|consultar)|"
        r"precisamos (?:confirmar|verificar)|vou (?:ver|verificar|consultar|checar|confirmar|perguntar|conferir)|"
        r"podem? variar|pode (?:atrasar|mudar)|sem (?:garantia|previsao|prazo)|por exemplo|imagin\w+)\b",
        "en": r"\b(?:maybe|perhaps|might|probably|possibly|depends|depending|subject to|to be confirmed|not sure|unsure|"
        r"i think|i believe|i'll try|we'll try|try to|trying to|hope(?:fully)?|if (?:available|possible|there(?:'s| is| are)|approved)|"
        r"let me (?:check|see|ask|confirm)|i'll (?:check|ask|see)|need to (?:check|confirm|ask)|(?:i'll|we'll|let me) (?:ask|check|see) (?:if|whether)|may (?:be|vary|change|take)|"
        r"could (?:be|vary|take)|for example|tentative\w*|pending)\b",
        "es": r"\b(?:quizas?|tal vez|a lo mejor|puede que|probablemente|posiblemente|depende|sujet[oa]s? a|por confirmar|"
        r"creo que|no estoy segur[oa]|no se si|no sabemos|todavia no|aun no|intentar\w+|voy a (?:ver|consultar|verificar|preguntar|revisar)|"
        r"si (?:hay|se puede|es posible|queda|aprueban)|debo (?:consultar|confirmar)|tengo que (?:consultar|confirmar)|"
        r"puede (?:variar|cambiar|tardar)|podria|por ejemplo)\b",
    }
)
_REPORTED: Final = Patterns(
    {
        "pt": r"\b(?:voces?|vc|o senhor|a senhora|cliente)\s+(?:ja\s+|me\s+|nos\s+|nao\s+)?(?:quer|queria|quis|pediu|perguntou|gostaria|"
        r"mencionou|disse|falou|comentou|procura|prefere|precisa|solicitou|deseja|busca|havia|tinha|viu|encontrou|recebeu|pagou)\b",
        "pt_wish": r"\b(?:seu|sua) (?:pedido|solicitacao|pergunta|proposta|sugestao) (?:de|do|da|por|sobre)\b",
        "pt_understood": r"\b(?:entendi|anotei|registrei|percebi|vi) que\b",
        "en": r"\b(?:you|the customer|they)\s+(?:just\s+|already\s+)?(?:asked|want(?:ed)?|mentioned|said|requested|told|were offered|prefer|"
        r"wrote|would like|paid|saw|were looking)\b",
        "en_like": r"\b(?:so |then )?you'd (?:like|prefer|want|love)\b",
        "en_wish": r"\byour (?:request|question|proposal|wish) (?:for|about|of)\b",
        "es": r"\b(?:usted|ustedes|tu|el cliente)\s+(?:ya\s+|me\s+|nos\s+)?(?:quiere|queria|pidio|pregunto|menciono|dijo|prefiere|busca|"
        r"solicito|desea|vio|pago)\b",
        "es_wish": r"\b(?:su|tu) (?:pedido|solicitud|pregunta|propuesta) (?:de|del|por|sobre)\b",
        "es_understood": r"\b(?:entendi|entiendo|anote) que\b",
    }
)
_PAST: Final = Patterns(
    {
        "when": r"\b(?:ontem|anteontem|(?:semana|mes|ano|terca|segunda|quarta|quinta|sexta|vez) passad[oa]|yesterday|"
        r"last (?:week|month|year|monday|tuesday|wednesday|thursday|friday|saturday|sunday|night|time)|"
        r"ayer|anteayer|(?:semana|mes|ano|lunes|martes) pasad[oa]|(?:el|la) (?:semana|mes|ano) pasad[oa]|ago|atras|antigamente|used to)\b",
        "over": r"\b(?:terminou|acabou|acabaram|encerrou|venceu|expirou|ended|expired|is over|was over|termino|vencio|caduco|finalizo)\b",
    }
)
_INSTRUCTED: Final = Patterns(
    {
        "pt": r"\b(?:para|como|a fim de|pra)\s+(?:te |se |lhe )?(?:garantir|confirmar|agendar|reservar|aprovar|liberar|marcar|separar|solicitar|"
        r"pedir|receber|saber|evitar|conseguir|obter|ganhar|calcular)\b[^,.;!?]*$",
        "en": r"\b(?:to|how to|in order to)\s+(?:guarantee|confirm|book|reserve|approve|schedule|secure|request|get|receive|avoid|ensure|claim)\b"
        r"[^,.;!?]*$",
        "es": r"\b(?:para|como)\s+(?:garantizar|confirmar|agendar|reservar|aprobar|apartar|solicitar|recibir|evitar|obtener|pedir)\b"
        r"[^,.;!?]*$",
    }
)

_CONDITION: Final = Patterns(
    {
        "unless": r"^\s*(?:si|se|caso|if) (?:usted |tu |voce |vc |you |it |ele |ela )?(?:no|nao|don't|doesn't|isn't|aren't) (?:(?:le|te|lo|se|me) )?[\w']+"
    }
)
_REACH: Final = 300  # farther words say nothing about these, and a text without a full stop stays linear


def sentence_of(text: str, at: int) -> tuple[int, int]:
    """The span of the sentence that holds position `at` of a folded text."""
    return sentence_at(text, at, _REACH)


def is_asked(text: str, start: int, end: int) -> bool:
    """A question asks; but in "I can do 180, deal?" only the tag after the last comma is asked."""
    first, last = sentence_of(text, start)
    if not text[first:last].rstrip().endswith("?"):
        return False
    return end > text.rfind(",", first, last) + 1


def is_denied(text: str, start: int) -> bool:
    return _NEGATED_BEFORE.found_in(_own_clause(_without_condition(_before(text, start))))


def is_reported(text: str, start: int) -> bool:
    return _REPORTED.found_in(_before(text, start))


def is_past(text: str, at: int) -> bool:
    first, last = sentence_of(text, at)
    return _PAST.found_in(text[first:last])


def is_guarded(text: str, start: int, end: int) -> bool:
    """True where the words at `start:end` are denied, doubted, asked, reported, past or part of an instruction."""
    if is_denied(text, start) or is_asked(text, start, end) or is_reported(text, start):
        return True
    first, last = sentence_of(text, start)
    sentence = text[first:last]
    is_instructed = _INSTRUCTED.found_in(text[first:end])
    return is_instructed or _HEDGED.found_in(sentence) or _PAST.found_in(sentence)


def _before(text: str, start: int) -> str:
    return text[sentence_of(text, start)[0] : start]


def _without_condition(before: str) -> str:
    """In "si no le gusta, lo cambiamos" the denial is the condition's."""
    condition = next(_CONDITION.hits(before), None)
    return before[condition.end :] if condition else before


def _own_clause(before: str) -> str:
    cut = max(before.rfind(mark) for mark in (",", ":", " mas ", " but ", " pero ", " e ", " and ", " y "))
    return before[cut + 1 :] if cut >= 0 else before
