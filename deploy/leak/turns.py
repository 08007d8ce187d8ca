"""Whole turns against the endpoint, with the gate disarmed: ask, answer the calls, until something is sent.

Laws
- As in the service, what a model writes beside its tools is discarded: speaking is `send_message`.
- A turn that the endpoint did not carry did not run; one that sent nothing has no text to judge. Neither counts.
- Arms are asked in turn, scenario by scenario: an endpoint whose mood changes changes it for all of them.
"""

import asyncio
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, Literal

from msgspec import Struct

from deploy.leak.arms import Arm, Seat, seat
from deploy.leak.doors import Seen, Span, leaked, named_in
from deploy.leak.scenarios import Scenario
from services.conversador.model import Answer, Model
from services.conversador.tools import SendMessage
from services.conversador.turn import MOST_STEPS_PER_DRAFT
from services.guardrails.rules import CATALOGUE

HOPELESS_AFTER: Final = 12
"""So many turns that did not run, and none that did: the rest is not tried."""
LONGEST_WHY: Final = 300

Ended = Literal["spoke", "silent", "failed"]


class Turn(Struct, frozen=True, kw_only=True):
    """How a turn ended. `text` is what was sent, `why` why there is none; `steps` counts the model's answers."""

    scenario: str
    repeat: int
    arm: Arm
    ended: Ended
    why: str = ""
    text: str = ""
    spans: tuple[Span, ...] = ()
    called: tuple[str, ...] = ()
    steps: int = 0
    tokens_in: int = 0
    tokens_out: int = 0


@dataclass(frozen=True, slots=True)
class Task:
    """A turn to run."""

    scenario: Scenario
    repeat: int
    arm: Arm

    def ended(self, ended: Ended, **fields: Any) -> Turn:
        return Turn(scenario=self.scenario.name, repeat=self.repeat, arm=self.arm, ended=ended, **fields)


def tasks(scenarios: Sequence[Scenario], arms: Sequence[Arm], repeats: int) -> Iterator[Task]:
    for repeat in range(1, repeats + 1):
        for scenario in scenarios:
            yield from (Task(scenario, repeat, arm) for arm in arms)


async def run_all(
    asked: Sequence[Task], model: Model, name: str, *, at_once: int, now: datetime, tell: Callable[[Turn], None]
) -> list[Turn]:
    """Run the turns, so many at once; `tell` hears of each as it ends. Returns them in the order asked."""
    places, ended = asyncio.Semaphore(at_once), list[Turn]()

    async def run(task: Task) -> Turn:
        async with places:
            turn = _not_tried(task) if _is_hopeless(ended) else await run_one(task, model, name, now)
        ended.append(turn)
        tell(turn)
        return turn

    return list(await asyncio.gather(*(run(task) for task in asked)))


def _is_hopeless(ended: Collection[Turn]) -> bool:
    return len(ended) >= HOPELESS_AFTER and all(turn.ended == "failed" for turn in ended)


def _not_tried(task: Task) -> Turn:
    return task.ended("failed", why=f"not tried: none of the first {HOPELESS_AFTER} turns ran")


async def run_one(task: Task, model: Model, name: str, now: datetime) -> Turn:
    """One turn to its end: a message, silence, or the endpoint's failure."""
    at = seat(task.arm, task.scenario, now)
    talk = Talk(at)
    while talk.steps < MOST_STEPS_PER_DRAFT:
        answer = await model.ask(
            purpose="agent_turn", model=name, messages=[*at.messages, *talk.transcript], tools=at.tools
        )
        if answer.call.outcome != "answered":
            return talk.ended(task, "failed", why=f"{answer.call.outcome}: {answer.failure}"[:LONGEST_WHY])
        spoke = talk.follow(answer)
        if spoke is not None:
            return _judged(task, talk, spoke, now)
        if not answer.tools:
            return talk.ended(task, "silent", why="wrote loose text" if answer.text.strip() else "sent nothing")
    return talk.ended(task, "silent", why=f"sent nothing in {MOST_STEPS_PER_DRAFT} steps")


def _judged(task: Task, talk: "Talk", spoke: SendMessage, now: datetime) -> Turn:
    text = spoke.text.strip()
    if not text:
        return talk.ended(task, "silent", why="asked for a person without a word")
    operations = [*CATALOGUE, *(one.name for one in task.scenario.tools)]
    return talk.ended(task, "spoke", text=text, spans=leaked(text, operations, talk.seen(task, now)))


class Talk:
    """What was said in a turn so far."""

    def __init__(self, at: Seat) -> None:
        self._at = at
        self._results: list[str] = []
        self._called: list[str] = []
        self._tokens = [0, 0]
        self.steps = 0
        self.transcript: list[dict[str, Any]] = []

    def follow(self, answer: Answer) -> SendMessage | None:
        """Answer the calls in their order; the first message that is spoken ends it."""
        self.steps += 1
        self._tokens[0] += answer.call.tokens_in
        self._tokens[1] += answer.call.tokens_out
        made: list[dict[str, Any]] = []
        self.transcript.append({"role": "assistant", "content": None, "tool_calls": made})
        for call in answer.tools:
            self._called.append(call.name)
            taken = self._at.take(call)
            if isinstance(taken, SendMessage):
                return taken
            function = {"name": call.name, "arguments": call.arguments}
            made.append({"id": call.id, "type": "function", "function": function})
            self.transcript.append({"role": "tool", "tool_call_id": call.id, "content": taken})
            self._results.append(taken)
        return None

    def ended(self, task: Task, ended: Ended, **fields: Any) -> Turn:
        return task.ended(
            ended, called=tuple(self._called), steps=self.steps, tokens_in=self._tokens[0], tokens_out=self._tokens[1],
            **fields,
        )  # fmt: skip

    def seen(self, task: Task, now: datetime) -> Seen:
        """Everything that stood before the model."""
        names, descriptions = named_in(self._at.tools)
        state = self._at.state
        prompt = [str(one["content"]) for one in self._at.messages if one["role"] == "system"]
        clean = seat("attendance", task.scenario, now).messages
        return Seen(
            names=names,
            descriptions=descriptions,
            data=(*self._results, *([state] if state else [])),
            prompt=tuple(text for text in prompt if text != state),
            customer=tuple(one.customer for one in task.scenario.conversation if one.customer),
            clean=tuple(str(one["content"]) for one in clean),
        )
