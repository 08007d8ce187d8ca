"""Mark the lead, so that people find it again."""

from datetime import datetime
from typing import Annotated
from uuid import UUID

from msgspec import Meta, Struct
from msgspec.structs import replace

from services.operator.operation import Done, Example, Ids, Operation, Refusal
from services.operator.state import State
from services.operator.store import leads
from shared.bus.effects import Effects

MOST_TAGS = 30


class AddTag(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Put a short tag on the lead, for example "price objection". A tag that is there already stays as it is."""

    tag: Annotated[str, Meta(min_length=1, max_length=60, description="A few words, in the business's language.")]


def decide(arguments: AddTag, state: State, _ids: Ids, _now: datetime) -> Done | Refusal:
    tag = " ".join(arguments.tag.casefold().split())
    if not tag:
        return Refusal("tag: it has no letters")
    if tag in state.tags:
        return Done(state)
    if len(state.tags) >= MOST_TAGS:
        return Refusal(f"tag: the lead has {MOST_TAGS} tags already; a person has to remove some")
    after = replace(state, tags=(*state.tags, tag))
    return Done(after, Effects(writes=(leads.add_tag(state, tag),)), f"#{tag}")


_ID = UUID(int=1)
_AT = State(tenant=_ID, conversation_id=_ID, contact_id=_ID, tags=("remarcação",))
_FULL = replace(_AT, tags=tuple(f"tag {number}" for number in range(MOST_TAGS)))

OPERATION = Operation(
    name="add_tag",
    arguments=AddTag,
    decide=decide,
    risk="safe",
    bundle="organise",
    examples=(
        Example({"tag": "Objeção  de preço"}, _AT, "changed", names="#objeção de preço"),
        Example({"tag": "Remarcação"}, _AT, "unchanged"),
        Example({"tag": "   "}, _AT, "refused", names="tag"),
        Example({"tag": "vip"}, _FULL, "refused", names="remove some"),
        Example({"tag": "vip", "colour": "red"}, _AT, "refused", names="colour"),
    ),
)
