"""What a page says about runs and rules beyond their columns. Pure."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from itertools import pairwise
from typing import Any, Final, NamedTuple

import msgspec

from services.guardrails.gate import Gate, Outcome, Span, Verdict
from services.guardrails.looking import Run
from services.guardrails.rules import Rules
from services.guardrails.web import forms
from shared.web import texts
from shared.web.speech import Speech
from shared.web.texts import Segment
from shared.web.times import Clock

TONE: Final[Mapping[str, str]] = {
    "pass": "ok", "veto": "bad", "defer": "warn", "amended": "info", "not_applicable": "", "skipped": "",
    "cleared": "ok", "vetoed": "bad", "deferred": "warn",
}  # fmt: skip
STATE_TONE: Final[Mapping[str, str]] = {
    "opted_out": "bad", "erasure_requested": "bad", "anonymised": "bad", "blocked": "bad", "paused": "warn",
    "merged": "info", "opted_in": "ok", "reachable": "ok",
}  # fmt: skip

KIND: Final = "type"
"""The tag of a fact's form; no part of the fact."""


class Piece(NamedTuple):
    """A part of a text with the gates that point at it; hidden characters in it are marks."""

    segments: Sequence[Segment]
    gates: tuple[str, ...]
    categories: tuple[str, ...]


class Link(NamedTuple):
    """A gate of the chain, for people."""

    order: int
    gate: Gate
    codes: tuple[str, ...]


class Change(NamedTuple):
    """A field of the rules that differs between two versions."""

    field: str
    segments: Sequence[Segment]


class Fact(NamedTuple):
    """What a gate was told: lines of a name, where the thing has parts, and what is so."""

    name: str
    lines: tuple[tuple[str, str], ...]


def links(chain: Sequence[Gate]) -> list[Link]:
    """The gates in their order, each with the codes of its own examples."""
    return [
        Link(at, gate, tuple(dict.fromkeys(one.code for one in gate.stop if one.code)))
        for at, gate in enumerate(chain, 1)
    ]


def judged_text(run: Run) -> str:
    """The text that the verdicts point into: the draft, or what a gate made of it.

    The chain judges an amended text again, so its spans may be of either; the words at their places tell of which.
    """
    body = str(run.draft.get("body", ""))
    made = next((one.amended_body for one in run.verdicts if one.amended_body), None)
    spans = [span for verdict in run.verdicts for span in verdict.spans]
    if made is None or (spans and all(_stands(body, span) for span in spans)):
        return body
    return made


def pieces(body: str, verdicts: Sequence[Verdict]) -> list[Piece]:
    """The whole text, in order, cut where a span of any gate begins or ends."""
    spans = [(one.gate, span) for one in verdicts for span in one.spans if 0 <= span.start < span.end <= len(body)]
    cuts = sorted({0, len(body), *(cut for _, span in spans for cut in (span.start, span.end))})
    found: list[Piece] = []
    for start, end in pairwise(cuts):
        over = [(gate, span) for gate, span in spans if span.start <= start and end <= span.end]
        gates = tuple(dict.fromkeys(gate for gate, _ in over))
        categories = tuple(dict.fromkeys(span.category for _, span in over if span.category))
        found.append(Piece(texts.seen(body[start:end]), gates, categories))
    return found


def _stands(body: str, span: Span) -> bool:
    return body[span.start : span.end] == span.excerpt


def vetoes(run: Run) -> list[Verdict]:
    return [one for one in run.verdicts if one.outcome is Outcome.VETO]


def facts_used(run: Run, say: Speech, clock: Clock) -> list[Fact]:
    """What the gates of this run asked for, once each, in the order in which they asked."""
    names = dict.fromkeys(name for verdict in run.verdicts for name in verdict.facts_used)
    return [Fact(name, tuple(_lines(run.facts.get(name), say, clock))) for name in names]


def _lines(value: Any, say: Speech, clock: Clock) -> Iterator[tuple[str, str]]:
    if isinstance(value, Mapping):
        for name, part in value.items():  # pyright: ignore[reportUnknownVariableType] - JSON
            if name != KIND:
                yield str(name), _brief(part, say, clock)  # pyright: ignore[reportUnknownArgumentType] - as above
    elif isinstance(value, list):
        for one in value:  # pyright: ignore[reportUnknownVariableType] - as above
            yield "", _brief(one, say, clock)
    elif value is not None:
        yield "", _brief(value, say, clock)


def _brief(value: Any, say: Speech, clock: Clock) -> str:
    if value in (None, [], {}):
        return "—"
    match value:
        case bool():
            return say.t("yes") if value else say.t("no")
        case str():
            return _moment(value, clock) or value
        case {"opens": str(opens), "closes": str(closes)}:
            return f"{opens[:5]}-{closes[:5]}"
        case {"text": str(text)}:
            return text
        case _:
            return msgspec.json.encode(value).decode()


def _moment(text: str, clock: Clock) -> str:
    """A time as the reader has it; empty for other words."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return ""
    return clock.at(moment) if moment.tzinfo else ""


def changes(before: Rules, after: Rules) -> list[Change]:
    """What differs, field by field, as the form has them."""
    old, new = forms.written(before), forms.written(after)
    return [Change(name, texts.diff(old[name], new[name])) for name in forms.FIELDS if old[name] != new[name]]


def faults_in_words(faults: Mapping[str, forms.Fault], say: Speech) -> dict[str, str]:
    return {name: say.t(f"fault.{fault.code}", limit=fault.limit) for name, fault in faults.items()}
