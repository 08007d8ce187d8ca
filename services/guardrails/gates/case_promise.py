# ruff: noqa: E501 (rule data: a pattern reads best on one line)
"""Gate 8. Who says that a person will act has a case open, so that a person really knows of it."""

from functools import lru_cache
from typing import Final

from services.guardrails import clauses
from services.guardrails.clauses import is_asked
from services.guardrails.examples import a_draft, some_facts
from services.guardrails.facts import Draft, Facts, Language, Unknown, known
from services.guardrails.gate import Example, Gate, OnMissing, Span, Verdict, Wording, passed, veto
from services.guardrails.sweeps import FOLDED
from shared.patterns import Patterns
from shared.text import fold

_OPEN_OR_REWRITE: Final = Wording(
    pt="O texto conta com a ação de alguém que ainda não foi avisado. "
    "Registre a necessidade na sua resposta estruturada ou reescreva sem contar com isso.",
    en="The text counts on the action of someone who has not been told. "
    "Record the need in your structured answer, or rewrite without counting on it.",
    es="El texto cuenta con la acción de alguien que todavía no fue avisado. "
    "Registra la necesidad en tu respuesta estructurada o reescribe sin contar con eso.",
)
_FRAGMENTS: Final = {
    "who_pt": r"(?:(?:[ao]s? |um[a]? |noss[oa]s? |meu |minha |outr[oa] )*(?:equipe|time|pessoal|setor|departamento|financeiro|comercial|suporte|"
    r"gerente|gerencia|diretoria|supervisor[a]?|coordenador[a]?|responsavel|especialista|atendente|colega|consultor[a]?|vendedor[a]?|"
    r"tecnico|medic[oa]|doutor[a]?|dra?\.?|advogad[oa]|contador[a]?|secretaria|recepcao|administracao|administrativo|logistica|estoque|"
    r"cozinha|juridico|cobranca|rh|humano|pessoa|alguem|engenheir[oa]|corretor[a]?|professor[a]?|coordenacao|transportadora|oficina|"
    r"laboratorio|almoxarifado|sac|ouvidoria|matriz|chefe|dono|dona|socio))",
    "who_en": r"(?:(?:the |our |my |a |an |one of our )*(?:team|manager|supervisor|colleagues?|specialist|staff|department|support|billing|finance|"
    r"sales|technician|doctor|nurse|lawyer|agent|representative|rep|someone|somebody|human|person|owner|boss|warehouse|kitchen|accountant|"
    r"front desk|reception|coordinator|consultant|expert|engineer|advisor|partner|office|back office|head office))",
    "who_es": r"(?:(?:el |la |los |las |un |una |nuestr[oa]s? |mi |otr[oa] )*(?:equipo|gerente|gerencia|encargad[oa]|supervisor[a]?|colega|companer[oa]|"
    r"especialista|area|departamento|soporte|finanzas|ventas|tecnico|doctor[a]?|abogad[oa]|asesor[a]?|alguien|persona|humano|responsable|"
    r"administracion|recepcion|coordinador[a]?|contador[a]?|duen[oa]|jefe|almacen|taller|cocina|logistica))",
}
_CASE_WORDS: Final = {
    "pt_i_ask": r"\b(?:vou|vamos|irei|iremos|deixa eu|deixe-me|ja vou|estou|estamos)\s+(?:\w+\s+){0,2}?(?:verific\w+|consult\w+|confirm\w+|chec\w+|"
    r"pergunt\w+|fal\w+|conversar|conversando|convers\w+|ver|alinh\w+|confer\w+|tratar|discut\w+|resolver)\s+(?:[\w,]+\s+){0,5}?"
    r"(?:com|junto a|junto ao|ao?|pro|pra)\s+{who_pt}\b",
    "pt_i_pass": r"\b(?:vou|vamos|irei|iremos|ja|acabei de|estou|estamos|deixa que eu|pode deixar que(?: eu)?(?: vou)?)\s+(?:\w+\s+){0,2}?"
    r"(?:encaminh\w+|repass\w+|acion\w+|escal\w+|transfer\w+|direcion\w+|notific\w+|solicit\w+|sinaliz\w+)\b",
    "pt_i_tell": r"\b(?:vou|vamos|irei|ja|acabei de|pode deixar que(?: eu)?(?: vou)?)\s+(?:\w+\s+){0,2}?(?:pass\w+|avis\w+|cham\w+|ped\w+|inform\w+|"
    r"comunic\w+|mand\w+|envi\w+|lev\w+|abr\w+|registr\w+)\s+(?:[\w,]+\s+){0,5}?(?:{who_pt}|um chamado|uma solicitacao|um protocolo|o caso)\b",
    "pt_past": r"\b(?:encaminhei|encaminhamos|repassei|repassamos|acionei|acionamos|escalei|escalamos|notifiquei|transferi)\b",
    "pt_asked": r"\b(?:solicitei|pedi|perguntei|avisei|falei|passei|consultei|informei|comuniquei|conversei|enviei|mandei|chamei)\s+(?:\w+\s+){0,4}?"
    r"(?:com|para|pra|pro|ao?|junto ao?)\s*{who_pt}\b",
    "en_asked": r"\b(?:i|we|i've|we've|have|just|already) (?:asked|told|informed|contacted|messaged|called|emailed|notified|reached out to) {who_en}\b",
    "es_asked": r"\b(?:ya )?(?:consulte|avise|pregunte|hable|informe|solicite|comunique) (?:\w+ ){0,3}?(?:a|al|con)\s*{who_es}\b",
    "pt_they_act": r"\b{who_pt}\s+(?:\w+\s+){0,3}?(?:vai|vao|ira|irao|ja vai|ja esta|esta|estao|entrara|entrarao|retornara|retornarao|ligara|"
    r"responde|responderao|analisara|verificara|cuida|cuidara|resolve|resolvera|te (?:liga|chama|retorna|responde|avisa|procura)|"
    r"entra em contato|confirma|retorna|assume)\b",
    "pt_already_with": r"\b(?:ja|agora)\s+(?:esta|ta|foi|ficou)\s+(?:com|na mao d[oa]|nas maos d[oa]|em analise (?:com|pel[oa]))\s*{who_pt}\b",
    "en_i_ask": r"\b(?:i'll|i will|we'll|we will|let me|i'm going to|going to|i'm|i am|we're)\s+(?:\w+\s+){0,2}?(?:check\w*|ask\w*|confirm\w*|consult\w*|"
    r"speak\w*|talk\w*|verify\w*|discuss\w*|follow\w* up|look\w* into|raise|raising|see|find out)\s+(?:[\w,]+\s+){0,5}?(?:with|to|from|by)?\s*{who_en}\b",
    "en_i_pass": r"\b(?:i'll|i will|we'll|we will|let me|i'm|i've|i have|we've|we have|just|already|i)\s+(?:\w+\s+){0,2}?(?:forward\w*|escalat\w*|"
    r"pass(?:ed|ing)? (?:this|that|it|your)|notif\w+|alert\w*|flag\w*|hand(?:ed|ing)? (?:this|it|you)|transfer\w*|refer\w*|"
    r"open(?:ed|ing)? a (?:ticket|case|request))\b",
    "en_they_act": r"\b{who_en}\s+(?:\w+\s+){0,3}?(?:will|'ll|is going to|are going to|is (?:looking|reviewing|checking|working|handling)|are "
    r"(?:looking|reviewing|checking|working|handling))\b|\b{who_en}'ll\b",
    "es_i_ask": r"\b(?:voy a|vamos a|dejeme|dejame|estoy|estamos|ya)\s+(?:\w+\s+){0,2}?(?:consult\w+|verific\w+|pregunt\w+|confirm\w+|habl\w+|revis\w+|ver)\s+"
    r"(?:[\w,]+\s+){0,5}?(?:con|a|al)\s+{who_es}\b",
    "es_i_pass": r"\b(?:voy a|vamos a|ya|acabo de|le|lo|la)\s+(?:\w+\s+){0,2}?(?:derivar\w*|derive|derivo|derivamos|reenvi\w+|escal\w+|notifi\w+|transfer\w+|"
    r"traslad\w+|remit\w+|pas(?:ar|o|e|amos) (?:su|tu|el|la|con|al?)|avis(?:ar|e|amos) (?:a|al))\b",
    "es_they_act": r"\b{who_es}\s+(?:\w+\s+){0,3}?(?:va a|van a|se (?:comunicar|pondr|encarg)\w+|le (?:llamar|contactar|escribir|responder|llama|contacta|escribe)\w*|"
    r"lo (?:llamar|contactar)\w*|esta (?:revisando|viendo)|revisara|respondera|llamara|contactara|atendera)\b",
}
_PROMISES: Final = Patterns(_CASE_WORDS, _FRAGMENTS, FOLDED)


def judge(draft: Draft, facts: Facts) -> Verdict:
    spans = promised_cases(draft.body, facts.people)
    if not spans:
        return passed()
    if draft.opens_case or known(facts.has_open_case):
        return passed("has_open_case")
    instruction = _OPEN_OR_REWRITE.say(draft.language)
    return veto("case_promise_without_case", instruction, "has_open_case", spans=spans)


def promised_cases(body: str, people: tuple[str, ...] = ()) -> tuple[Span, ...]:
    """Phrases that count on a person's action; asking consent for it, or denying it, counts on nothing."""
    folded = fold(body)
    spans: list[Span] = []
    for hit in _patterns(people).hits(folded.text):
        if is_asked(folded.text, hit.start, hit.end) or clauses.is_denied(folded.text, hit.start):
            continue
        start, end = folded.span(hit.start, hit.end)
        spans.append(Span(start, end, body[start:end], hit.name))
    return tuple(spans)


@lru_cache(maxsize=256)
def _patterns(people: tuple[str, ...]) -> Patterns:
    names = "|".join(name for name in (fold(each).text.strip() for each in people) if name.isalpha())
    if not names:
        return _PROMISES
    named = {
        key: fragment.removesuffix(")") + f"|(?:[ao] |the |la |el )?(?:{names}))"
        for key, fragment in _FRAGMENTS.items()
    }
    return Patterns(_CASE_WORDS, named)


def _clear(why: str, body: str, language: Language = Language.PT_BR) -> Example:
    return Example(why, a_draft(body=body, language=language), some_facts())


def _stop(why: str, body: str, language: Language = Language.PT_BR) -> Example:
    return Example(
        why, a_draft(body=body, language=language), some_facts(people=("Marina",)), "case_promise_without_case"
    )


_FORWARDED: Final = "Já encaminhei seu pedido para a equipe."

CASE_PROMISE: Final = Gate(
    name="case_promise",
    judge=judge,
    on_missing=OnMissing.CLOSED,
    judges_text=True,
    rules=(clauses,),
    clear=(
        _clear("nobody is involved", "Abrimos às 8h."),
        _clear("asking consent", "Posso encaminhar seu pedido para a equipe?"),
        _clear("denied", "Não vou encaminhar nada sem a sua autorização."),
        _clear("asking consent in English", "Shall I ask the manager?", Language.EN),
        Example("a case is open", a_draft(body=_FORWARDED), some_facts(has_open_case=True)),
        Example("the draft opens one", a_draft(body=_FORWARDED, opens_case="case-1"), some_facts()),
    ),
    stop=(
        _stop("already forwarded", _FORWARDED),
        _stop("will check with the team", "Vou verificar com o time e te aviso."),
        _stop("a person of the team by name", "A Marina vai te ligar ainda hoje."),
        _stop("someone will", "Our team will get back to you.", Language.EN),
        _stop("I'll check with the manager", "I'll check with my manager.", Language.EN),
        _stop("in Spanish", "Voy a consultar con el encargado.", Language.ES),
        Example(
            "nobody knows whether a case is open",
            a_draft(body=_FORWARDED),
            some_facts(has_open_case=Unknown("timeout")),
            "fact_unavailable",
        ),
    ),
)
