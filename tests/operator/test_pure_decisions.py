"""Skip rules, stages, breaker and promises: decisions without a database."""

from itertools import pairwise
from uuid import UUID

import pytest
from msgspec.structs import replace

from contracts.messages import Checkpoint, Declaration, TurnClosed
from services.operator import stages
from services.operator.catalogue import catalogue
from services.operator.decision import Called, CallOutcome, Use, conclude, not_made_good, why_skip
from services.operator.promises import FilingState, Kept, PromiseState, Standing, judge
from services.operator.state import Case, Settings, State
from services.operator.turn import settle
from shared.tool_breaker import Breaker, BreakerState, Call, Result
from tests.operator.world import AT, NOTHING_TO_DECLARE

ID = UUID(int=1)
STATE = State(tenant=ID, conversation_id=ID, contact_id=ID)
TURN = TurnClosed(
    tenant=ID, turn_id=ID, conversation_id=ID, contact_id=ID, channel_id=ID, kind="inbound_turn", outcome="spoke",
    checkpoint=Checkpoint(declaration=NOTHING_TO_DECLARE), closed_at=AT,
)  # fmt: skip


def declared(declaration: Declaration | None) -> TurnClosed:
    return replace(TURN, checkpoint=Checkpoint(declaration=declaration))


def test_the_skip_rules_come_in_their_order() -> None:
    off = Settings(is_role_on=False)
    held = replace(STATE, owner="person")
    assert why_skip(replace(TURN, kind="preview_turn"), held, off, 0) == "preview"
    assert why_skip(TURN, held, off, 0) == "person_has_lead"
    assert why_skip(TURN, STATE, off, 0) == "role_off"
    assert why_skip(TURN, STATE, Settings(), 0) == "nothing_to_declare"
    assert why_skip(declared(Declaration()), STATE, Settings(), 0) == "no_operations"
    assert why_skip(declared(Declaration()), STATE, Settings(), 1) is None


def test_absent_is_not_empty_and_empty_lists_assert_nothing() -> None:
    for turn in (replace(TURN, checkpoint=None), declared(None), declared(Declaration())):
        assert why_skip(turn, STATE, Settings(), 1) is None
    assert why_skip(declared(NOTHING_TO_DECLARE), STATE, Settings(), 1) == "nothing_to_declare"


def test_a_lead_goes_one_step_forward_or_is_lost() -> None:
    for one, following in pairwise(stages.PATH):
        assert not stages.why_not(one, following)
        assert not stages.why_not(one, "lost")
    assert stages.why_not("new", "qualifying")
    assert stages.why_not("qualified", "qualifying")
    assert "only a person" in stages.why_not("won", "lost")
    assert "only a person" in stages.why_not("lost", "new")


CALL = Call("add_tag", "{}")


def after(count: int, result: Result, call: Call = CALL, breaker: Breaker | None = None) -> Breaker:
    breaker = breaker or Breaker()
    for _ in range(count):
        breaker = breaker.after(call, result)
    return breaker


def test_the_same_call_failing_warns_at_2_and_opens_at_5() -> None:
    assert not after(1, "failed").warning(CALL)
    assert "exact call" in after(2, "failed").warning(CALL)
    assert not after(4, "failed").is_open(CALL)
    assert after(5, "failed").is_open(CALL)
    assert not after(5, "failed").is_open(Call("add_tag", '{"other": 1}'))
    assert after(5, "failed").state_of("add_tag") is BreakerState.OPEN


def test_the_same_tool_failing_warns_at_3_and_stops_the_turn_at_8() -> None:
    breaker = Breaker()
    for number in range(8):
        assert not breaker.why_stop()
        call = Call("add_tag", str(number))
        breaker = breaker.after(call, "failed")
        assert bool(breaker.warning(call)) == (number + 1 >= 3)
    assert "add_tag" in breaker.why_stop()


def test_no_progress_warns_at_3_and_stops_at_5() -> None:
    assert not after(2, "unchanged").warning(CALL)
    assert "changed nothing" in after(3, "unchanged").warning(CALL)
    assert not after(4, "unchanged").why_stop()
    assert after(5, "unchanged").why_stop()


def test_a_change_closes_its_tool_only() -> None:
    other = Call("open_case", "{}")
    breaker = after(2, "failed", other, after(4, "unchanged", breaker=after(4, "failed")))
    breaker = breaker.after(CALL, "changed")
    assert breaker.state_of("add_tag") is BreakerState.CLOSED
    assert breaker.state_of("open_case") is BreakerState.WARNED
    assert breaker.without_progress == 0
    assert not breaker.warning(CALL)


def called(ordinal: int, operation: str, outcome: CallOutcome) -> Called:
    return Called(ordinal=ordinal, operation=operation, arguments="{}", outcome=outcome)


def test_a_refusal_that_was_mended_is_made_good() -> None:
    mended = (called(0, "add_tag", "refused"), called(1, "add_tag", "changed"))
    assert not not_made_good(mended)
    assert len(not_made_good(mended[::-1])) == 1
    assert len(not_made_good((called(0, "add_tag", "refused"), called(1, "open_case", "changed")))) == 1


@pytest.mark.parametrize(
    ("outcomes", "conclusion"),
    [((), "nothing"), (("unchanged",), "nothing"), (("changed", "refused"), "acted"), (("refused",), "could_not_act")],
)
def test_calls_amount_to_one_outcome(outcomes: tuple[CallOutcome, ...], conclusion: str) -> None:
    calls = tuple(called(place, "add_tag", one) for place, one in enumerate(outcomes))
    assert conclude(calls, "", "", Use()).outcome == conclusion


STANDING = Standing(
    tenant=ID, turn_id=ID, conversation_id=ID, contact_id=ID, language="pt-BR", filings=("sent",), did_act=False,
    has_live_owner=False, promises=(Kept(promise_id=ID, what="retornar na terça", state="waiting"),),
)  # fmt: skip


@pytest.mark.parametrize(
    ("filings", "did_act", "has_live_owner", "state"),
    [
        ((), False, False, None),
        (("open",), False, False, None),
        (("sent",), False, False, "ownerless"),
        (("sent",), True, False, "owned"),
        (("sent",), False, True, "owned"),
        (("ended",), False, False, "void"),
        (("ended", "open"), False, False, None),
        (("ended", "sent"), False, False, "ownerless"),
    ],
)
def test_a_waiting_promise_is_judged_by_what_became_of_its_text(
    filings: tuple[FilingState, ...], did_act: bool, has_live_owner: bool, state: PromiseState | None
) -> None:
    standing = replace(STANDING, filings=filings, did_act=did_act, has_live_owner=has_live_owner)
    assert [one.state for one in judge(standing)] == ([state] if state else [])


def test_a_promise_is_judged_once_and_a_void_one_wakes_when_its_text_is_filed_again() -> None:
    def with_state(state: PromiseState, filings: tuple[FilingState, ...]) -> list[PromiseState]:
        kept = Kept(promise_id=ID, what="x", state=state)
        return [one.state for one in judge(replace(STANDING, promises=(kept,), filings=filings))]

    assert with_state("ownerless", ("sent",)) == []
    assert with_state("owned", ("sent",)) == []
    assert with_state("void", ("open",)) == ["waiting"]
    assert with_state("void", ()) == []


def test_a_call_that_the_model_was_refused_is_not_carried_out_behind_its_back() -> None:
    refused = Called(ordinal=0, operation="add_tag", arguments='{"tag": "vip"}', outcome="refused", why="not then")
    calls, effects = settle((refused,), catalogue(), STATE, ID, AT)
    assert calls == (refused,)
    assert not effects.writes


def test_a_call_that_no_longer_holds_is_settled_as_refused() -> None:
    case = Called(ordinal=0, operation="open_case", arguments='{"subject": "Bolo"}', outcome="changed")
    opened = replace(STATE, case=Case(case_id=ID, subject="Entrega", opened_at=AT))
    calls, effects = settle((case,), catalogue(), opened, ID, AT)
    assert [one.outcome for one in calls] == ["refused"]
    assert not effects.says
