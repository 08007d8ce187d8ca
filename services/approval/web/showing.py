"""What a page says about an item beyond its columns: banners, tags, and the verbs a person is offered. Pure."""

from typing import Final, Literal, NamedTuple

from services.approval.facts import UNDECIDED, Banner
from services.approval.filing import body_limit
from services.approval.problems import document
from services.approval.store.views import ActionView, AlertView, Item, QueueItem, VersionView
from services.approval.web.words import Speech
from shared.web import texts
from shared.web.texts import Segment
from shared.web.times import Clock

Tone = Literal["info", "warn", "bad", "ok", ""]
CLOSING_MINUTES: Final = 30
_GRAVITY: Final = ("critical", "warning", "info")
_DONE: Final = frozenset({"rejected", "withdrawn", "superseded"})
_TONE: Final[dict[str, Tone]] = {
    "open": "", "waiting_agent": "info", "approved": "ok", "sent": "ok", "uncertain": "ok", "failed": "ok",
    "rejected": "bad", "withdrawn": "", "superseded": "", "expired": "warn",
}  # fmt: skip
_DELIVERY_TONE: Final[dict[str, Tone]] = {
    "deferred": "warn", "accepted": "ok", "delivered": "ok", "read": "ok", "uncertain": "bad", "failed": "bad",
    "refused": "bad",
}  # fmt: skip


class Said(NamedTuple):
    """A sentence with its weight; `code` names it for tests and agents."""

    tone: Tone
    text: str
    code: str = ""


class Comparison(NamedTuple):
    """The text against another one."""

    title: str
    segments: tuple[Segment, ...]


def decision_badge(item: Item | QueueItem, speech: Speech) -> Said:
    return Said(_TONE[item.state], speech.t(f"state.{item.state}"), item.state)


def delivery_badge(item: Item | QueueItem, speech: Speech) -> Said | None:
    """A badge of its own: only where there is, or was, something to deliver."""
    if item.delivery == "none" and item.state != "approved":
        return None
    return Said(_DELIVERY_TONE.get(item.delivery, "info"), speech.t(f"delivery.{item.delivery}"), item.delivery)


def tags(item: QueueItem, speech: Speech, clock: Clock) -> list[Said]:
    """Why now: what makes this line more urgent or riskier than its neighbours."""
    found: list[Said] = []
    if item.state != "open":
        found.append(decision_badge(item, speech))
    if (delivery := delivery_badge(item, speech)) is not None:
        found.append(delivery)
    if item.state == "open" and clock.minutes_until(item.expires_at) <= CLOSING_MINUTES:
        found.append(Said("warn", speech.t("tag.closing"), "closing"))
    if item.has_customer_written_since:
        found.append(Said("warn", speech.t("tag.wrote_since"), "wrote_since"))
    if not item.is_channel_ready:
        found.append(Said("warn", speech.t("tag.channel_down"), "channel_down"))
    found += [Said("warn", speech.code("tag", one.code), one.code) for one in item.banners[:1]]
    if item.kind != "reply":
        found.append(Said("", speech.t(f"kind.{item.kind}"), item.kind))
    return found


def banners(item: Item, speech: Speech, clock: Clock, me: str) -> list[Said]:
    """What a person must see before deciding, the gravest first."""
    found = [*_standing(item, speech, clock, me), *_of_conversation(item, speech)]
    found += [_filed(one, speech) for one in item.banners]
    order: tuple[Tone, ...] = ("bad", "warn", "info", "ok", "")
    return sorted(found, key=lambda one: order.index(one.tone))


def _standing(item: Item, speech: Speech, clock: Clock, me: str) -> list[Said]:
    if item.is_expired or item.state == "expired":
        return [Said("warn", speech.t("banner.expired", at=clock.at(item.expires_at)), "expired")]
    if item.state == "waiting_agent":
        return [Said("info", speech.t("banner.waiting_agent"), "waiting_agent")]
    if item.state == "uncertain":
        return [Said("bad", speech.t("banner.uncertain"), "uncertain")]
    if item.state == "open":
        return []
    found: list[Said] = []
    state = speech.t(f"state.{item.state}")
    if item.decided_at is not None:
        at, who = clock.at(item.decided_at), speech.t("you").capitalize() if item.decided_by == me else item.decided_by
        found.append(Said("info", speech.t("banner.decided", who=who, at=at, state=state), "decided"))
    elif item.state in _DONE:
        found.append(Said("info", speech.t("banner.ended", state=state), "ended"))
    if item.leaves_at is not None and item.delivery == "deferred":
        when = clock.relative(item.leaves_at)
        found.append(Said("info", speech.t("banner.leaves_at", at=clock.at(item.leaves_at), when=when), "leaves_at"))
    return found


def _of_conversation(item: Item, speech: Speech) -> list[Said]:
    talk = item.conversation
    found: list[Said] = []
    if item.state in UNDECIDED and item.has_customer_written_since:
        found.append(Said("warn", speech.t("banner.wrote_since"), "wrote_since"))
    if not talk.is_channel_ready:
        found.append(Said("warn", speech.t("banner.channel_down", status=talk.channel_status), "channel_down"))
    if talk.contact_consent not in {"", "opted_in"}:
        found.append(Said("bad", speech.code("consent", talk.contact_consent), "consent"))
    if talk.owner_state == "person":
        found.append(Said("info", speech.t("banner.taken_over", who=talk.owner_person), "taken_over"))
    if talk.owner_state == "handoff":
        found.append(Said("warn", speech.t("banner.handoff"), "handoff"))
    return found


_BAD = frozenset({"send_failed", "send_refused", "earlier_uncertain", "decided_before_restore"})


def _filed(banner: Banner, speech: Speech) -> Said:
    tone: Tone = "bad" if banner.code in _BAD else "warn"
    detail = _worded(banner, speech)
    key = f"banner.{banner.code}"
    if key not in speech.words:
        return Said(tone, speech.t("banner.other", code=banner.code.replace("_", " "), detail=detail), banner.code)
    return Said(tone, speech.t(key, detail=detail), banner.code)


def _worded(banner: Banner, speech: Speech) -> str:
    """What guardrails and delivery told as `gate: code detail`, in words."""
    match banner.code:
        case "approval_lost":
            return speech.code("lost", banner.detail)
        case "dispatch_refused":
            gate, _, rest = banner.detail.partition(": ")
            code, _, detail = rest.partition(" ")
            return ": ".join(filter(None, (speech.code("gate", gate), speech.code("code", code), detail)))
        case "send_failed" | "send_refused":
            code, _, detail = banner.detail.partition(" ")
            return ": ".join(filter(None, (speech.code("code", code), detail)))
        case _:
            return banner.detail


def comparisons(item: Item, speech: Speech, seen_epoch: int | None) -> list[Comparison]:
    """Against what this person last saw, the agent's draft, and the revision before; only those that differ."""
    epochs = {version.epoch: version for version in item.versions}
    against: list[tuple[str, str]] = []
    if seen_epoch in epochs and seen_epoch != item.epoch:
        against.append((speech.t("diff.seen", n=seen_epoch), epochs[seen_epoch].body))
    against.append((speech.t("diff.draft"), item.drafted_body))
    before = _before(item, epochs)
    if before is not None and before.epoch != seen_epoch:
        against.append((speech.t("diff.previous", n=before.epoch), before.body))
    return [Comparison(title, texts.diff(body, item.body)) for title, body in against if body not in {"", item.body}]


def _before(item: Item, epochs: dict[int, VersionView]) -> VersionView | None:
    return epochs.get(item.epoch - 1)


def length_limit(item: Item) -> int:
    return body_limit(item.destination)


def action(item: Item, verb: str) -> ActionView:
    return next(one for one in item.actions if one.verb == verb)


def why_not(item: Item, speech: Speech) -> str:
    """Why this person may not approve now, in words; empty when they may."""
    problem = action(item, "approve").why_not
    if problem is None:
        return ""
    return speech.words.get(f"why_not.{problem.slug}") or str(document(problem, speech.language)["detail"])


def reasons(item: Item) -> list[str]:
    """Why this text, without what the page says in words of its own: the name, and the baseline's markers."""
    context = "\n".join(line for line in item.context.split("\n") if not line.startswith("[BASELINE"))
    said = [item.basis.reason, item.summary, context.removeprefix(item.basis.reason).strip()]
    known = {"", item.conversation.contact_name}
    return [text for at, text in enumerate(said) if text not in known and text not in said[:at]]


def by_gravity(alerts: list[AlertView]) -> list[AlertView]:
    return sorted(alerts, key=lambda one: _GRAVITY.index(one.severity))
