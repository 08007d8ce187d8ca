"""The closing call of a turn: what it meant, in business language; asked for by us, never left to the model's memory.

One answer, one correction, one try of the model that speaks where a cheaper one was bound; then the whole is tried
again, and after that the turn closes with nobody's evaluation. It never repeats a message and never waits for people.
"""

from dataclasses import dataclass, field
from typing import Any

import msgspec

from contracts.messages import Checkpoint
from services.conversador import context, metrics, moves
from services.conversador.checkpoint import RESPONSE_FORMAT, Broken, correction, decode
from services.conversador.model import Answer, Call
from services.conversador.speaking import Role, live_at
from services.conversador.store.scenes import scene_of
from services.conversador.store.turns import adopt_summary, save_call
from services.conversador.turn import Turn
from shared.bus import Effects, Job
from shared.db import Tx

_RETRY_SECONDS = 2.0


@dataclass(frozen=True, slots=True)
class Asking:
    """A turn that closes, and the request for what it meant."""

    turn: Turn
    messages: list[dict[str, Any]]


@dataclass(slots=True)
class Evaluated:
    """The checkpoint, or None when nobody could evaluate; and every request that was made for it."""

    checkpoint: Checkpoint | None = None
    origin: moves.Origin = "none"
    calls: list[Call] = field(default_factory=list[Call])


async def prepare(role: Role, tx: Tx, job: Job) -> Asking | None:
    step = msgspec.json.decode(job.payload, type=moves.Step)
    scene = await scene_of(tx, step.conversation_id)
    turn = live_at(scene, step, "closing")
    if turn is None:
        return None
    situation = await role.situation(tx, scene, turn, job.now)
    return Asking(turn, context.closing(situation, turn.body))


async def work(role: Role, asking: Asking) -> Evaluated:
    own = role.config.model_name
    bound = role.config.checkpoint_model_name or own
    evaluated = Evaluated()
    checkpoint = await _with_one_correction(role, bound, asking, evaluated)
    origin: moves.Origin = "agent_model"
    if checkpoint is None and bound != own:
        read = _read(await _ask(role, own, asking.messages, evaluated))
        checkpoint, origin = (read if isinstance(read, Checkpoint) else None), "format_reserve"
    evaluated.checkpoint = checkpoint
    evaluated.origin = origin if checkpoint is not None else "none"
    return evaluated


async def _with_one_correction(role: Role, model: str, asking: Asking, evaluated: Evaluated) -> Checkpoint | None:
    answer = await _ask(role, model, asking.messages, evaluated)
    first = _read(answer)
    if not isinstance(first, Broken):
        return first
    corrected = [
        *asking.messages,
        {"role": "assistant", "content": answer.text},
        {"role": "user", "content": correction(first, asking.turn.language)},
    ]
    second = _read(await _ask(role, model, corrected, evaluated))
    return None if isinstance(second, Broken) else second


async def _ask(role: Role, model: str, messages: list[dict[str, Any]], evaluated: Evaluated) -> Answer:
    answer = await role.model.ask(purpose="checkpoint", model=model, messages=messages, response_format=RESPONSE_FORMAT)
    evaluated.calls.append(answer.call)
    return answer


def _read(answer: Answer) -> Checkpoint | Broken | None:
    """None when there was no answer: nothing to correct then."""
    return decode(answer.text) if answer.call.outcome == "answered" else None


async def finish(role: Role, tx: Tx, job: Job, asking: Asking, evaluated: Evaluated) -> Effects:
    step = msgspec.json.decode(job.payload, type=moves.Step)
    metrics.count_calls(evaluated.calls)
    recorded = Effects(
        writes=[
            save_call(asking.turn, call, key=f"{step.step}-{step.attempt}-{place}", at=job.now)
            for place, call in enumerate(evaluated.calls)
        ]
    )
    scene = await scene_of(tx, step.conversation_id)
    turn = live_at(scene, step, "closing")
    if turn is None:
        return recorded
    if evaluated.checkpoint is None and step.attempt < role.config.closing_attempts:
        again = moves.closing_job(turn, attempt=step.attempt + 1, after_seconds=_RETRY_SECONDS * step.attempt)
        return recorded + Effects(jobs=[again])
    closed = moves.close(scene, turn, job.now, evaluated.checkpoint, evaluated.origin)
    metrics.count_turns(closed.says)
    return recorded + closed + Effects(writes=[adopt_summary(turn.id)])
