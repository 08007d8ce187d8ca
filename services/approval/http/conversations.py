"""Conversations: their history, and who speaks in them; alerts for people."""

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Query, Request, Response
from pydantic import BaseModel, ConfigDict, Field

from services.approval.http.answers import Refusal, answer, or_refuse
from services.approval.http.signing import Reader, Somebody, Worker, desk_of
from services.approval.http.words import Line
from services.approval.owning import Change
from services.approval.problems import Problem
from services.approval.store import views
from shared.ids import new_id

router = APIRouter(prefix="/v1", tags=["conversations"])


class OwnershipBody(BaseModel):
    """A change of who speaks; `expected_version` is the `owner_version` that was on the screen."""

    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"expected_version": 0, "reason": "VIP"}]}
    )
    expected_version: int = Field(ge=0)
    reason: Line = Field("", max_length=500)


@router.get("/conversations/{conversation_id}", summary="A conversation with its newest messages")
async def get_conversation(request: Request, person: Reader, conversation_id: UUID) -> Response:
    async with desk_of(request).unit(person.tenant, new_id()) as unit:
        found = await views.conversation(unit.tx, conversation_id)
    if found is None:
        raise Refusal(Problem("not-found", {"what": "conversation"}))
    return answer(found)


@router.post("/conversations/{conversation_id}/takeover", summary="Take a conversation over")
async def take_over(request: Request, session: Somebody, conversation_id: UUID, body: OwnershipBody) -> Response:
    """The agent's texts that wait, or have not begun to leave, are void."""
    return await _change(request, session, conversation_id, "take_over", body)


@router.post("/conversations/{conversation_id}/return", summary="Give a conversation back to the agent")
async def give_back(request: Request, session: Somebody, conversation_id: UUID, body: OwnershipBody) -> Response:
    return await _change(request, session, conversation_id, "give_back", body)


async def _change(
    request: Request, session: Somebody, conversation_id: UUID, change: Change, body: OwnershipBody
) -> Response:
    moved = await desk_of(request).change_owner(
        session.person, conversation_id, change, body.expected_version, body.reason
    )
    return answer({"conversation_id": conversation_id, "owner_version": or_refuse(moved)})


@router.get("/alerts", summary="What a person should know")
async def list_alerts(
    request: Request,
    person: Reader,
    acknowledged: Annotated[bool, Query()] = False,
    limit: Annotated[int, Query(ge=1, le=200)] = 100,
) -> Response:
    async with desk_of(request).unit(person.tenant, new_id()) as unit:
        return answer({"items": await views.alerts(unit.tx, is_acknowledged=acknowledged, limit=limit)})


@router.post("/alerts/{alert_id}/acknowledge", summary="Mark an alert as seen", status_code=204)
async def acknowledge(request: Request, person: Worker, alert_id: UUID) -> Response:
    if not await desk_of(request).acknowledge(person, alert_id):
        raise Refusal(Problem("not-found", {"what": "alert"}))
    return Response(status_code=204)
