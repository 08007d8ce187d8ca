"""One conversation as the operator hears of it."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any
from uuid import UUID, uuid4

import msgspec

from contracts.messages import (
    AlertRaised,
    ApprovalEnded,
    Checkpoint,
    Declaration,
    Destination,
    DraftFiled,
    DraftRejected,
    Envelope,
    Intent,
    MessageReceived,
    OwnershipChanged,
    Promise,
    SendAccepted,
    TurnClosed,
    TurnKind,
)
from tests.harness import Bench

AT = datetime(2026, 8, 10, 12, tzinfo=UTC)
WANTS_TO_RESCHEDULE = Declaration(intents=(Intent(what="quer remarcar", evidence="posso remarcar para sexta?"),))
NOTHING_TO_DECLARE = Declaration(nothing_to_declare=True)


def promised(*what: str) -> Declaration:
    return Declaration(promises=tuple(Promise(what=one) for one in what))


class World:
    """Says what other services would say, and reads what the operator wrote."""

    def __init__(self, bench: Bench) -> None:
        self.bench = bench
        self.tenant = uuid4()
        self.conversation = uuid4()
        self.contact = uuid4()
        self.channel = uuid4()
        self.obligation = uuid4()

    async def customer_writes(self, text: str, *, language: str = "pt-BR") -> None:
        where = Destination(channel_id=self.channel, account="a", chat="c")
        await self.bench.hear(
            MessageReceived(
                tenant=self.tenant,
                conversation_id=self.conversation,
                contact_id=self.contact,
                channel_id=self.channel,
                context_revision=1,
                message_id=uuid4(),
                destination=where,
                sender_name="Ana",
                text=text,
                is_draftable=True,
                language=language,
                sent_at=AT,
                received_at=AT,
            )
        )

    def turn(
        self, declaration: Declaration | None, *, kind: TurnKind = "inbound_turn", turn_id: UUID | None = None
    ) -> TurnClosed:
        return TurnClosed(
            tenant=self.tenant,
            turn_id=turn_id or uuid4(),
            conversation_id=self.conversation,
            contact_id=self.contact,
            channel_id=self.channel,
            kind=kind,
            outcome="spoke",
            closed_at=AT,
            checkpoint=Checkpoint(rolling_summary="Ana escreveu.", declaration=declaration),
        )

    async def turn_closes(
        self, declaration: Declaration | None, *, kind: TurnKind = "inbound_turn", opens_case: UUID | None = None
    ) -> TurnClosed:
        turn = msgspec.structs.replace(self.turn(declaration, kind=kind), opens_case=opens_case)
        await self.bench.hear(turn)
        await self.bench.run_jobs()
        return turn

    async def ownership(self, owner: Any, version: int) -> None:
        await self.bench.hear(
            OwnershipChanged(tenant=self.tenant, conversation_id=self.conversation, owner=owner, version=version, at=AT)
        )

    async def text_is_filed(self, turn: TurnClosed, *, epoch: int = 0) -> None:
        await self.bench.hear(
            DraftFiled(
                tenant=self.tenant,
                obligation_id=self.obligation,
                epoch=epoch,
                draft_id=uuid4(),
                turn_id=turn.turn_id,
                conversation_id=self.conversation,
                expires_at=AT,
            )
        )
        await self.bench.run_jobs()

    async def text_is_rejected(self, turn: TurnClosed, *, epoch: int = 0) -> None:
        await self.bench.hear(
            DraftRejected(
                tenant=self.tenant,
                obligation_id=self.obligation,
                epoch=epoch,
                draft_id=uuid4(),
                turn_id=turn.turn_id,
                conversation_id=self.conversation,
                reason="no",
                decided_by="p",
                at=AT,
            )
        )
        await self.bench.run_jobs()

    async def approval_ends(self, turn: TurnClosed, how: Any, *, epoch: int = 0) -> None:
        await self.bench.hear(
            ApprovalEnded(
                tenant=self.tenant,
                obligation_id=self.obligation,
                epoch=epoch,
                draft_id=uuid4(),
                turn_id=turn.turn_id,
                conversation_id=self.conversation,
                how=how,
                reason="",
                at=AT,
            )
        )
        await self.bench.run_jobs()

    async def text_is_sent(self, body: str = "Retornamos na terça.") -> None:
        receipt = Envelope(payload_type="t", payload=b"", key_id="k", signature=b"")
        await self.bench.hear(
            SendAccepted(
                tenant=self.tenant,
                decision_id=uuid4(),
                obligation_id=self.obligation,
                conversation_id=self.conversation,
                channel_id=self.channel,
                at=AT,
                provider_id="p",
                receipt=receipt,
                body=body,
            )
        )
        await self.bench.run_jobs()

    async def decisions(self) -> Sequence[Any]:
        return await self.bench.rows("select * from decision order by at")

    async def decision(self) -> Any:
        """The one decision; more or fewer than one is a failure."""
        rows = await self.decisions()
        assert len(rows) == 1
        return rows[0]

    async def alerts(self) -> list[AlertRaised]:
        return [one for one in await self.bench.said() if isinstance(one, AlertRaised)]

    async def stage(self) -> str:
        return await self.bench.value("select stage from lead where contact_id = $1", self.contact)

    async def set_role(self, *, is_on: bool = True, operations: list[str] | None = None) -> None:
        async with self.bench.db.transaction() as tx:
            await tx.execute(
                "insert into setting (tenant, is_role_on, operations) values ($1, $2, $3)",
                self.tenant,
                is_on,
                operations,
            )

    async def person_moves_lead_to(self, stage: str) -> None:
        async with self.bench.db.transaction() as tx:
            await tx.execute(
                "update lead set stage = $2, version = version + 1, moved_by = 'person' where contact_id = $1",
                self.contact,
                stage,
            )


def calls_of(decision: Any) -> list[dict[str, Any]]:
    return msgspec.json.decode(decision["calls"])
