"""The chain, what it vetoed, and one run of it with everything that it saw; and where a person disputes a veto."""

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Query, Request, Response
from pydantic import AfterValidator, BaseModel

from services.guardrails import changing, looking, metrics
from services.guardrails.chain import CHAIN, CHAIN_VERSION, chain_hash
from services.guardrails.looking import Run, RunLine, Wanted
from services.guardrails.web import asking, forms, showing
from services.guardrails.web.asking import PAGE, Disputer, Reader, Refused, page
from shared.web.pages import pages_of
from shared.web.store import Session

router = APIRouter(prefix="/gates", include_in_schema=False)

OUTCOMES = ("cleared", "vetoed", "deferred")
PHASES = ("filing", "dispatch")
Plain = Annotated[str, AfterValidator(forms.visible)]


@router.get("")
async def chain(request: Request, session: Reader, day: str = "") -> Response:
    """The ten in order, and the vetoes of a day."""
    asked = asking.day_of(request, day)
    day = day if asked else asking.today(request)
    since, until = asked or _today(request)
    async with asking.looking_at(request, session.person) as tx:
        tallies = await looking.tallies(tx, since, until)
        outcomes = await looking.outcomes(tx, since, until)
    return page(
        request, session, "chain.html", links=showing.links(CHAIN), version=CHAIN_VERSION, hash=chain_hash(),
        tallies=tallies, outcomes=outcomes, day=day, today=asking.today(request), names=OUTCOMES,
    )  # fmt: skip


def _today(request: Request) -> tuple[datetime, datetime]:
    found = asking.day_of(request, asking.today(request))
    assert found is not None  # the clock's own day
    return found


class Asked(BaseModel):
    """Which runs, and where the page goes on; as the address says it."""

    outcome: Plain = ""
    gate: Plain = ""
    code: Plain = ""
    phase: Plain = ""
    day: Plain = ""
    after: str = ""


@router.get("/runs")
async def runs(request: Request, session: Reader, asked: Annotated[Asked, Query()]) -> Response:
    """The newest runs, narrowed; a page at a time."""
    day = asking.day_of(request, asked.day)
    fault = "not_day" if asked.day and day is None else ""
    since, until = day or (None, None)
    wanted = Wanted(asked.gate, asked.code, asked.outcome, asked.phase, since, until)
    found: Sequence[RunLine] = ()
    if not fault:
        async with asking.looking_at(request, session.person) as tx:
            found = await looking.runs(tx, wanted, asking.place(asked.after), PAGE + 1)
    lines, has_more = asking.cut(found)
    following = asking.cursor(lines[-1].at, lines[-1].run_id) if has_more else ""
    chosen = asked.model_dump(exclude={"after"})
    return page(
        request, session, "runs.html", 422 if fault else 200, lines=lines, following=following, chosen=chosen,
        fault=fault, gates=[one.name for one in CHAIN], codes=_codes(), outcomes=OUTCOMES, phases=PHASES,
        tone=showing.TONE, is_first=not asked.after,
    )  # fmt: skip


def _codes() -> list[str]:
    return sorted({code for link in showing.links(CHAIN) for code in link.codes})


@router.get("/runs/{run_id}")
async def run(request: Request, session: Reader, run_id: UUID) -> Response:
    return await _run(request, session, run_id)


async def _run(
    request: Request, session: Session, run_id: UUID, status: int = 200, *, typed: str = "", gate: str = "",
    fault: str = "",
) -> Response:  # fmt: skip
    async with asking.looking_at(request, session.person) as tx:
        found = _found(await looking.run(tx, run_id))
        others = await looking.runs_of_draft(tx, found.draft_id)
        disputes = await looking.disputes_of(tx, run_id)
    body = showing.judged_text(found)
    facts = showing.facts_used(found, pages_of(request).speech(request), asking.clock_of(request))
    mine = {one.gate for one in disputes if one.author == session.person.email}
    return page(
        request, session, "run.html", status, run=found, body=body, pieces=showing.pieces(body, found.verdicts),
        facts=facts, others=[one for one in others if one.run_id != run_id], disputes=disputes,
        disputable=[one for one in showing.vetoes(found) if one.gate not in mine], tone=showing.TONE,
        typed=typed, chosen=gate, fault=fault, limit=forms.REASON_LIMIT,
    )  # fmt: skip


def _found(run: Run | None) -> Run:
    if run is None:
        raise Refused("no_run", 404)
    return run


@router.post("/runs/{run_id}/disputes")
async def dispute(request: Request, session: Disputer, run_id: UUID) -> Response:
    """A person says that a veto was wrong: stored and counted; the veto stands."""
    form = await asking.form_of(request)
    gate, typed = form.get("gate", ""), form.get("reason", "")
    say = pages_of(request).speech(request)
    try:
        reason = forms.reason_of(typed)
    except forms.Fault as fault:
        told = say.t(f"fault.{fault.code}", limit=fault.limit)
        return await _run(request, session, run_id, 422, typed=typed, gate=gate, fault=told)
    async with asking.changing(request, session.person) as tx:
        found = _found(await looking.run(tx, run_id))
        veto = next((one for one in showing.vetoes(found) if one.gate == gate), None)
        is_new = veto is not None and await changing.dispute(tx, session.person, run_id, veto, reason)
    if veto is None:
        return await _run(request, session, run_id, 422, typed=typed, fault=say.t("fault.no_veto"))
    if not is_new:
        return await _run(request, session, run_id, 409, typed=typed, fault=say.t("fault.disputed_before"))
    metrics.DISPUTES.labels(gate).inc()
    return asking.see(f"/gates/runs/{run_id}#disputes")


@router.get("/disputes")
async def disputes(request: Request, session: Reader, gate: Plain = "", before: str = "") -> Response:
    """What people disputed, for the rule's owner."""
    async with asking.looking_at(request, session.person) as tx:
        found = await looking.disputes(tx, gate, _number(before), PAGE + 1)
    lines, has_more = asking.cut(found)
    return page(
        request, session, "disputes.html", lines=lines, following=lines[-1].dispute_id if has_more else "",
        gate=gate, gates=[one.name for one in CHAIN], is_first=not before,
    )  # fmt: skip


@router.get("/changes")
async def changes(request: Request, session: Reader, before: str = "") -> Response:
    """Who changed what, and when."""
    async with asking.looking_at(request, session.person) as tx:
        found = await looking.acts(tx, _number(before), PAGE + 1)
    lines, has_more = asking.cut(found)
    following = lines[-1].act_id if has_more else ""
    return page(request, session, "changes.html", lines=lines, following=following, is_first=not before)


def _number(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdigit() and len(text) <= 18 else None
