"""`python -m services.guardrails.chain_lock [--check]`: each version of the chain, and the content that it stands for.

A stored run names the chain that judged it. That says something only while a version is one content: so whoever changes
a gate raises `CHAIN_VERSION`, and this file's lock gets a line. A line that is there is never changed.
"""

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from services.guardrails.chain import CHAIN_VERSION, content_hash

LOCK = Path(__file__).with_suffix(".json")
COMMAND = "python -m services.guardrails.chain_lock"


def locked() -> dict[int, str]:
    return msgspec.json.decode(LOCK.read_bytes(), type=dict[int, str])


def what_differs(version: int, content: str, lock: Mapping[int, str]) -> str:
    """Why this version and content may not go together, and what to do; empty when the lock has them."""
    newest = max(lock, default=0)
    if lock.get(version) == content:
        return "" if version == newest else _too_old(version, newest)
    if version in lock:
        return (
            f"the gates' names, order, code or rules changed, and CHAIN_VERSION is still {version}: set CHAIN_VERSION"
            f" to {newest + 1} in services/guardrails/chain.py, then run: {COMMAND}"
        )
    if lock and lock[newest] == content:
        return (
            f"CHAIN_VERSION is {version}, and the chain is still what version {newest} is: set it back to {newest} in"
            " services/guardrails/chain.py"
        )
    if version != newest + 1:
        return (
            _too_old(version, newest) if version < newest else f"CHAIN_VERSION is {version}: the next is {newest + 1}"
        )
    return f"version {version} of the chain is not in {LOCK.name}: run: {COMMAND}"


def _too_old(version: int, newest: int) -> str:
    return f"CHAIN_VERSION is {version}, and {newest} was there already: the next is {newest + 1}"


def main(arguments: Sequence[str]) -> int:
    lock, content = locked(), content_hash()
    trouble = what_differs(CHAIN_VERSION, content, lock)
    newest = max(lock, default=0)
    may_be_added = newest + 1 == CHAIN_VERSION and lock.get(newest) != content
    if trouble and may_be_added and "--check" not in arguments:
        text = msgspec.json.encode({**lock, CHAIN_VERSION: content})
        LOCK.write_bytes(msgspec.json.format(text, indent=2) + b"\n")
        sys.stdout.write(f"wrote {LOCK.name}: version {CHAIN_VERSION}\n")
        return 0
    if trouble:
        sys.stderr.write(f"{trouble}\n")
    return 1 if trouble else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
