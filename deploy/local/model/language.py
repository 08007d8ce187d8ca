"""What a customer's words ask for: language, intents, days and stated facts. Patterns read folded text."""

import re
import unicodedata
from dataclasses import dataclass

PATTERNS: dict[str, tuple[str, ...]] = {
    "opt_out": (
        r"^\W*(sair|parar?|pare|stop|unsubscribe|baja|descadastrar|remover)\W*(por favor|please|obrigad[oa])?\W*$",
        r"nao (quero|desejo) (mais )?receber|me (tir[ae]|remov[ae]) (da|dessa) lista|stop (texting|messaging)",
        r"no quiero (recibir|mas mensajes)|darme de baja",
    ),
    "reschedule": (
        r"remarc|reagend|reschedul|reprogram",
        (
            r"\b(mudar|trocar|alterar|passar|mover|cambiar|change|move)\b.{0,40}"
            r"\b(consulta|horario|hora|dia|cita|turno|appointment|booking|sessao|agendamento)"
        ),
    ),
    "cancel": (
        (
            r"\b(cancelar|desmarcar|cancel)\b.{0,40}"
            r"\b(consulta|horario|cita|turno|appointment|booking|agendamento|pedido|order)"
        ),
    ),
    "book": (r"\b(marcar|agendar|reservar|book|schedule)\b", r"\b(tem|hay|any) (horario|vaga|turno|slot)"),
    "hours": (
        r"que horas|que horario|horarios? de (func|atend|abert)",
        r"\babre[mn]?\b|\babert[oa]s?\b|\bfecha[mn]?\b|\bcierran?\b",
        r"funcionam? (no|na|de|aos|hoje)|opening hours|what time",
        r"\b(are|is|do) (you|it) open|\bopen (on|at|until|today)\b",
    ),
    "price": (
        r"\bprecos?\b|\bvalor(es)?\b|quanto (custa|fica|sai|e\b|cobra)|\bcusta\b|orcamento",
        r"\bprices?\b|how much|\bcosts?\b|cuanto (cuesta|vale|sale)|precio|cuesta",
    ),
    "expensive": (r"\bcar[oa]\b|\bdescont|\bdescuento|\bexpensive\b|\bdiscounts?\b",),
    "complaint": (
        r"reclama|absurdo|pessim|horrivel|decepcion|insatisf|atrasad|\berrad|quebrad|estragad",
        r"nao (funcion|resolv|cheg)",
        r"complain|terrible|awful|unacceptable|\bbroken\b|never (came|arrived)|not arrived",
        r"\bqueja|inaceptable|no (funcion|lleg)",
    ),
    "human": (
        r"\batendente\b|real person|hablar con (una?|alguien|el|la)|(speak|talk) (to|with) (a|an|some|the)",
        r"(falar|conversar) com (uma? |o |a )?(pessoa|alguem|gerente|human|responsavel)|\b(quero|chama) um human",
    ),
    "robot": (
        r"\b(robo|bot|robot|chatbot)\b|are you (human|real)",
        r"\b(e|voce e|eres) (um |uma |una? )?(maquina|humano|humana|pessoa)\b",
    ),
    "thanks": (r"\bobrigad|\bvaleu\b|agradec|\bthanks?\b|\bthank you\b|\bgracias\b",),
    "confirm": (r"^\W*(sim|ok|okay|pode ser|combinado|perfeito|fechado|isso|yes|sure|that works|vale|si)\b",),
    "greeting": (
        r"^\W*(oi+|ola|opa|bom dia|boa (tarde|noite)|hi|hello|hey|good (morning|afternoon|evening)|hola|buen[oa]s)\b",
    ),
    "question": (r"\?",),
}
TOPICS = {name: re.compile("|".join(alternatives)) for name, alternatives in PATTERNS.items()}
COURTESY = frozenset({"greeting", "thanks", "confirm", "question"})

FACT = re.compile(
    r"\b(?:meu|minha|my|mi)\s+(convênio|convenio|plano|e-?mail|nome|endereço|cpf|insurance|plan|name|address|seguro|nombre)"
    r"\s+(?:é|eh|is|es|=|:)\s*(?:o |a |the |el |la )?([^\n,;!?]{2,60})",
    re.IGNORECASE,
)
DAYS: dict[str, str] = {
    "pt": r"segunda|ter[cç]a|quarta|quinta|sexta|s[aá]bado|domingo|amanh[aã]|hoje",
    "en": r"monday|tuesday|wednesday|thursday|friday|saturday|sunday|tomorrow|today",
    "es": r"lunes|martes|mi[eé]rcoles|jueves|viernes|s[aá]bado|domingo|ma[ñn]ana|hoy",
}
HOUR = re.compile(r"\b(\d{1,2}(?::\d{2}| ?h(?:\d{2})?| ?(?:am|pm))|(?:às|as|at|a las) \d{1,2})\b", re.IGNORECASE)
PORTUGUESE = """
    oi ola bom boa dia tarde noite voce voces quero queria minha meu nao sim obrigado obrigada consulta quanto custa
    horas que e de da do na no em com para por favor uma um amanha hoje abrem pedido valeu pode remarcar falar pessoa
    preco
"""
ENGLISH = """
    hi hello hey the i you my is are to want would like please thanks thank how much what time open can need on for
    appointment reschedule move when do does price it and of person speak
"""
SPANISH = """
    hola buenos buenas quiero quisiera mi cita gracias cuanto cuesta precio el la los las por usted ustedes abren cuando
    manana horario tienen puedo necesito cambiar una un de en y es hablar persona
"""
SPOKEN = {
    language: frozenset(words.split()) for language, words in {"pt": PORTUGUESE, "en": ENGLISH, "es": SPANISH}.items()
}


@dataclass(frozen=True)
class Heard:
    """What one burst of a customer's words asks for."""

    words: str
    language: str
    topics: tuple[str, ...]
    days: tuple[str, ...]
    hour: str | None
    fact: tuple[str, str] | None

    @property
    def wants(self) -> tuple[str, ...]:
        """The topics that ask for something: courtesy alone does not."""
        return tuple(topic for topic in self.topics if topic not in COURTESY)


def fold(text: str) -> str:
    decomposed = unicodedata.normalize("NFKD", text.casefold())
    return "".join(letter for letter in decomposed if not unicodedata.combining(letter))


def language_of(*texts: str) -> str:
    """The language of the first text that shows one: the customer's newest words first, Portuguese when none does."""
    for text in texts:
        words = re.findall(r"[a-z]+", fold(text))
        scores = {language: sum(word in known for word in words) for language, known in SPOKEN.items()}
        best = max(scores, key=lambda language: scores[language])
        if scores[best]:
            return best
    return "pt"


def listen(words: str, earlier: tuple[str, ...] = ()) -> Heard:
    plain = re.sub(r"#[a-z-]+(?:\s+\d+)?", " ", words).strip()
    language = language_of(plain, *reversed(earlier))
    folded = [fold(line) for line in plain.splitlines() or [""]]
    fact = FACT.search(plain)
    return Heard(
        words=plain,
        language=language,
        topics=tuple(name for name, pattern in TOPICS.items() if any(pattern.search(line) for line in folded)),
        days=tuple(dict.fromkeys(re.findall(rf"\b(?:{DAYS[language]})\b", plain.lower()))),
        hour=found[1] if (found := HOUR.search(plain)) else None,
        fact=(fact[1].lower(), fact[2].strip(" .")) if fact else None,
    )
