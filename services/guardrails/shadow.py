"""Candidate rules beside the ten: judged, counted and recorded, until a release adopts them.

Laws
- A candidate stops nothing and changes nothing: it runs after the chain has answered, on what the chain was given.
- A candidate that fails, or whose verdict cannot be written down, disturbs nobody: it is recorded as failed.
- A candidate is compared with the gate that it would take the place of; else with what the whole chain said.
"""

import pkgutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from importlib import import_module

import msgspec
from msgspec.structs import replace

from services.guardrails import candidates
from services.guardrails.chain import CHAIN, ChainResult, Cleared, Deferred, judge
from services.guardrails.facts import Draft, Facts
from services.guardrails.gate import Gate, Outcome, Verdict
from services.guardrails.words import FAILED

Observe = Callable[[Gate, Callable[[], Verdict]], Verdict]
"""Times and counts one candidate; returns what it returned."""

_STRICTNESS = {Outcome.DEFER: 1, Outcome.VETO: 2}


class Direction(StrEnum):
    STRICTER = "stricter"
    LOOSER = "looser"


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    gate: Gate
    instead_of: str = ""
    """The gate of the chain that it would replace; empty: it would be one more."""


class CandidateError(Exception):
    """A file of `candidates/` is not a candidate; the service does not start. The message names the file."""


@cache
def found() -> tuple[Candidate, ...]:
    """Every candidate, by name.

    Raises:
        CandidateError: a file without `CANDIDATE`, under another name than its gate's, or beside the chain's own.
    """
    names = sorted(module.name for module in pkgutil.iter_modules(candidates.__path__))
    return tuple(_found(name) for name in names)


def _found(name: str) -> Candidate:
    candidate = getattr(import_module(f"{candidates.__name__}.{name}"), "CANDIDATE", None)
    chain = [gate.name for gate in CHAIN]
    if not isinstance(candidate, Candidate):
        raise CandidateError(f"candidates/{name}.py has no CANDIDATE")
    if candidate.gate.name != name:
        raise CandidateError(f"candidates/{name}.py calls its gate {candidate.gate.name}: file and name must agree")
    if name in chain:
        raise CandidateError(f"candidates/{name}.py is named as a gate of the chain: give it a name of its own")
    if candidate.instead_of and candidate.instead_of not in chain:
        raise CandidateError(f"candidates/{name}.py would replace {candidate.instead_of}, which is not in the chain")
    return candidate


def beside(draft: Draft, facts: Facts, observe: Observe, some: Sequence[Candidate]) -> tuple[Verdict, ...]:
    """What each candidate says. No text of an amendment is kept."""

    def judged(candidate: Candidate) -> Verdict:
        gate = candidate.gate
        return observe(gate, lambda: _sound(judge(gate, draft, facts), gate.name))

    return tuple(judged(one) for one in some)


def _sound(verdict: Verdict, name: str) -> Verdict:
    """As it will be written down and read again."""
    try:
        read = msgspec.json.decode(msgspec.json.encode(verdict), type=Verdict)
    except Exception as error:  # noqa: BLE001 (what a candidate says must not stop the run that it stands beside)
        return Verdict(outcome=Outcome.VETO, gate=name, code=FAILED, warning=f"{type(error).__name__}: {error}")
    return replace(read, amended_body=None)


def disagreement(candidate: Candidate, verdict: Verdict, result: ChainResult) -> Direction | None:
    """How the candidate differs; none where it failed, or where its gate was not asked."""
    others = _of_the_chain(candidate, result)
    if others is None or verdict.code == FAILED:
        return None
    own = _STRICTNESS.get(verdict.outcome, 0)
    if own == others:
        return None
    if own > others:
        return Direction.STRICTER
    return Direction.LOOSER if candidate.instead_of else None  # one more gate need not find what others find


def _of_the_chain(candidate: Candidate, result: ChainResult) -> int | None:
    if candidate.instead_of:
        its = next((one for one in result.verdicts if one.gate == candidate.instead_of), None)
        is_asked = its is not None and its.outcome is not Outcome.SKIPPED
        return _STRICTNESS.get(its.outcome, 0) if its is not None and is_asked else None
    if isinstance(result, Cleared):
        return 0
    return 1 if isinstance(result, Deferred) else 2
