"""A version of the chain is one content: neither changes without the other."""

import ast
import inspect
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from types import ModuleType

import pytest

from services.guardrails import chain as chain_module
from services.guardrails import chain_lock
from services.guardrails.chain import CHAIN, CHAIN_VERSION, content_hash, hashed_modules
from services.guardrails.chain_lock import locked, what_differs
from services.guardrails.gates import stop

NOT_RULES = frozenset({"services.guardrails.examples"})
"""What the gates import and no verdict rests on."""


def test_this_chain_is_the_one_that_its_version_stands_for() -> None:
    assert what_differs(CHAIN_VERSION, content_hash(), locked()) == ""
    assert chain_lock.main(["--check"]) == 0


LOCK = {1: "a", 2: "b"}


def test_a_changed_chain_under_its_old_version_is_told_to_raise_it() -> None:
    told = what_differs(2, "c", LOCK)
    assert "set CHAIN_VERSION to 3 in services/guardrails/chain.py" in told
    assert "python -m services.guardrails.chain_lock" in told


def test_a_raised_version_of_an_unchanged_chain_is_told_to_go_back() -> None:
    assert "set it back to 2" in what_differs(3, "b", LOCK)


def test_a_changed_chain_under_its_new_version_is_told_to_be_locked() -> None:
    assert what_differs(3, "c", LOCK).endswith("run: python -m services.guardrails.chain_lock")


@pytest.mark.parametrize(("version", "content"), [(1, "a"), (0, "c"), (4, "c")])
def test_a_version_that_is_not_the_next_is_named(version: int, content: str) -> None:
    assert what_differs(version, content, LOCK).endswith("the next is 3")


def test_names_order_and_length_are_content() -> None:
    renamed = (replace(CHAIN[0], name="halt"), *CHAIN[1:])
    swapped = (CHAIN[1], CHAIN[0], *CHAIN[2:])
    chains = [CHAIN, renamed, swapped, CHAIN[:-1]]
    assert len({content_hash(each) for each in chains}) == len(chains)


@pytest.mark.parametrize("module", [chain_module, stop, *CHAIN[5].rules], ids=lambda module: module.__name__)
def test_code_and_rule_data_are_content(module: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    before = content_hash()
    plain = inspect.getsource

    def source(of: ModuleType) -> str:
        return plain(of) + ("\nANOTHER_RULE = 1\n" if of is module else "")

    monkeypatch.setattr(inspect, "getsource", source)
    assert content_hash() != before


def test_the_number_of_the_version_is_no_content(monkeypatch: pytest.MonkeyPatch) -> None:
    before = content_hash()
    plain = inspect.getsource

    def source(of: ModuleType) -> str:
        return plain(of).replace(f"CHAIN_VERSION: Final = {CHAIN_VERSION}\n", "CHAIN_VERSION: Final = 4711\n")

    monkeypatch.setattr(inspect, "getsource", source)
    assert "4711" in inspect.getsource(chain_module)
    assert content_hash() == before


def test_every_module_of_ours_that_a_gate_rests_on_is_content() -> None:
    hashed = {module.__name__ for module in hashed_modules()}
    rests_on = set(_all_imports([gate.judge.__module__ for gate in CHAIN]))
    assert rests_on - hashed - NOT_RULES == set()


def _all_imports(names: Sequence[str]) -> Iterator[str]:
    """These modules, and what they import of ours, through and through."""
    waiting, seen = list(names), set[str]()
    while waiting:
        name = waiting.pop()
        if name in seen:
            continue
        seen.add(name)
        yield name
        waiting.extend(_imports(sys.modules[name]))


def _imports(module: ModuleType) -> Iterator[str]:
    for node in ast.walk(ast.parse(inspect.getsource(module))):
        names = [one.name for one in node.names] if isinstance(node, (ast.Import, ast.ImportFrom)) else []
        start = f"{node.module}." if isinstance(node, ast.ImportFrom) else ""
        for name in (start.removesuffix("."), *(f"{start}{one}" for one in names)):
            if name.startswith(("services.guardrails.", "shared.")) and _has_content(name):
                yield name


def _has_content(name: str) -> bool:
    """A module, and not an empty package."""
    return name in sys.modules and bool(inspect.getsource(sys.modules[name]).strip())
