"""Trace context: a trace goes on, a span is our own, and nothing malformed is carried."""

import re
from contextvars import copy_context

import pytest

from shared import trace

PARENT = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"


def started(parent: str | None) -> tuple[str, str]:
    def run() -> tuple[str, str]:
        return trace.start(parent), trace.current()

    return copy_context().run(run)


def test_a_trace_goes_on_with_a_span_of_our_own() -> None:
    value, current = started(PARENT)
    assert value == current
    assert value.split("-")[1] == PARENT.split("-")[1]
    assert value.split("-")[2] != PARENT.split("-")[2]
    assert value.split("-")[3] == "01"


def test_an_unsampled_trace_stays_unsampled() -> None:
    assert started(PARENT[:-2] + "00")[0].endswith("-00")


@pytest.mark.parametrize(
    "parent",
    [
        None,
        "",
        "nonsense",
        PARENT.upper(),
        PARENT + "\n",
        "ff" + PARENT[2:],
        PARENT.replace("4bf92f3577b34da6a3ce929d0e0e4736", "0" * 32),
        PARENT.replace("00f067aa0ba902b7", "0" * 16),
        PARENT + "-more",
    ],
)
def test_what_is_no_parent_starts_a_trace_of_its_own(parent: str | None) -> None:
    value, _ = started(parent)
    assert re.fullmatch(r"00-[0-9a-f]{32}-[0-9a-f]{16}-01", value)
    assert "4bf92f3577b34da6a3ce929d0e0e4736" not in value


def test_work_beside_does_not_see_the_trace() -> None:
    started(PARENT)
    assert copy_context().run(trace.current) == ""
