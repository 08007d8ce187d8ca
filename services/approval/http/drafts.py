"""The half for outside agents: file a draft, ask how it stands; keep the baseline's facts. Nothing here decides."""

from datetime import datetime
from typing import Literal
from uuid import UUID

from fastapi import APIRouter, Request, Response
from pydantic import BaseModel, ConfigDict, Field

from services.approval.facts import Fact
from services.approval.http.answers import Refusal, answer, or_refuse
from services.approval.http.preconditions import attempt
from services.approval.http.signing import Administrator, Anybody, desk_of
from services.approval.http.words import Line, Words
from services.approval.people import may
from services.approval.problems import Problem
from services.approval.store import keys
from services.approval.store.keys import ApiKey
from services.approval.store.submissions import submitted
from services.approval.submitting import Submission, phase
from shared.ids import new_id
from shared.web.people import Person
from shared.web.secret import new_secret

router = APIRouter(prefix="/v1", tags=["drafts"])


class DraftBody(BaseModel):
    """A text for a conversation that we know. It takes the same gates and the same people as any other."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [{"conversation_id": "6f0e4b7c-8f4f-4a36-9d38-0d3f5a1b2c3d", "text": "Seu pedido saiu hoje."}]
        },
    )
    conversation_id: UUID
    text: str
    kind: Literal["reply", "follow_up"] = "reply"
    context: Words = Field("", description="Why this text; for the person who decides. Up to 4,000 characters.")
    summary: Line = Field("", description="One line. Up to 280 characters.")
    language: Line = Field("", pattern=r"^([A-Za-z]{2,3}(-[A-Za-z0-9]{2,8})*)?$", max_length=35)
    origin: Line = Field("", description="`internal_ops` or `counterparty_visible`; anything else is quiet.")
    force_despite_signed_contract: bool = False


class FactBody(BaseModel):
    """Something on record."""

    model_config = ConfigDict(extra="forbid")
    kind: Literal["contract_signed", "contract_delivered", "preference", "identity", "other"]
    subject: Line = Field(min_length=1, max_length=200)
    value: Words = Field(max_length=1000)
    source: Line = Field(min_length=1, max_length=200)
    observed_at: datetime


class BaselineBody(BaseModel):
    """All that this source has on record about the contact; it replaces what was put before."""

    model_config = ConfigDict(extra="forbid")
    facts: list[FactBody] = Field(max_length=100)


class KeyBody(BaseModel):
    """A key for an outside program."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"name": "crm", "scopes": ["file"]}]})
    name: Line = Field(min_length=1, max_length=100)
    scopes: list[Literal["file", "baseline"]] = Field(min_length=1)
    is_internal: bool = False


@router.post("/drafts", summary="File a draft", status_code=202)
async def post_draft(request: Request, caller: Anybody, body: DraftBody) -> Response:
    """Answers 202 with an id and `checking`; needs an `Idempotency-Key`."""
    asked = Submission(
        conversation_id=body.conversation_id, body=body.text, kind=body.kind, context=body.context,
        summary=body.summary, language=body.language, origin=body.origin if _is_internal(caller) else "",
        force_despite_signed_contract=body.force_despite_signed_contract,
    )  # fmt: skip
    answered = await desk_of(request).submit(caller, asked, await attempt(request, _name(caller)))
    return answer(or_refuse(answered), 202)


@router.get("/drafts/{draft_id}", summary="How a draft stands")
async def get_draft(request: Request, caller: Anybody, draft_id: UUID) -> Response:
    """`checking`, `pending`, `sent`, `closed` or `refused`. Only people and internal keys are told more."""
    async with desk_of(request).unit(caller.tenant, new_id()) as unit:
        found = await submitted(unit.tx, draft_id)
    if found is None or (isinstance(caller, ApiKey) and found.author != _name(caller)):
        raise Refusal(Problem("not-found", {"what": "draft"}))
    neutral = {"id": found.id, "status": phase(found.status, found.obligation_state)}
    if not _is_internal(caller):
        return answer(neutral)
    return answer({**neutral, "obligation_id": found.obligation_id, "code": found.code, "detail": found.detail})


@router.put("/baseline/{contact_id}", summary="Put on record what is known about a contact", status_code=204)
async def put_baseline(request: Request, caller: Anybody, contact_id: UUID, body: BaselineBody) -> Response:
    may_put = "baseline" in caller.scopes if isinstance(caller, ApiKey) else may(caller, "administer")
    if not may_put:
        raise Refusal(Problem("no-right", {"right": "baseline"}))
    naive = next((one for one in body.facts if one.observed_at.tzinfo is None), None)
    if naive is not None:
        raise Refusal(Problem("invalid", {"field": "observed_at", "why": "a time with its zone is wanted"}))
    facts = [Fact(**one.model_dump()) for one in body.facts]
    await desk_of(request).put_baseline(caller.tenant, _name(caller), contact_id, facts)
    return Response(status_code=204)


@router.post("/api-keys", summary="Make a key for an outside program", status_code=201)
async def make_key(request: Request, person: Administrator, body: KeyBody) -> Response:
    """The secret is shown this once. No scope lets a key decide."""
    secret, key_id = new_secret(person.tenant, keys.KEY_PREFIX), new_id()
    await desk_of(request).write(
        person,
        "key_made",
        keys.api_key_made(
            person.tenant, key_id, body.name, secret, body.scopes, is_internal=body.is_internal, by=person.email
        ),
        key_id=key_id,
        scopes=list[str](body.scopes),
    )
    return answer({"id": key_id, "name": body.name, "key": secret.text, "scopes": body.scopes}, 201)


@router.delete("/api-keys/{key_id}", summary="Revoke a key", status_code=204)
async def revoke_key(request: Request, person: Administrator, key_id: UUID) -> Response:
    await desk_of(request).write(person, "key_revoked", keys.api_key_revoked(key_id), key_id=key_id)
    return Response(status_code=204)


def _is_internal(caller: Person | ApiKey) -> bool:
    return isinstance(caller, Person) or caller.is_internal


def _name(caller: Person | ApiKey) -> str:
    return caller.email if isinstance(caller, Person) else f"key:{caller.name}:{caller.id}"
