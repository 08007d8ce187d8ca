"""A stored run judged again: which verdicts would be others. Pure.

Two verdicts are the same when outcome, code, time of a deferral and inserted text are; how they are worded and where
they point may differ.
"""

from collections.abc import Sequence
from enum import StrEnum
from typing import NamedTuple

from services.guardrails import judging
from services.guardrails.chain import CHAIN, ChainResult, run
from services.guardrails.gate import Gate, Outcome, Verdict
from services.guardrails.store.runs import Stored

RUN = "(run)"
"""In the place of a gate's name: what became of the whole draft."""


class Change(StrEnum):
    SAME = "same"
    NEWLY_VETOED = "newly_vetoed"
    NEWLY_PASSED = "newly_passed"
    NEWLY_DEFERRED = "newly_deferred"
    OTHER = "other"
    """Vetoed or deferred as before for another reason or time; not asked any more; new in the chain, or gone."""


class Compared(NamedTuple):
    """One gate of one run; `words` are those that the verdict which stops the draft points at."""

    gate: str
    change: Change
    before: str
    after: str
    words: tuple[str, ...]


def replayed(stored: Stored, chain: Sequence[Gate] = CHAIN) -> list[Compared]:
    """The whole run first, then each gate in the order of `chain`, then the gates that it has no more."""
    judged = stored.judged
    result = run(judged.draft, judged.facts, stored.phase, chain)
    before = {verdict.gate: verdict for verdict in judged.verdicts}
    after = {verdict.gate: verdict for verdict in result.verdicts}
    names = [*after, *(name for name in before if name not in after)]
    return [_whole(stored, result), *(_compared(name, before.get(name), after.get(name)) for name in names)]


_OF_A_RUN = {
    "vetoed": Change.NEWLY_VETOED,
    "cleared": Change.NEWLY_PASSED,
    "deferred": Change.NEWLY_DEFERRED,
}


def _whole(stored: Stored, result: ChainResult) -> Compared:
    outcome, (gate, code) = judging.outcome(result), judging.recorded(result)
    before = (stored.outcome, stored.gate, stored.code)
    after = (outcome, gate, code)
    change = _OF_A_RUN[outcome] if outcome != stored.outcome else Change.OTHER
    stopping = next((one for one in (*result.verdicts, *stored.judged.verdicts) if one.spans), None)
    is_same = before == after
    return Compared(
        RUN, Change.SAME if is_same else change, _said(*before), _said(*after), () if is_same else _words(stopping)
    )


def _compared(name: str, before: Verdict | None, after: Verdict | None) -> Compared:
    change = _change(before, after)
    stopping = after if after is not None and after.spans else before
    words = () if change is Change.SAME else _words(stopping)
    return Compared(name, change, _verdict(before), _verdict(after), words)


def _change(before: Verdict | None, after: Verdict | None) -> Change:
    if before is not None and after is not None and _essence(before) == _essence(after):
        return Change.SAME
    was, becomes = (None if one is None else one.outcome for one in (before, after))
    if becomes is Outcome.VETO and was is not Outcome.VETO:
        return Change.NEWLY_VETOED
    if becomes is Outcome.DEFER and was is not Outcome.DEFER:
        return Change.NEWLY_DEFERRED
    has_passed = becomes in {Outcome.PASS, Outcome.AMENDED, Outcome.NOT_APPLICABLE}
    return Change.NEWLY_PASSED if has_passed and was in {Outcome.VETO, Outcome.DEFER} else Change.OTHER


def _essence(verdict: Verdict) -> tuple[object, ...]:
    return verdict.outcome, verdict.code, verdict.retry_at, verdict.amended_body


def _verdict(verdict: Verdict | None) -> str:
    return "not in the chain" if verdict is None else _said(verdict.outcome.value, verdict.code or "")


def _said(*parts: str) -> str:
    return " ".join(part for part in parts if part)


def _words(verdict: Verdict | None) -> tuple[str, ...]:
    return tuple(span.excerpt for span in verdict.spans) if verdict else ()
