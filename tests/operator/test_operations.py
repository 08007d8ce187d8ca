"""Every operation that is found, over its own examples; and what no operation may be."""

from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import msgspec
import pytest

from contracts.messages import OwnershipChanged
from services.operator.catalogue import CatalogueError, catalogue, offered
from services.operator.operation import SAYABLE, Done, Example, ForbiddenWordError, Ids, Operation
from services.operator.operations.add_tag import AddTag
from services.operator.state import Settings, State
from services.operator.turn import outcome_of
from shared.bus.effects import Effects

NOW = datetime(2026, 8, 10, 12, tzinfo=UTC)
IDS = Ids(UUID(int=7), 3)
ALL = catalogue()
EXAMPLES = [pytest.param(one, example, id=f"{name}-{place}")
            for name, one in ALL.items() for place, example in enumerate(one.examples)]  # fmt: skip


def run(operation: Operation, example: Example) -> Any:
    return operation.run(msgspec.json.encode(example.arguments).decode(), example.state, IDS, NOW)


@pytest.mark.parametrize(("operation", "example"), EXAMPLES)
def test_an_example_ends_as_it_says(operation: Operation, example: Example) -> None:
    result = run(operation, example)
    assert outcome_of(result) == example.ends
    assert example.names in (result.entry if isinstance(result, Done) else result.why)


@pytest.mark.parametrize(("operation", "example"), EXAMPLES)
def test_only_a_change_has_effects_and_it_changes_the_state(operation: Operation, example: Example) -> None:
    result = run(operation, example)
    if isinstance(result, Done):
        assert bool(result.effects.writes) == (example.ends == "changed")
        assert (result.state != example.state) == (example.ends == "changed")


@pytest.mark.parametrize(("operation", "example"), EXAMPLES)
def test_the_same_call_again_makes_the_same_ids_and_finds_it_done(operation: Operation, example: Example) -> None:
    first, again = run(operation, example), run(operation, example)
    assert first == again
    if isinstance(first, Done):
        after = operation.run(msgspec.json.encode(example.arguments).decode(), first.state, IDS, NOW)
        assert outcome_of(after) == "unchanged"


@pytest.mark.parametrize("operation", ALL.values(), ids=list(ALL))
def test_an_unknown_field_is_refused_by_name_though_the_schema_offered_is_wide(operation: Operation) -> None:
    good = next(one for one in operation.examples if one.ends == "changed")
    refused = run(operation, Example({**good.arguments, "send_to": "5511"}, good.state, "refused"))
    assert outcome_of(refused) == "refused"
    assert "send_to" in refused.why
    assert "additionalProperties" not in operation.schema()


@pytest.mark.parametrize("operation", ALL.values(), ids=list(ALL))
def test_every_field_and_operation_is_described_to_the_model(operation: Operation) -> None:
    schema = operation.schema()
    assert len(schema["description"]) > 30
    assert all(field.get("description") for field in schema["properties"].values())


@pytest.mark.parametrize("operation", ALL.values(), ids=list(ALL))
def test_an_operation_shows_a_change_and_a_refusal(operation: Operation) -> None:
    assert {"changed", "refused"} <= {example.ends for example in operation.examples}


@pytest.mark.parametrize("arguments", ["", "{", "[]", "null", '"x"', "\x00", '{"tag": "\\ud800"}'])
def test_arguments_that_are_no_object_are_refused_and_not_an_error(arguments: str) -> None:
    result = ALL["add_tag"].run(arguments, ALL["add_tag"].examples[0].state, IDS, NOW)
    assert outcome_of(result) == "refused"


def test_the_five_first_operations_are_found() -> None:
    assert set(ALL) >= {"move_stage", "add_tag", "create_task", "open_case", "record_fact"}


def test_no_operation_sends() -> None:
    speaking = ("send", "reply", "message", "speak", "say", "notify", "email", "whatsapp")
    assert not [name for name in ALL if any(word in name for word in speaking)]


def test_what_operations_may_say_leads_to_no_send() -> None:
    assert {message.__name__ for message in SAYABLE} == {
        "CaseOpened", "CaseClosed", "FollowUpScheduled", "FactRecorded", "AlertRaised",
    }  # fmt: skip


def test_an_operation_that_says_a_foreign_message_is_stopped() -> None:
    seizes = OwnershipChanged(tenant=UUID(int=1), conversation_id=UUID(int=1), owner="agent", version=9, at=NOW)

    def decide(_arguments: AddTag, state: State, _ids: Ids, _now: datetime) -> Done:
        return Done(state, Effects(says=(seizes,)), "mine")

    rogue = Operation("rogue", AddTag, decide, "safe", "serve", ())
    with pytest.raises(ForbiddenWordError, match="OwnershipChanged"):
        rogue.run('{"tag": "x"}', ALL["add_tag"].examples[0].state, IDS, NOW)


def test_people_only_and_critical_operations_are_not_offered() -> None:
    tag = ALL["add_tag"]
    everything = {
        "add_tag": tag,
        "human": Operation("human", AddTag, tag.decide, "safe", "serve", (), human_only=True),
        "critical": Operation("critical", AddTag, tag.decide, "critical", "serve", ()),
    }
    assert list(offered(everything, Settings())) == ["add_tag"]
    assert list(offered(everything, Settings(operations=()))) == []
    assert list(offered(everything, Settings(operations=("human", "add_tag")))) == ["add_tag"]


def test_a_file_without_an_operation_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    from services.operator.operations import add_tag  # noqa: PLC0415 - the module itself is changed

    monkeypatch.setattr(add_tag, "OPERATION", None)
    with pytest.raises(CatalogueError, match=r"operations/add_tag\.py"):
        catalogue.__wrapped__()


def test_a_file_whose_operation_bears_another_name_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    from services.operator.operations import add_tag  # noqa: PLC0415 - the module itself is changed

    monkeypatch.setattr(add_tag, "OPERATION", ALL["open_case"])
    with pytest.raises(CatalogueError, match="must agree"):
        catalogue.__wrapped__()
