"""What a run left behind, read after it as superuser: the phone's requests, the outboxes, the lanes."""

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

import asyncpg
import httpx

from contracts import messages as m
from contracts import topology
from contracts.topology import SERVICES
from shared.bus import heard
from shared.bus.outbox import subject_of
from tests.faults.checker import Approval, Findings, Line, Sends, by_lane, compare, judge_sends
from tests.faults.installation import Installation

_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
FATES = ("SendBegun", "SendAccepted", "SendUncertain", "SendFailed", "SendRefused", "DispatchRefused", "ApprovalEnded")
TAKEN = ("sent", "repeated")
RENEWED = "clearance_expired"
"""guardrails clears the same approval again: no end of it."""
WITHOUT_DRAFT = ("silent", "skipped", "handed_off", "failed")


class Evidence:
    """Reads one installation; `standing_still` may be asked often, the rest at the end."""

    def __init__(self, connection: Any, stack: Installation) -> None:
        self._connection = connection
        self._stack = stack

    @classmethod
    async def open(cls, stack: Installation) -> "Evidence":
        """One moment of the database, for as long as it is open: what is said and what is heard fit each other."""
        connection = await asyncpg.connect(stack.superuser_url())
        await connection.execute("begin isolation level repeatable read read only")
        return cls(connection, stack)

    async def close(self) -> None:
        await self._connection.close()

    async def unfinished(self) -> list[str]:
        """What is still on its way, or stands still: empty when the system is drained."""
        lanes = [
            line for topic in topology.TOPICS for hearer in topic.heard_by for line in await self._behind(topic, hearer)
        ]
        rest = [line for service in SERVICES for line in await self._rest(service)]
        waiting = await self._connection.fetch(
            "select id, state, conversation_id from approval.obligation where state in ('open', 'approved')"
        )
        return [
            *lanes,
            *rest,
            *(f"obligation {row['id']} is {row['state']}" for row in waiting),
            *await self._unanswered(),
            *await self._undelivered(),
        ]

    async def _undelivered(self) -> list[str]:
        """Webhooks that the phone still brings, again and again."""
        pending = (await self._asked("state"))["pending"]
        return [f"the phone: {pending} webhooks"] if pending else []

    async def _behind(self, topic: topology.Topic, hearer: str) -> list[str]:
        rows = await self._connection.fetch(
            f"""select o.key as lane, o.next_seq as said, coalesce(i.next_seq, 0) as heard, i.parked_why
                from {topic.said_by}.lane_out o left join {hearer}.lane_in i
                  on i.lane = concat_ws(':', o.topic, o.generation, o.key)
                where o.topic = $1 and o.next_seq <> coalesce(i.next_seq, 0)""",
            topic.root,
        )
        return [
            f"{hearer} heard {row['heard']} of {row['said']} of {row['lane']} ({row['parked_why']})" for row in rows
        ]

    async def _rest(self, service: str) -> list[str]:
        row = await self._connection.fetchrow(
            f"""select (select count(*) from {service}.outbox o join {service}.outbox_writer w using (writer)
                    where o.batch > w.mark and w.swept_at is null) as unpublished,
                  (select count(*) from {service}.outbox_again) as refused,
                  (select count(*) from {service}.quarantine) as quarantined,
                  (select count(*) from {service}.job where parked_at is not null) as parked"""
        )
        due = await self._connection.fetch(
            f"""select kind, key, attempts, lost, is_behind, leased_until, last_error
                from {service}.job where due_at <= clock_timestamp() order by due_at"""
        )
        return [
            *(f"{service}: {number} {what}" for what, number in row.items() if number),
            *(f"{service}: due is {dict(one)}" for one in due),
        ]

    async def _unanswered(self) -> list[str]:
        """Conversations whose newest message led to no draft, no hand-off and no turn that ended otherwise."""
        newest: dict[UUID, int] = {}
        for one in await self._said("ingest", m.MessageReceived):
            newest[one.conversation_id] = max(newest.get(one.conversation_id, 0), one.context_revision)
        covered: dict[UUID, int] = defaultdict(int)
        for one in await self._said("conversador", m.DraftProposed):
            covered[one.conversation_id] = max(covered[one.conversation_id], one.context_revision)
        ended = {
            one.conversation_id for one in await self._said("conversador", m.TurnClosed) if one.outcome in WITHOUT_DRAFT
        }
        left = {one for one, revision in newest.items() if covered[one] < revision} - ended
        return [f"conversation {one} has no answer to its newest message" for one in sorted(left)]

    # -------------------------------------------------------------------------------------------------- judgement

    async def judge(self, written: Sequence[tuple[str, str]], blows: int) -> Findings:
        """The whole run: what customers wrote, every lane of the bus, and what left."""
        inbound = [(one.destination.chat, one.text) for one in await self._said("ingest", m.MessageReceived)]
        intake = compare(by_lane(written), by_lane(inbound), in_order=False)  # webhooks are retried beside each other
        sends = judge_sends(await self._sends(blows))
        echoes = [
            f"our own words taken for a person's: {one.text}" for one in await self._said("ingest", m.PhoneReplied)
        ]
        return intake + Findings(invented=echoes) + await self._bus() + sends

    async def _bus(self) -> Findings:
        """Every service heard every message of every lane under its own id, once, in its place."""
        found = Findings()
        for topic in topology.TOPICS:
            said = await self._said_ids(topic)
            for hearer in topic.heard_by:
                found += compare(said, await self._heard_ids(hearer, {heard.lane_mark(lane): lane for lane in said}))
        return found

    async def _said_ids(self, topic: topology.Topic) -> Mapping[str, Sequence[Line]]:
        rows = await self._connection.fetch(
            f"""select lane, msg_id from {topic.said_by}.outbox where split_part(lane, ':', 1) = $1
                order by lane, lane_seq""",
            topic.root,
        )
        return by_lane((row["lane"], heard.id_mark(row["msg_id"]).hex()) for row in rows)

    async def _heard_ids(self, service: str, lanes: Mapping[bytes, str]) -> Mapping[str, Sequence[Line]]:
        """What ran of these lanes, in the order in which it ran."""
        rows = await self._connection.fetch(f"select entries from {service}.heard order by id")
        ran = [entry for row in rows for entry in heard.unpack(row["entries"]) if entry[0] in lanes]
        return by_lane((lanes[mark], msg_id.hex()) for mark, _, msg_id, _, _ in ran)

    async def _sends(self, blows: int) -> Sends:
        filed = {(one.destination.chat, one.body) for one in await self._said("guardrails", m.DraftCleared)}
        alerted = await self._connection.fetch(
            """select l.decision_id from approval.ledger l where l.event = 'uncertain' and exists (
                 select 1 from approval.alert a where a.kind = 'send_uncertain')"""
        )
        return Sends(
            approvals=await self._approvals(),
            received=await self._received(),
            filed=frozenset(filed),
            shown_uncertain=frozenset(row["decision_id"] for row in alerted),
            blows=blows,
        )

    async def _approvals(self) -> list[Approval]:
        fates: defaultdict[UUID, list[str]] = defaultdict(list)
        for service in ("approval", "guardrails", "delivery"):
            rows = await self._connection.fetch(
                f"""select body ->> 'type' as name, body ->> 'decision_id' as decision, body ->> 'code' as code
                    from {service}.outbox, cast(convert_from(payload, 'UTF8') as jsonb) as body
                    where body ->> 'type' = any($1) order by created_at, writer, batch, item""",
                list(FATES),
            )
            for row in rows:
                if row["decision"] and row["code"] != RENEWED:
                    fates[UUID(row["decision"])].append(row["name"])
        snapshots = [one.snapshot for one in await self._said("approval", m.DraftApproved)]
        return [
            Approval(one.decision_id, one.destination.chat, one.body, one.decided_at, tuple(fates[one.decision_id]))
            for one in snapshots
        ]

    async def _received(self) -> list[tuple[str, str]]:
        requests = await self._asked("received")
        return [(one["chat"], one["text"]) for one in requests if one["outcome"].split(",")[0] in TAKEN]

    async def _asked(self, page: str) -> Any:
        async with httpx.AsyncClient(timeout=30, trust_env=False) as client:
            return (await client.get(f"{self._stack.layout.phone_url}/_control/{page}")).json()

    async def _said(self, service: str, kind: type[m.Message]) -> list[Any]:
        rows = await self._connection.fetch(
            f"""select lane, payload from {service}.outbox
                where cast(convert_from(payload, 'UTF8') as jsonb) ->> 'type' = $1
                order by created_at, writer, batch, item""",
            kind.__name__,
        )
        return [_decoded(row["lane"], row["payload"]) for row in rows]

    async def story(self, told: str) -> str:
        """All that was said by anybody about the things whose ids stand in `told`."""
        named = sorted(set(_UUID.findall(told)))
        conversations = await self._connection.fetch(
            "select distinct conversation_id::text as id from approval.obligation where id = any($1::text[]::uuid[])",
            named,
        )
        wanted = [*named, *(row["id"] for row in conversations)]
        parts = [
            f"""select created_at, '{service}' as by, cast(body as jsonb) ->> 'type' as name, body
                from {service}.outbox, convert_from(payload, 'UTF8') as body
                where exists (select from unnest($1::text[]) as n(id) where strpos(body, n.id) > 0)"""
            for service in SERVICES
        ]
        rows = await self._connection.fetch(" union all ".join(parts) + " order by created_at", wanted)
        return "\n".join(f"{row['created_at']:%H:%M:%S.%f} {row['by']} {row['name']} {row['body']}" for row in rows)

    async def uncertain(self) -> int:
        return await self._connection.fetchval("select count(*) from approval.ledger where event = 'uncertain'")


def _decoded(lane: str, payload: bytes) -> m.Message:
    topic = topology.topic_of_subject(subject_of(lane))
    assert topic is not None
    return topology.decode(topic, payload)
