"""What happened in a conversation, read from the services' outboxes: every message is there, and nothing else."""

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any
from uuid import UUID

import asyncpg
import msgspec

from contracts.topology import SERVICES, TOPICS, lane

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
               where convert_from(payload, 'UTF8')::jsonb ->> 'type' = 'MessageReceived'
                 and convert_from(payload, 'UTF8')::jsonb -> 'destination' ->> 'chat' = $1 limit 1""",
            chat,
        )

    async def conversation_on(self, channel_id: UUID, chat: str) -> str:
        """The conversation of a chat on one channel."""
        found = await self._connection.fetchval(
            "select conversation_id from ingest.chat where channel_id = $1 and chat = $2", channel_id, chat
        )
        return str(found)

    async def is_own_message(self, channel_id: UUID, stanza_id: str) -> bool:
        """Whether ingest knows this message as one of ours."""
        return await self._connection.fetchval(
            "select exists (select from ingest.message where channel_id = $1 and stanza_id = $2 and is_ours)",
            channel_id,
            stanza_id,
        )

    async def is_all_heard(self, key: UUID) -> bool:
        """Whether everything said about a conversation, contact or channel has been heard by all who hear it."""
        for topic in TOPICS:
            said = await self._connection.fetchrow(
                f"select generation, next_seq from {topic.said_by}.lane_out where topic = $1 and key = $2",  # noqa: S608 - ours, from the map
                topic.root,
                key,
            )
            if said is None:
                continue
            hearing = " union all ".join(
                f"select next_seq from {service}.lane_in where lane = $1"  # noqa: S608 - as above
                for service in topic.heard_by
            )
            rows = await self._connection.fetch(hearing, lane(topic, key, said["generation"]))
            if [row["next_seq"] for row in rows] != [said["next_seq"]] * len(topic.heard_by):
                return False
        return True

    async def approved(self) -> Sequence[tuple[str, str]]:
        """Chat and text of every approval that was ever given."""
        rows = await self._connection.fetch(
            """select convert_from(payload, 'UTF8') as body from approval.outbox
               where convert_from(payload, 'UTF8')::jsonb ->> 'type' = 'DraftApproved'"""
        )
        snapshots = [msgspec.json.decode(row["body"])["snapshot"] for row in rows]
        return [(one["destination"]["chat"], one["body"]) for one in snapshots]

    async def holds(self, conversation_id: str) -> int:
        """How many messages of our own account wait for their explanation."""
        return await self._connection.fetchval(
            "select count(*) from ingest.held_reply where conversation_id = $1", UUID(conversation_id)
        )

    async def add_person(self, tenant: UUID, email: str, role: str) -> None:
        """Somebody who may sign in, of any tenant."""
        await self._connection.execute(
            "insert into approval.person (tenant, email, name, roles, language) values ($1, $2, $2, array[$3], 'en')",
            tenant,
            email,
            role,
        )

    async def operated(self, conversation_id: str) -> Sequence[Mapping[str, Any]]:
        """The operating role's decision on each turn, oldest first."""
        rows = await self._connection.fetch(
            "select turn_id::text, outcome, reason, model_rounds from operator.decision"
            " where conversation_id = $1 order by at",
            UUID(conversation_id),
        )
        return [dict(row) for row in rows]

    async def events(self, conversation_id: str) -> Sequence[Mapping[str, Any]]:
        """All messages about a conversation, oldest first; each with `at` and `by`."""
        parts = [
            # service names are ours, from the map
            f"""select created_at, writer, batch, item, '{service}' as by, convert_from(payload, 'UTF8') as body
                from {service}.outbox where strpos(convert_from(payload, 'UTF8'), $1) > 0"""  # noqa: S608 - as said above
            for service in SERVICES
        ]
        rows = await self._connection.fetch(
            " union all ".join(parts) + " order by created_at, writer, batch, item", conversation_id
        )
        return [{**msgspec.json.decode(row["body"]), "by": row["by"], "at_row": row["created_at"]} for row in rows]


async def until(condition: Callable[[], Any], seconds: float) -> Any:
    """Wait for a truthy answer; None when the time is over."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        found = await condition()
        if found:
            return found
        await asyncio.sleep(LOOK_EVERY_SECONDS)
    return None
