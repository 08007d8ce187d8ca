"""A system of its own for one demo: free ports, a temporary folder, gone when it ends."""

import secrets
import shutil
import tempfile
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any

from contracts.topology import SERVICES
from deploy.local.layout import RULES, Layout, Ports
from deploy.local.ports import PortTakenError, require_free_port
from deploy.local.postgres import erase_postgres
from deploy.local.stack import Stack

FAST_POSTGRES = {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off", "max_connections": "200"}


def free_ports() -> Ports:
    """Ports that stay a service's own while it is restarted: below those that outgoing connections are given."""
    found = _untaken()
    approval, ingest, phone, model, gates = (next(found) for _ in range(5))
    return Ports(approval, ingest, phone, model, gates, health={service: next(found) for service in SERVICES})


def _untaken() -> Iterator[int]:
    for port in count(secrets.SystemRandom().randrange(12_000, 30_000)):
        try:
            require_free_port(port, "a demo")
        except PortTakenError:
            continue
        yield port


@contextmanager
def fresh_stack(
    *,
    overrides: Mapping[str, Mapping[str, str]] | None = None,
    rules: Mapping[str, Any] = RULES,
    extra_channels: Sequence[Mapping[str, Any]] = (),
    services: Sequence[str] = SERVICES,
    with_phone: bool = True,
    postgres_settings: Mapping[str, str] | None = None,
    ack_wait_seconds: float = 3.0,
) -> Generator[Stack]:
    """A running stack; its folder is removed at the end unless it failed to start (the logs are then worth reading)."""
    home = Path(tempfile.mkdtemp(prefix="chancela-demo-"))
    home.chmod(0o711)
    layout = Layout(home, free_ports(), overrides=overrides or {}, rules=rules, extra_channels=tuple(extra_channels))
    try:
        with Stack(
            layout,
            postgres_settings=dict(FAST_POSTGRES if postgres_settings is None else postgres_settings),
            ack_wait_seconds=ack_wait_seconds,
            services=services,
            with_phone=with_phone,
        ) as stack:
            yield stack
    finally:
        erase_postgres(home / "postgres")
        shutil.rmtree(home, ignore_errors=True)
