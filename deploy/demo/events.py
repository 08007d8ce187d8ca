"""What happened in a conversation, read from the services' outboxes: every message is there, in order, and nothing else."""

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import asyncpg
import msgspec

from contracts.topology import SERVICES

LOOK_EVERY_SECONDS = 0.05


class Observer:
    """A superuser's eye on a demo database. For demos and tests only; services never look at each other's tables."""

    def __init__(self, connection: Any) -> None:
        self._connection = connection

    @classmethod
    async def open(cls, url: str) -> "Observer":
        return cls(await asyncpg.connect(url))

    async def close(self) -> None:
        await self._connection.close()

    async def conversation_of(self, chat: str) -> str | None:
        """The conversation that a chat's messages belong to."""
        return await self._connection.fetchval(
            """select convert_from(payload, 'UTF8')::jsonb ->> 'conversation_id' from ingest.outbox
               where headers ->> 'Schema' = 'MessageReceived'
                 and convert_from(payload, 'UTF8')::jsonb -> 'destination' ->> 'chat' = $1 limit 1""",
            chat,
        )

    async def events(self, conversation_id: str) -> Sequence[Mapping[str, Any]]:
        """All messages about a conversation, oldest first; each with `at` and `by`."""
        parts = [
            f"""select created_at, id, '{service}' as by, convert_from(payload, 'UTF8') as body
                from {service}.outbox where strpos(convert_from(payload, 'UTF8'), $1) > 0"""
            for service in SERVICES
        ]
        rows = await self._connection.fetch(" union all ".join(parts) + " order by created_at, id", conversation_id)
        return [{**msgspec.json.decode(row["body"]), "by": row["by"], "at_row": row["created_at"]} for row in rows]


async def until(condition: Callable[[], Any], seconds: float) -> Any:
    """Wait for a truthy answer; None when the time is over."""
    import asyncio  # noqa: PLC0415 - beside its only use

    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        found = await condition()
        if found:
            return found
        await asyncio.sleep(LOOK_EVERY_SECONDS)
    return None
