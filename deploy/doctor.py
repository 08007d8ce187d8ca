"""`chancela doctor`: what this machine and a running installation look like, with advice for each fault."""

import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import msgspec

from contracts.topology import SERVICES
from deploy.local.layout import Layout, Ports
from deploy.local.nats import nats_program
from deploy.local.ports import holder_of
from deploy.local.postgres_binaries import find_binaries
from deploy.local.unprivileged import server_account


class Finding(msgspec.Struct, frozen=True):
    """One thing looked at."""

    what: str
    is_well: bool
    found: str
    advice: str = ""


def examine(home: Path) -> list[Finding]:
    """Everything, in the order in which it is needed."""
    home = home.absolute()
    layout = Layout(home, Ports.of(home))
    return [_python(), _postgres(), _nats(), *_ports(layout), *_services(layout)]


def _python() -> Finding:
    version = ".".join(map(str, sys.version_info[:3]))
    return Finding("Python", sys.version_info >= (3, 11), version, "install Python 3.11 or newer")


def _postgres() -> Finding:
    try:
        binaries = find_binaries(server_account(), None)
    except RuntimeError as error:
        return Finding("PostgreSQL", False, str(error), "run `make install`, or install PostgreSQL 15 or newer")
    return Finding("PostgreSQL", True, f"version {binaries.major}")


def _nats() -> Finding:
    try:
        return Finding("nats-server", True, nats_program())
    except RuntimeError as error:
        return Finding("nats-server", False, str(error), "run `make install`")


def _ports(layout: Layout) -> Iterator[Finding]:
    for what, port in layout.ports.named().items():
        holder = holder_of(port)
        if holder and "python" not in str(holder):
            yield Finding(f"port {port} ({what})", False, f"held by {holder}", "stop it, or use `chancela dev --port`")


def _services(layout: Layout) -> Iterator[Finding]:
    if not any(_probe(layout.ports.health[service], "livez")[0] for service in SERVICES):
        yield Finding("services", True, "not running here; `make dev` starts them")
        return
    for service in SERVICES:
        is_ready, words = _probe(layout.ports.health[service], "readyz")
        log = layout.home / "logs" / f"{service}.log"
        yield Finding(service, is_ready, words, f"read {log}")


def _probe(port: int, name: str) -> tuple[bool, str]:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/{name}", timeout=2) as answer:
            return True, answer.read().decode()
    except urllib.error.HTTPError as error:
        return False, error.read().decode()
    except OSError as error:
        return False, str(error)
