"""The checker itself: each kind of wrong is found, and a run without one is clean."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest

from tests.faults.checker import Approval, Sends, compare, judge_sends

AT = datetime(2026, 3, 2, 12, tzinfo=UTC)
ANA, BIA = "ana", "bia"


def approval(number: int, chat: str, text: str, *fates: str) -> Approval:
    return Approval(UUID(int=number), chat, text, AT + timedelta(seconds=number), fates)


GOOD = Sends(
    approvals=(
        approval(1, ANA, "one", "SendBegun", "SendAccepted"),
        approval(2, ANA, "two", "SendAccepted"),
        approval(3, BIA, "three", "SendUncertain"),
        approval(4, BIA, "four", "DispatchRefused"),
        approval(5, BIA, "four", "SendUncertain", "SendAccepted"),
    ),
    received=((ANA, "one"), (BIA, "four"), (ANA, "two")),
    filed=frozenset({(ANA, "one"), (ANA, "two"), (BIA, "three"), (BIA, "four"), (BIA, "five")}),
    shown_uncertain=frozenset({UUID(int=3), UUID(int=5)}),
    blows=2,
)


def test_a_run_without_a_fault_is_clean() -> None:
    assert not judge_sends(GOOD), judge_sends(GOOD).told()


@pytest.mark.parametrize(
    ("received", "kind"),
    [
        (((ANA, "two"), (BIA, "four")), "lost"),
        ((*GOOD.received, (ANA, "one")), "twice"),
        ((*GOOD.received, (BIA, "three"), (BIA, "three")), "twice"),
        ((*GOOD.received, ("eva", "hello")), "invented"),
        ((*GOOD.received, (BIA, "five")), "unapproved"),
        (((ANA, "one"), (BIA, "four"), (ANA, "two!")), "altered"),
        (((ANA, "two"), (BIA, "four"), (ANA, "one")), "out_of_order"),
    ],
)
def test_what_the_phone_should_not_have_is_named(received: tuple[tuple[str, str], ...], kind: str) -> None:
    assert judge_sends(replace(GOOD, received=received)).counts()[kind] == 1


def test_an_uncertain_send_may_have_arrived_or_not() -> None:
    assert not judge_sends(replace(GOOD, received=((BIA, "three"), *GOOD.received)))


def test_an_approval_without_any_fate_is_lost() -> None:
    run = replace(GOOD, approvals=(*GOOD.approvals, approval(6, ANA, "six")))
    assert judge_sends(run).counts()["lost"] == 1


def test_a_stopped_send_that_arrived_is_found() -> None:
    run = replace(GOOD, approvals=(approval(1, ANA, "one", "ApprovalEnded"), *GOOD.approvals[1:]))
    assert judge_sends(run).counts()["unapproved"] == 1


def test_an_uncertain_send_must_be_seen_and_explained() -> None:
    assert judge_sends(replace(GOOD, shown_uncertain=frozenset[UUID]())).counts()["hidden"] == 2
    assert judge_sends(replace(GOOD, blows=1)).counts()["hidden"] == 1


def test_lanes_are_compared_one_by_one() -> None:
    said = {"a": ["1", "2"], "b": ["1"]}
    assert not compare(said, said)
    found = compare(said, {"a": ["2", "1", "2"], "c": ["9"]})
    assert found.counts() | {"lost": 1, "twice": 1, "invented": 1, "out_of_order": 1} == found.counts()
