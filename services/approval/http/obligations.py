"""What waits, one item with everything that a person needs, and the decision. A GET never decides."""

import base64
from datetime import datetime
from typing import Annotated, Literal, get_args
from uuid import UUID

import msgspec
from fastapi import APIRouter, Query, Request, Response
from pydantic import BaseModel, ConfigDict, Field

from services.approval import metrics
from services.approval.facts import State
from services.approval.http.answers import Refusal, answer, or_refuse
from services.approval.http.preconditions import attempt, seen
from services.approval.http.signing import Reader, Somebody, desk_of
from services.approval.http.words import Words
from services.approval.lifecycle import Wish
from services.approval.problems import Problem
from services.approval.store import views
from services.approval.store.views import etag
from shared.ids import new_id
from shared.web.signing import signing_of

_STATES: frozenset[str] = frozenset(get_args(State))
_cursor = msgspec.json.Decoder(tuple[Annotated[datetime, msgspec.Meta(tz=True)], UUID])

router = APIRouter(prefix="/v1/obligations", tags=["obligations"])


class DecisionBody(BaseModel):
    """What a person decides about the text named in `If-Match`."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [
                {"verb": "approve"},
                {"verb": "approve", "edited_text": "Temos sim, em azul e verde."},
                {"verb": "send_back", "instruction": "Diga também o prazo de entrega."},
                {"verb": "reject", "reason": "O preço mudou."},
            ]
        },
    )
    verb: Literal["approve", "reject", "send_back", "request_information", "edit", "withdraw"]
    reason: Words = Field("", description="Why; the question, for `request_information`.")
    instruction: Words = Field("", description="What the agent should change, for `send_back`.")
    edited_text: str = Field("", description="Another text: approved at once with `approve`, or filed with `edit`.")
    context_revision: int | None = Field(None, ge=0, description="The conversation's revision on the person's screen.")
    confirm_repeat: bool = Field(False, description="Send the text of an uncertain send again.")
    reply_after_opt_out: bool = Field(False, description="This answers a contact who opted out and wrote again.")


@router.get("", summary="The queue, the most urgent first")
async def list_obligations(
    request: Request,
    person: Reader,
    state: Annotated[str, Query(description="One or more states, separated by commas.")] = "open",
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
    cursor: str = "",
) -> Response:
    """Expired items are not listed as open. `next` is the cursor of the following page, null at the end."""
    states = [one for one in state.split(",") if one]
    unknown = sorted(set(states) - _STATES)
    if unknown:
        raise Refusal(Problem("invalid", {"field": "state", "why": f"{unknown[0]} is none of {sorted(_STATES)}"}))
    async with desk_of(request).unit(person.tenant, new_id()) as unit:
        items = await views.queue(unit.tx, states, after=_after(cursor), limit=limit)  # pyright: ignore[reportArgumentType] - checked against _STATES above
        counts = await views.counts(unit.tx)
    following = _cursor_of(items[-1].expires_at, items[-1].id) if len(items) == limit else None
    return answer({"items": items, "next": following, "counts": counts})


def _cursor_of(expires_at: datetime, last_id: UUID) -> str:
    return base64.urlsafe_b64encode(msgspec.json.encode((expires_at, last_id))).decode()


def _after(cursor: str) -> tuple[datetime, UUID] | None:
    if not cursor:
        return None
    try:
        return _cursor.decode(base64.urlsafe_b64decode(cursor.encode()))
    except (ValueError, msgspec.DecodeError) as error:
        raise Refusal(Problem("invalid", {"field": "cursor", "why": "it is not one of ours"})) from error


@router.get("/{obligation_id}", summary="One item, with all that a decision needs")
async def get_obligation(request: Request, person: Reader, obligation_id: UUID) -> Response:
    """The `ETag` is what a decision names in `If-Match`; `actions` says what this person may do now, or why not."""
    desk = desk_of(request)
    async with desk.unit(person.tenant, new_id()) as unit:
        item = await views.item(unit.tx, obligation_id, person.email, desk.policy)
    if item is None:
        raise Refusal(Problem("not-found", {"what": "obligation"}))
    return answer(item, headers={"etag": item.etag})


@router.get("/{obligation_id}/ledger", summary="What became of the approvals of one item")
async def get_ledger(request: Request, person: Reader, obligation_id: UUID) -> Response:
    async with desk_of(request).unit(person.tenant, new_id()) as unit:
        lines = await views.ledger(unit.tx, obligation_id)
        votes = await views.votes(unit.tx, obligation_id)
    return answer({"votes": votes, "ledger": lines})


@router.post("/{obligation_id}/decisions", summary="Decide")
async def decide(request: Request, session: Somebody, obligation_id: UUID, body: DecisionBody) -> Response:
    """Needs `If-Match` with the item's ETag and an `Idempotency-Key`.

    428 a header is missing · 412 the text changed · 409 decided already, or the customer wrote since · 410 expired ·
    403 no right · 422 a field does not fit.
    """
    person, shown = session.person, seen(request)
    wish = Wish(
        verb=body.verb,
        epoch=shown.epoch,
        commitment=shown.commitment,
        reason=body.instruction or body.reason,
        edited_text=body.edited_text if "edited_text" in body.model_fields_set else None,
        context_revision=body.context_revision,
        confirm_repeat=body.confirm_repeat,
        reply_after_opt_out=body.reply_after_opt_out,
        is_fresh=signing_of(request).is_fresh(session),
    )
    decided = await desk_of(request).decide(person, obligation_id, wish, await attempt(request, person.email))
    metrics.DECISIONS.labels(body.verb, "refused" if isinstance(decided, Problem) else "done").inc()
    decided = or_refuse(decided)
    return answer(decided, headers={"etag": etag(decided.epoch, decided.commitment)})
