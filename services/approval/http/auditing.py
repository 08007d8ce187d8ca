"""The audit chain, to read and to check."""

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Query, Request, Response

from services.approval.audit import Broken
from services.approval.http.answers import answer
from services.approval.http.signing import Auditor, desk_of
from services.approval.store import proving, views
from shared.ids import new_id

LAST_SEQ = 2**63 - 1
"""The column's own limit."""

router = APIRouter(prefix="/v1/audit", tags=["audit"])


@router.get("", summary="Audit entries, in the chain's order")
async def list_audit(
    request: Request,
    person: Auditor,
    after: Annotated[int, Query(ge=0, le=LAST_SEQ)] = 0,
    obligation: UUID | None = None,
    limit: Annotated[int, Query(ge=1, le=1000)] = 200,
) -> Response:
    async with desk_of(request).unit(person.tenant, new_id()) as unit:
        return answer({"items": await views.audit(unit.tx, after_seq=after, obligation_id=obligation, limit=limit)})


@router.post("/verify", summary="Walk the whole chain")
async def verify(request: Request, person: Auditor) -> Response:
    """`is_whole`, and the head that an anchor outside can keep; or the first entry that does not hold, and why."""
    async with desk_of(request).unit(person.tenant, new_id()) as unit:
        found = await proving.check(unit.tx, person.tenant)
    if isinstance(found, Broken):
        return answer({"is_whole": False, "seq": found.seq, "why": found.why})
    return answer({"is_whole": True, "length": found.length, "head": found.head})
