"""The tenant's rules: what is in force, its versions, and a form that makes the next one."""

from typing import Annotated

from fastapi import APIRouter, Path, Request, Response

from services.guardrails import changing, looking
from services.guardrails.facts import Language
from services.guardrails.looking import Version
from services.guardrails.web import asking, forms, showing
from services.guardrails.web.asking import PAGE, Changer, Reader, Refused, page
from shared.web.pages import pages_of
from shared.web.store import Session

router = APIRouter(prefix="/gates/rules", include_in_schema=False)

Number = Annotated[int, Path(ge=1, le=2**31 - 1)]


@router.get("")
async def rules(request: Request, session: Reader, saved: str = "", before: str = "") -> Response:
    async with asking.looking_at(request, session.person) as tx:
        now = await looking.rules_in_force(tx)
    return await _form(request, session, now, before=before, saved=saved)


async def _form(
    request: Request, session: Session, now: Version, status: int = 200, *, fields: dict[str, str] | None = None,
    reason: str = "", faults: dict[str, str] | None = None, since: Version | None = None, before: str = "",
    saved: str = "",
) -> Response:  # fmt: skip
    """The form over the version in force. `since`: the version that was before this person when somebody else saved."""
    earlier = int(before) if before.isascii() and before.isdigit() and len(before) < 10 else None
    async with asking.looking_at(request, session.person) as tx:
        history, has_more = asking.cut(await looking.rules_history(tx, earlier, PAGE + 1))
    return page(
        request, session, "rules.html", status, now=now, fields=fields or forms.written(now.rules), reason=reason,
        faults=faults or {}, since=since, theirs=showing.changes(since.rules, now.rules) if since else (),
        history=history, following=history[-1].version if has_more else "", saved=saved.isdigit(),
        languages=[one.value for one in Language], windows=forms.WINDOWS, limits=forms,
    )  # fmt: skip


@router.post("")
async def save(request: Request, session: Changer) -> Response:
    """The next version; refused with what was typed when a field cannot be read or somebody else saved since."""
    typed = await asking.form_of(request)
    fields = {name: typed.get(name, "") for name in forms.FIELDS}
    reason, say = typed.get("reason", ""), pages_of(request).speech(request)
    base = _base(typed)
    async with asking.looking_at(request, session.person) as tx:
        now = await looking.rules_in_force(tx)
        seen = (await looking.rules_of_version(tx, base) if base else None) or looking.NO_RULES
    answer = forms.read(fields, now.rules)
    faults = showing.faults_in_words(answer.faults, say)
    try:
        why = forms.reason_of(reason)
    except forms.Fault as fault:
        why, faults["reason"] = "", say.t(f"fault.{fault.code}", limit=fault.limit)
    if now.version != base:
        return await _form(request, session, now, 409, fields=fields, reason=reason, faults=faults, since=seen)
    if not faults and not showing.changes(now.rules, answer.rules):
        faults["form"] = say.t("fault.nothing_changed")
    if faults:
        return await _form(request, session, now, 422, fields=fields, reason=reason, faults=faults)
    async with asking.changing(request, session.person) as tx:
        version = await changing.save_rules(tx, session.person, answer.rules, base=base, reason=why)
        now = await looking.rules_in_force(tx)
    if version is None:
        return await _form(request, session, now, 409, fields=fields, reason=reason, since=seen)
    return asking.see(f"/gates/rules?saved={version}")


def _base(typed: dict[str, str]) -> int:
    base = typed.get("base", "")
    if not (base.isascii() and base.isdigit() and len(base) < 10):
        raise Refused("unreadable", 422)
    return int(base)


@router.get("/{version}")
async def version(request: Request, session: Reader, version: Number) -> Response:
    return await _version(request, session, version)


async def _version(
    request: Request, session: Session, number: int, status: int = 200, *, typed: str = "", fault: str = ""
) -> Response:
    async with asking.looking_at(request, session.person) as tx:
        shown = await looking.rules_of_version(tx, number)
        before = await looking.rules_of_version(tx, number - 1)
        now = await looking.rules_in_force(tx)
    if shown is None:
        raise Refused("no_version", 404)
    return page(
        request, session, "version.html", status, shown=shown, now=now, fields=forms.written(shown.rules),
        made=showing.changes((before or looking.NO_RULES).rules, shown.rules),
        back=showing.changes(now.rules, shown.rules), names=forms.FIELDS, typed=typed, fault=fault,
        limit=forms.REASON_LIMIT,
    )  # fmt: skip


@router.post("/{version}/restore")
async def restore(request: Request, session: Changer, version: Number) -> Response:
    """A new version with the content of an old one: nothing is taken back, and the history tells of both."""
    typed = await asking.form_of(request)
    base, reason, say = _base(typed), typed.get("reason", ""), pages_of(request).speech(request)
    try:
        why = forms.reason_of(reason)
    except forms.Fault as fault:
        told = say.t(f"fault.{fault.code}", limit=fault.limit)
        return await _version(request, session, version, 422, typed=reason, fault=told)
    async with asking.changing(request, session.person) as tx:
        old = await looking.rules_of_version(tx, version)
        if old is None:
            raise Refused("no_version", 404)
        made = await changing.save_rules(tx, session.person, old.rules, base=base, reason=why, repeats=version)
    if made is None:
        return await _version(request, session, version, 409, typed=reason, fault=say.t("fault.saved_since"))
    return asking.see(f"/gates/rules?saved={made}")
