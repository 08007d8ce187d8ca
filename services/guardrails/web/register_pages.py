"""The register of consent and opt-outs: who may be written to, since when, and by which wish of theirs."""

from uuid import UUID

from fastapi import APIRouter, Request, Response

from services.guardrails import looking
from services.guardrails.web import asking, forms, showing
from services.guardrails.web.asking import PAGE, Reader, Refused, page

router = APIRouter(prefix="/gates/contacts", include_in_schema=False)

STATES = ("opted_out", "erasure_requested", "paused", "blocked", "anonymised", "reachable")


@router.get("")
async def contacts(request: Request, session: Reader, state: str = "", q: str = "", after: str = "") -> Response:
    """The newest wishes first; narrowed by state, and by a part of the name or an id."""
    words, state = " ".join(forms.visible(q).split()), forms.visible(state)
    async with asking.looking_at(request, session.person) as tx:
        found = await looking.contacts(tx, state, words, asking.place(after), PAGE + 1)
    lines, has_more = asking.cut(found)
    following = asking.cursor(lines[-1].place, lines[-1].contact_id) if has_more else ""
    return page(
        request, session, "contacts.html", lines=lines, following=following, state=state, q=q, states=STATES,
        tone=showing.STATE_TONE, is_first=not after,
    )  # fmt: skip


@router.get("/{contact_id}")
async def contact(request: Request, session: Reader, contact_id: UUID) -> Response:
    async with asking.looking_at(request, session.person) as tx:
        found = await looking.contact(tx, contact_id)
        history = await looking.consent_history(tx, contact_id)
    if found is None:
        raise Refused("no_contact", 404)
    return page(request, session, "contact.html", contact=found, history=history, tone=showing.STATE_TONE)
