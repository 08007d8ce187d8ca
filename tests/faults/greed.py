"""Other sessions that take every connection a service's role may have."""

import asyncio
from collections.abc import Generator
from contextlib import contextmanager
from threading import Event, Thread
from typing import Any

import asyncpg

from tests.faults.installation import Installation

LIMIT = 12
_AGAIN_SECONDS = 0.05
_CUT = "select pg_terminate_backend(pid) from pg_stat_activity where usename = $1 and pid <> all($2::int[])"


@contextmanager
def all_connections_of(installation: Installation, service: str) -> Generator[None]:
    """Cut the service's own sessions and take their places, over and over, until the block ends."""
    is_over, failed, role = Event(), list[BaseException](), f"{service}_bus"

    def take() -> None:
        try:
            url = installation.database_url(service, "bus")
            asyncio.run(_take_all(installation.superuser_url(), url, role, is_over))
        except BaseException as error:  # noqa: BLE001 - told in the other thread
            failed.append(error)

    asyncio.run(_execute(installation.superuser_url(), f"alter role {role} connection limit {LIMIT}"))
    taking = Thread(target=take, name="greed")
    taking.start()
    try:
        yield
    finally:
        is_over.set()
        taking.join()
        asyncio.run(_execute(installation.superuser_url(), f"alter role {role} connection limit -1"))
    if failed:
        raise RuntimeError("the connections could not be taken") from failed[0]


async def _take_all(superuser_url: str, url: str, role: str, is_over: Event) -> None:
    held: list[Any] = []
    superuser = await asyncpg.connect(superuser_url)
    try:
        while not is_over.is_set():
            mine = [connection.get_server_pid() for connection in held]
            await superuser.execute(_CUT, role, mine)
            try:
                while len(held) < LIMIT:
                    held.append(await asyncpg.connect(url, timeout=5))
            except asyncpg.TooManyConnectionsError:
                pass
            await asyncio.sleep(_AGAIN_SECONDS)
    finally:
        for connection in held:
            await connection.close()
        await superuser.close()


async def _execute(url: str, statement: str) -> None:
    connection = await asyncpg.connect(url)
    try:
        await connection.execute(statement)
    finally:
        await connection.close()
