"""Move the lead through the funnel, one step at a time, on the customer's own words."""

from datetime import datetime
from typing import Annotated
from uuid import UUID

from msgspec import Meta, Struct
from msgspec.structs import replace

from services.operator import stages
from services.operator.operation import Done, Example, Ids, Operation, Refusal
from services.operator.stages import Stage
from services.operator.state import Lead, State
from services.operator.store import leads
from shared.bus.effects import Effects


class MoveStage(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Move the lead to the next stage of the funnel: new, contacted, qualifying, qualified, negotiating, won; or lost.

    One step a call. Give the customer's words that show it. A stage that a person set stands.
    """

    stage: Annotated[Stage, Meta(description="The stage that the lead has reached.")]
    evidence: Annotated[
        str, Meta(min_length=1, max_length=1000, description="The customer's own words that show the advance.")
    ]


def decide(arguments: MoveStage, state: State, _ids: Ids, _now: datetime) -> Done | Refusal:
    lead = state.lead
    if lead.version != state.seen_version and lead.moved_by == "person":
        return Refusal(f"a person moved the lead to {lead.stage} meanwhile: that move stands")
    if arguments.stage == lead.stage:
        return Done(state)
    if why := stages.why_not(lead.stage, arguments.stage):
        return Refusal(f"stage: {why}")
    moved = Lead(name=lead.name, stage=arguments.stage, version=lead.version + 1, moved_by="agent")
    entry = f"{lead.stage} → {arguments.stage}: “{arguments.evidence}”"
    after = replace(state, lead=moved, seen_version=moved.version)
    return Done(after, Effects(writes=(leads.move_stage(state, arguments.stage),)), entry)


_ID = UUID(int=1)
_AT = State(tenant=_ID, conversation_id=_ID, contact_id=_ID, lead=Lead(stage="contacted", version=1), seen_version=1)
_BY_A_PERSON = replace(_AT, lead=Lead(stage="qualified", version=2, moved_by="person"))
_WORDS = {"evidence": "quanto custa a limpeza?"}

OPERATION = Operation(
    name="move_stage",
    arguments=MoveStage,
    decide=decide,
    risk="attention",
    bundle="sell",
    examples=(
        Example({"stage": "qualifying", **_WORDS}, _AT, "changed", names="contacted → qualifying"),
        Example({"stage": "lost", "evidence": "desisti, obrigada"}, _AT, "changed", names="lost"),
        Example({"stage": "contacted", **_WORDS}, _AT, "unchanged"),
        Example({"stage": "won", **_WORDS}, _AT, "refused", names="one step at a time"),
        Example({"stage": "negotiating", **_WORDS}, _BY_A_PERSON, "refused", names="a person moved the lead"),
        Example({"stage": "qualifying"}, _AT, "refused", names="evidence"),
        Example({"stage": "vip", **_WORDS}, _AT, "refused", names="stage"),
        Example({"stage": "qualifying", **_WORDS, "notify": True}, _AT, "refused", names="notify"),
    ),
)
