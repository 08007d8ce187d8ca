"""The before-send chain: ten gates in a fixed order, run at filing and again at dispatch.

Laws
- The order is the constant below. Nothing but a release changes it, and a release changes `CHAIN_VERSION` with it:
  `chain_lock.json` holds each version to its content.
- A gate that crashes, or whose fact is missing where it is `closed`, vetoes. Nothing clears by accident.
- The recorded verdict is the first veto in order. State gates after it are skipped; text gates still run, so that the
  model learns every problem at once.
- Text changes only at filing, once, and the chain judges the changed text again. At dispatch a change is a veto.
- At filing a state gate's deferral only informs (a person may read at night what leaves in the morning).
"""

import hashlib
import inspect
import sys
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from functools import lru_cache
from types import ModuleType
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from services.guardrails import facts as facts_module
from services.guardrails import gate as gate_module
from services.guardrails import sweeps
from services.guardrails.facts import Draft, Facts, MissingFactError
from services.guardrails.gate import Gate, OnMissing, Outcome, Phase, Verdict, Wording
from services.guardrails.gates.case_promise import CASE_PROMISE
from services.guardrails.gates.disclosure import DISCLOSURE
from services.guardrails.gates.internal_vocabulary import INTERNAL_VOCABULARY
from services.guardrails.gates.lgpd import LGPD
from services.guardrails.gates.pacing import PACING
from services.guardrails.gates.promise import PROMISE
from services.guardrails.gates.semantic_promise import SEMANTIC_PROMISE
from services.guardrails.gates.service_window import SERVICE_WINDOW
from services.guardrails.gates.spinning import SPINNING
from services.guardrails.gates.stop import STOP
from shared import patterns, text

CHAIN_VERSION: Final = 2
CHAIN: Final = (
    STOP,
    LGPD,
    PACING,
    SERVICE_WINDOW,
    SPINNING,
    PROMISE,
    SEMANTIC_PROMISE,
    CASE_PROMISE,
    INTERNAL_VOCABULARY,
    DISCLOSURE,
)
_RETRY_AFTER: Final = timedelta(minutes=5)
_END_THE_TURN: Final = Wording(
    pt="Não foi possível conferir esta mensagem agora. Não escreva outra: encerre a vez.",
    en="This message could not be checked now. Do not write another one: end your turn.",
    es="No fue posible revisar este mensaje ahora. No escribas otro: termina el turno.",
)
_REWRITE_UNCHANGED: Final = Wording(
    pt="O texto teria de mudar depois de aprovado. Escreva-o de novo para uma nova aprovação.",
    en="The text would have to change after it was approved. Write it again for a new approval.",
    es="El texto tendría que cambiar después de aprobado. Escríbelo de nuevo para otra aprobación.",
)


class Cleared(Struct, frozen=True, tag="cleared"):
    body: str
    verdicts: tuple[Verdict, ...]
    not_before: datetime | None = None


class Vetoed(Struct, frozen=True, tag="vetoed"):
    """`code` and `gate` are of the first veto; `instructions` hold every problem, for the model, without internals."""

    code: str
    gate: str
    instructions: tuple[str, ...]
    verdicts: tuple[Verdict, ...]


class Deferred(Struct, frozen=True, tag="deferred"):
    retry_at: datetime
    verdicts: tuple[Verdict, ...]


ChainResult = Cleared | Vetoed | Deferred
Judge = Callable[[Gate, Draft, Facts], Verdict]


def judge(gate: Gate, draft: Draft, facts: Facts) -> Verdict:
    """One gate's verdict, with its failures turned into what the gate declared."""
    try:
        verdict = _well_formed(gate.judge(draft, facts))
    except MissingFactError as missing:
        verdict = _without_fact(gate, draft, facts, str(missing))
    except Exception as crash:  # noqa: BLE001 (a crashing gate never clears)
        verdict = _refused(draft, "gate_failed", f"{type(crash).__name__}: {crash}")
    return replace(verdict, gate=gate.name)


def _well_formed(verdict: Verdict) -> Verdict:
    if verdict.outcome is Outcome.DEFER and verdict.retry_at is None:
        raise ValueError("a deferral names no time")
    if verdict.outcome is Outcome.AMENDED and not verdict.amended_body:
        raise ValueError("an amendment carries no text")
    return verdict


def run(
    draft: Draft,
    facts: Facts,
    phase: Phase,
    chain: Sequence[Gate] = CHAIN,
    judge_one: Judge = judge,
) -> ChainResult:
    """Judge `draft`. `judge_one` lets the shell time and count each gate; it must return what `judge` returns."""
    verdicts = _verdicts(draft, facts, chain, judge_one)
    if phase is Phase.DISPATCH:
        return _result(draft, tuple(_amendment_refused(draft, verdict) for verdict in verdicts), phase, chain)
    result = _result(draft, verdicts, phase, chain)
    amended = _first(verdicts, Outcome.AMENDED)
    if amended is None or isinstance(result, Vetoed):
        return result
    again = _run_amended(draft, amended, facts, chain, judge_one)
    return result if isinstance(again, Cleared) and isinstance(result, Deferred) else again


def _run_amended(draft: Draft, amended: Verdict, facts: Facts, chain: Sequence[Gate], judge_one: Judge) -> ChainResult:
    changed = replace(draft, body=amended.amended_body or "")
    again = (_amendment_refused(changed, verdict) for verdict in _verdicts(changed, facts, chain, judge_one))
    kept = tuple(amended if _confirms(verdict, amended) else verdict for verdict in again)
    return _result(changed, kept, Phase.FILING, chain)


def _confirms(verdict: Verdict, amended: Verdict) -> bool:
    return verdict.gate == amended.gate and verdict.outcome is Outcome.PASS


def _verdicts(draft: Draft, facts: Facts, chain: Sequence[Gate], judge_one: Judge) -> tuple[Verdict, ...]:
    verdicts: list[Verdict] = []
    is_vetoed = False
    for gate in chain:
        if is_vetoed and not gate.judges_text:
            verdicts.append(Verdict(outcome=Outcome.SKIPPED, gate=gate.name))
            continue
        verdicts.append(judge_one(gate, draft, facts))
        is_vetoed = is_vetoed or verdicts[-1].outcome is Outcome.VETO
    return tuple(verdicts)


def _result(draft: Draft, verdicts: tuple[Verdict, ...], phase: Phase, chain: Sequence[Gate]) -> ChainResult:
    veto = _first(verdicts, Outcome.VETO)
    if veto is not None:
        instructions = tuple(each.instruction for each in verdicts if each.instruction)
        return Vetoed(code=veto.code or "vetoed", gate=veto.gate, instructions=instructions, verdicts=verdicts)
    deferrals = [(verdict, gate) for verdict, gate in zip(verdicts, chain, strict=True) if verdict.retry_at]
    latest = max((verdict.retry_at for verdict, _ in deferrals if verdict.retry_at), default=None)
    holds = phase is Phase.DISPATCH or any(gate.judges_text for _, gate in deferrals)
    if latest is not None and holds:
        return Deferred(retry_at=latest, verdicts=verdicts)
    return Cleared(body=draft.body, verdicts=verdicts, not_before=latest)


def _first(verdicts: Sequence[Verdict], outcome: Outcome) -> Verdict | None:
    return next((verdict for verdict in verdicts if verdict.outcome is outcome), None)


def _amendment_refused(draft: Draft, verdict: Verdict) -> Verdict:
    if verdict.outcome is not Outcome.AMENDED:
        return verdict
    instruction = verdict.instruction or _REWRITE_UNCHANGED.say(draft.language)
    code = verdict.code or "reapproval_required"
    return replace(verdict, outcome=Outcome.VETO, code=code, instruction=instruction, amended_body=None)


def _without_fact(gate: Gate, draft: Draft, facts: Facts, cause: str) -> Verdict:
    if gate.on_missing is OnMissing.OPEN:
        return Verdict(outcome=Outcome.PASS, warning=cause)
    if gate.on_missing is OnMissing.DEFER:
        return Verdict(outcome=Outcome.DEFER, code=gate.missing_code, retry_at=facts.now + _RETRY_AFTER, warning=cause)
    return _refused(draft, gate.missing_code, cause)


def _refused(draft: Draft, code: str, cause: str) -> Verdict:
    instruction = _END_THE_TURN.say(draft.language)
    return Verdict(outcome=Outcome.VETO, code=code, instruction=instruction, warning=cause)


@lru_cache(maxsize=1)
def chain_hash() -> str:
    """Over version and content: what a verdict says it was made by. 64 hex digits."""
    return hashlib.sha256(f"{CHAIN_VERSION}:{content_hash()}".encode()).hexdigest()


def content_hash(chain: Sequence[Gate] = CHAIN) -> str:
    """Over names, order, and the source of every gate and of the rules that it uses; not over the version's number.

    64 hex digits. `chain_lock.py` holds each version to its content.
    """
    digest = hashlib.sha256()
    for module in hashed_modules(()):
        digest.update(_source(module))
    for gate in chain:
        digest.update(gate.name.encode())
        for module in _modules(gate):
            digest.update(_source(module))
    return digest.hexdigest()


def hashed_modules(chain: Sequence[Gate] = CHAIN) -> tuple[ModuleType, ...]:
    """What every gate rests on, and what the gates of `chain` add."""
    shared = (facts_module, gate_module, sys.modules[__name__], sweeps, text, patterns)
    return (*shared, *(module for gate in chain for module in _modules(gate)))


def _source(module: ModuleType) -> bytes:
    """Without the line that states the version: raising it must not change the content."""
    lines = inspect.getsource(module).splitlines()
    return "\n".join(line for line in lines if not line.startswith("CHAIN_VERSION: Final")).encode()


def _modules(gate: Gate) -> tuple[ModuleType, ...]:
    return (sys.modules[gate.judge.__module__], *gate.rules)
