"""Programs of the local stack as real processes, spoken to over real HTTP."""

import json
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from typing import Any, TypeVar

DEADLINE_SECONDS = 15.0
POLL_SECONDS = 0.02
Found = TypeVar("Found")


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def wait_until(found: Callable[[], Found], what: str) -> Found:
    """The first truthy answer; fails with `what` was waited for at the deadline."""
    deadline = time.monotonic() + DEADLINE_SECONDS
    while not (value := found()):
        assert time.monotonic() < deadline, f"waited in vain for {what}"
        time.sleep(POLL_SECONDS)
    return value


def ask(
    url: str, body: Any = None, headers: Mapping[str, str] | None = None, method: str | None = None
) -> tuple[int, Any]:
    """Status and decoded body, of errors too; a str body goes out as it is."""
    raw = None if body is None else body.encode() if isinstance(body, str) else json.dumps(body).encode()
    named = {"Content-Type": "application/json", **(headers or {})}
    request = urllib.request.Request(url, raw, named, method=method)
    try:
        with urllib.request.urlopen(request, timeout=DEADLINE_SECONDS) as answer:
            status, content = answer.status, answer.read()
    except urllib.error.HTTPError as fault:
        with fault:
            status, content = fault.code, fault.read()
    return status, json.loads(content) if content else None


def is_listening(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


@contextmanager
def running(module: str, port: int, *options: str) -> Generator[str]:
    """The module as a process of its own, until the block ends; gives its address."""
    process = subprocess.Popen([sys.executable, "-m", module, "--port", str(port), *options])
    try:
        wait_until(lambda: process.poll() is not None or is_listening(port), f"{module} to listen")
        assert process.poll() is None, f"{module} stopped at its start"
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait(DEADLINE_SECONDS)
