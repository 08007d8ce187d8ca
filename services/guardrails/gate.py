"""A gate: a name, one pure judgement, and what it does when a fact is missing.

Laws
- A gate is `(Draft, Facts) -> Verdict`. It reads no clock, no file, no network.
- `on_missing` has no default: whoever writes a gate decides what not knowing means.
- An instruction speaks to the model in the draft's language and names no gate, code or internal of this system.
- A gate carries its own clear and stop examples; the tests run every gate over all of them.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from types import ModuleType

from msgspec import Struct

from services.guardrails.facts import Draft, Facts, Language


class Phase(StrEnum):
    FILING = "filing"
    DISPATCH = "dispatch"


class Outcome(StrEnum):
    PASS = "pass"  # noqa: S105 (an outcome, not a password)
    VETO = "veto"
    DEFER = "defer"
    AMENDED = "amended"
    NOT_APPLICABLE = "not_applicable"
    SKIPPED = "skipped"


class OnMissing(StrEnum):
    CLOSED = "closed"
    DEFER = "defer"
    OPEN = "open"


class Span(Struct, frozen=True):
    """Where in the body, in code points, and what stands there."""

    start: int
    end: int
    excerpt: str
    category: str = ""


class Verdict(Struct, frozen=True):
    outcome: Outcome
    gate: str = ""  # the chain fills it in
    code: str | None = None
    instruction: str | None = None
    spans: tuple[Span, ...] = ()
    facts_used: tuple[str, ...] = ()
    amended_body: str | None = None
    retry_at: datetime | None = None
    warning: str | None = None


class Wording(Struct, frozen=True):
    """One sentence for the model in each language; `{name}` is filled by `say`."""

    pt: str
    en: str
    es: str

    def say(self, language: Language, **values: str) -> str:
        texts = {Language.PT_BR: self.pt, Language.EN: self.en, Language.ES: self.es}
        return texts[language].format(**values)


@dataclass(frozen=True, slots=True)
class Example:
    """`stop` examples name the code that they expect; `clear` ones name none."""

    why: str
    draft: Draft
    facts: Facts
    code: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Gate:
    name: str
    judge: Callable[[Draft, Facts], Verdict]
    on_missing: OnMissing
    judges_text: bool
    clear: tuple[Example, ...]
    stop: tuple[Example, ...]
    rules: tuple[ModuleType, ...] = ()  # modules whose source is part of the chain's hash
    missing_code: str = "fact_unavailable"


PASS = Verdict(outcome=Outcome.PASS)
NOT_APPLICABLE = Verdict(outcome=Outcome.NOT_APPLICABLE)


def passed(*facts_used: str, warning: str | None = None) -> Verdict:
    return Verdict(outcome=Outcome.PASS, facts_used=facts_used, warning=warning)


def veto(code: str, instruction: str, *facts_used: str, spans: tuple[Span, ...] = ()) -> Verdict:
    return Verdict(outcome=Outcome.VETO, code=code, instruction=instruction, facts_used=facts_used, spans=spans)


def defer(code: str, retry_at: datetime, *facts_used: str) -> Verdict:
    return Verdict(outcome=Outcome.DEFER, code=code, retry_at=retry_at, facts_used=facts_used)


def amend(code: str, body: str, *facts_used: str) -> Verdict:
    return Verdict(outcome=Outcome.AMENDED, code=code, amended_body=body, facts_used=facts_used)
