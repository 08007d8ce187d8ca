"""What the model of each arm is told and offered, and what answers its calls: all of it by the services' own code."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial
from typing import Any, Final, Literal, TypeVar
from uuid import UUID

import msgspec
from msgspec import Struct

from contracts.messages import TurnClosed
from deploy.leak.scenarios import SPEAKING, Scenario
from services.conversador.context import Entry, Situation, drafting
from services.conversador.model import ToolCall
from services.conversador.projection import Projection, Shown
from services.conversador.stuck import Wall
from services.conversador.tools import (
    HISTORY,
    KNOWLEDGE,
    REFUSAL,
    TOOLS,
    KnowledgeFound,
    ReadHistory,
    Refusal,
    SaidEarlier,
    SearchKnowledge,
    SendMessage,
)
from services.operator import briefing, operation
from services.operator.catalogue import catalogue
from services.operator.model import AskedCall, Function
from services.operator.state import Case, Fact, Lead, Line, State, Task
from services.operator.turn import Desk
from shared.ids import derived_id
from shared.tool_breaker import Call as Asked

Arm = Literal["attendance", "hybrid", "operator"]
Taken = str | SendMessage
R = TypeVar("R")

ALSO_SPEAK: Final = (
    "In this turn you answer the customer yourself, too: when the books are kept, call send_message once, in the "
    "language of the customer."
)
"""What this measurement adds to the operating role, which has no way to speak."""

_ROOT: Final = UUID("6f1b2a52-6a0f-5d3e-9a35-6c0f5b8d7e21")
_MINUTES_BETWEEN: Final = 4


@dataclass(frozen=True, slots=True)
class Seat:
    """`state` is the raw state among the messages, empty where there is none; `take` answers a call, or is spoken to:
    then it gives the message.
    """

    messages: list[dict[str, Any]]
    tools: list[dict[str, Any]]
    take: Callable[[ToolCall], Taken]
    state: str = ""


def seat(arm: Arm, scenario: Scenario, now: datetime) -> Seat:
    attended = drafting(_situation(scenario, now), ())
    if arm == "attendance":
        return Seat(attended, TOOLS.offered, partial(_attend, scenario, Wall()))
    raw = _state(scenario, now)
    desk = Desk(_operations(scenario), raw, derived_id(_ROOT, f"{scenario.name}:turn"), now)
    told = briefing.situation(_turn(scenario, now), raw, now)
    outside = {one.name: one.told for one in scenario.tools}
    return Seat(
        _with_state(attended, told) if arm == "hybrid" else _operating(told),
        [*briefing.tools(_operations(scenario)), *_outside(scenario), *TOOLS.offered],
        partial(_take_any, scenario, desk, outside),
        told,
    )


def _with_state(attended: list[dict[str, Any]], state: str) -> list[dict[str, Any]]:
    """After the words of the house, before those of the customer."""
    first = next(place for place, message in enumerate(attended) if message["role"] != "system")
    return [*attended[:first], {"role": "system", "content": state}, *attended[first:]]


def _operating(state: str) -> list[dict[str, Any]]:
    return [
        {"role": "system", "content": briefing.OFFICE},
        {"role": "system", "content": ALSO_SPEAK},
        {"role": "user", "content": state},
    ]


# ------------------------------------------------------------------------------------------------ what answers calls


def _attend(scenario: Scenario, wall: Wall, call: ToolCall) -> Taken:
    asked = Asked(call.name, call.arguments)
    taken = wall.refuses(asked) or _take(scenario, _projected, call)
    return taken if isinstance(taken, SendMessage) else wall.noted(asked, taken).text


def _projected(projection: Projection[Any], *results: Struct) -> Shown:
    return projection.show(*results)


def _raw(_: Projection[Any], *results: Struct) -> str:
    return msgspec.json.encode(results).decode()


def _take(scenario: Scenario, show: Callable[..., R], call: ToolCall) -> R | SendMessage:
    match TOOLS.decode(call.name, call.arguments):
        case SendMessage() as words if words.text.strip() or words.needs_person:
            return words
        case SendMessage():
            return show(REFUSAL, Refusal(("`text` is empty.",), "Write the message in `text`."))
        case Refusal() as refusal:
            return show(REFUSAL, refusal)
        case ReadHistory(limit):
            return show(HISTORY, *_earlier(scenario)[-limit:])
        case SearchKnowledge():
            return show(KNOWLEDGE, *_found(scenario))


def _take_any(scenario: Scenario, desk: Desk, outside: Mapping[str, str], call: ToolCall) -> Taken:
    if call.name in SPEAKING:
        return _take(scenario, _raw, call)
    if call.name in outside:
        return outside[call.name]
    return desk.take(AskedCall(call.id, Function(call.name, call.arguments)))


def _operations(scenario: Scenario) -> Mapping[str, operation.Operation]:
    return {
        name: replace(one, decide=partial(_refuse, scenario.refusals[name])) if name in scenario.refusals else one
        for name, one in catalogue().items()
    }


def _refuse(why: str, *_: object) -> operation.Refusal:
    return operation.Refusal(why)


def _outside(scenario: Scenario) -> list[dict[str, Any]]:
    return [
        {
            "type": "function",
            "function": {"name": one.name, "description": one.description, "parameters": one.parameters},
        }
        for one in scenario.tools
    ]


# ------------------------------------------------------------------------------------------- what a scenario stands for


def _found(scenario: Scenario) -> list[KnowledgeFound]:
    return [
        KnowledgeFound(
            knowledge_id=str(derived_id(_ROOT, f"{scenario.name}:knowledge:{place}")),
            title=one.title,
            text=one.text,
            version=derived_id(_ROOT, one.text).hex[:12],
            score=round(0.9 - 0.1 * place, 2),
        )
        for place, one in enumerate(scenario.knowledge)
    ]


def _earlier(scenario: Scenario) -> list[SaidEarlier]:
    return [
        SaidEarlier("customer" if one.customer else "house", one.customer or one.us) for one in scenario.conversation
    ]


def _situation(scenario: Scenario, now: datetime) -> Situation:
    return Situation(
        kind="inbound_turn",
        language=scenario.language,
        now=now,
        house_name=scenario.house,
        knowledge_titles=tuple(one.title for one in scenario.knowledge),
        sender_name=scenario.customer_name,
        summary=scenario.summary,
        case_subject=scenario.case,
        facts=tuple((one.subject, one.value) for one in scenario.facts),
        found=tuple(_found(scenario)),
        entries=tuple(
            Entry(author="customer" if one.customer else "us", text=one.customer or one.us)
            for one in scenario.conversation
        ),
    )


def _state(scenario: Scenario, now: datetime) -> State:
    def made(what: str) -> UUID:
        return derived_id(_ROOT, f"{scenario.name}:{what}")

    return State(
        tenant=made("tenant"),
        conversation_id=made("conversation"),
        contact_id=made("contact"),
        language=scenario.language,
        lead=Lead(name=scenario.customer_name, stage=scenario.stage, version=3),
        seen_version=3,
        tags=scenario.tags,
        tasks=tuple(
            Task(
                task_id=made(f"task:{place}"),
                title=one.title,
                due_at=None if one.due_in_days is None else now + timedelta(days=one.due_in_days),
            )
            for place, one in enumerate(scenario.tasks)
        ),
        case=Case(case_id=made("case"), subject=scenario.case, opened_at=now - timedelta(days=1))
        if scenario.case
        else None,
        facts=tuple(
            Fact(kind=one.kind, subject=one.subject, value=one.value, source="operator", observed_at=now)
            for one in scenario.facts
        ),
        lines=tuple(_lines(scenario, now)),
    )


def _lines(scenario: Scenario, now: datetime) -> list[Line]:
    count = len(scenario.conversation)
    return [
        Line(
            by="customer" if one.customer else "business",
            text=one.customer or one.us,
            at=now - timedelta(minutes=_MINUTES_BETWEEN * (count - place)),
        )
        for place, one in enumerate(scenario.conversation)
    ]


def _turn(scenario: Scenario, now: datetime) -> TurnClosed:
    """The turn that the operating role would hear of: nobody has evaluated it, so it reads the lines itself."""

    def made(what: str) -> UUID:
        return derived_id(_ROOT, f"{scenario.name}:{what}")

    return TurnClosed(
        tenant=made("tenant"),
        turn_id=made("turn"),
        conversation_id=made("conversation"),
        contact_id=made("contact"),
        channel_id=made("channel"),
        kind="inbound_turn",
        outcome="silent",
        origin="none",
        closed_at=now,
    )
