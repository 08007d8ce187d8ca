"""A promise binds when its text leaves: only then does somebody have to be responsible for it."""

import pytest

from tests.operator.conftest import ScriptedModel
from tests.operator.world import WANTS_TO_RESCHEDULE, World, promised

RETURN = promised("retornar na terça")


async def state_of_promise(world: World) -> str:
    return await world.bench.value("select state from promise")


async def test_nobody_is_responsible_is_said_only_after_the_send(world: World) -> None:
    turn = await world.turn_closes(RETURN)
    await world.text_is_filed(turn)
    assert not await world.alerts()
    await world.text_is_sent()
    (alert,) = await world.alerts()
    assert (alert.kind, alert.severity, alert.turn_id) == ("promise_without_owner", "warning", turn.turn_id)
    assert alert.text == "Ninguém é responsável por: retornar na terça"
    assert await world.bench.value("select count(*) from timeline where kind = 'promise_without_owner'") == 1


async def test_the_alert_speaks_the_conversations_language(world: World) -> None:
    await world.customer_writes("can you call me back?", language="en")
    turn = await world.turn_closes(promised("call back on Tuesday"))
    await world.text_is_filed(turn)
    await world.text_is_sent()
    (alert,) = await world.alerts()
    assert alert.text == "Nobody is responsible for: call back on Tuesday"


async def test_each_ownerless_promise_is_told_once_however_often_the_send_is_heard(world: World) -> None:
    turn = await world.turn_closes(promised("retornar", "mandar a lista"))
    await world.text_is_filed(turn)
    for _ in range(3):
        await world.text_is_sent()
    assert len(await world.alerts()) == 2


async def test_a_turn_that_acted_owns_its_promises(world: World, model: ScriptedModel) -> None:
    model.calls(("create_task", {"title": "Retornar", "due_at": "2999-01-05T10:00:00-03:00"}))
    turn = await world.turn_closes(RETURN)
    await world.text_is_filed(turn)
    await world.text_is_sent()
    assert not await world.alerts()
    assert await state_of_promise(world) == "owned"


@pytest.mark.parametrize("owner", [("create_task", {"title": "Retornar"}), ("open_case", {"subject": "Retornar"})])
async def test_a_live_task_or_case_of_an_earlier_turn_owns_the_promise(
    world: World, model: ScriptedModel, owner: tuple[str, dict[str, str]]
) -> None:
    model.calls(owner)
    await world.turn_closes(WANTS_TO_RESCHEDULE)
    await world.bench.said()
    turn = await world.turn_closes(RETURN)
    await world.text_is_filed(turn)
    await world.text_is_sent()
    assert not await world.alerts()


async def test_a_closed_task_owns_nothing(world: World, model: ScriptedModel) -> None:
    model.calls(("create_task", {"title": "Retornar"}))
    await world.turn_closes(WANTS_TO_RESCHEDULE)
    async with world.bench.db.transaction() as tx:
        await tx.execute("update task set state = 'done'")
    turn = await world.turn_closes(RETURN)
    await world.text_is_filed(turn)
    await world.text_is_sent()
    assert len(await world.alerts()) == 1


@pytest.mark.parametrize("order", ["send, filing, turn", "filing, send, turn", "send, turn, filing"])
async def test_the_order_in_which_topics_arrive_does_not_matter(world: World, order: str) -> None:
    turn = world.turn(RETURN)
    for step in order.split(", "):
        assert not await world.alerts()
        if step == "send":
            await world.text_is_sent()
        elif step == "filing":
            await world.text_is_filed(turn)
        else:
            await world.bench.hear(turn)
            await world.bench.run_jobs()
    assert len(await world.alerts()) == 1


async def test_a_rejected_text_voids_its_promises(world: World) -> None:
    turn = await world.turn_closes(RETURN)
    await world.text_is_filed(turn)
    await world.text_is_rejected(turn)
    assert await state_of_promise(world) == "void"
    assert not await world.alerts()


@pytest.mark.parametrize("how", ["expired", "invalidated", "superseded", "withdrawn"])
async def test_an_approval_that_ended_voids_its_promises(world: World, how: str) -> None:
    turn = await world.turn_closes(RETURN)
    await world.text_is_filed(turn)
    await world.approval_ends(turn, how)
    assert await state_of_promise(world) == "void"
    assert not await world.alerts()


async def test_a_text_filed_again_after_its_end_promises_again(world: World) -> None:
    turn = await world.turn_closes(RETURN)
    await world.text_is_filed(turn, epoch=0)
    await world.approval_ends(turn, "invalidated", epoch=0)
    await world.text_is_filed(turn, epoch=1)
    await world.approval_ends(turn, "invalidated", epoch=0)  # late word about the old epoch
    assert await state_of_promise(world) == "waiting"
    await world.text_is_sent()
    assert len(await world.alerts()) == 1


async def test_another_turns_send_says_nothing_about_this_promise(world: World) -> None:
    await world.turn_closes(RETURN)
    await world.text_is_filed(world.turn(None))
    await world.text_is_sent()
    assert not await world.alerts()
    assert await state_of_promise(world) == "waiting"


async def test_a_person_who_has_the_conversation_is_responsible(world: World) -> None:
    turn = await world.turn_closes(RETURN)
    await world.text_is_filed(turn)
    await world.ownership("person", 1)
    await world.text_is_sent()
    assert not await world.alerts()
