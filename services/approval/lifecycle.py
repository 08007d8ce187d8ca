"""What a person's word makes of an obligation. Pure: the rows, the clock and the salt are arguments.

Laws, in the order in which they are asked
- Time never approves: past `expires_at` nothing can be decided, whether or not anybody has announced it.
- Decided once: the second person is told who decided and when.
- A decision names the epoch and the commitment that were shown; another one releases nothing.
- Rights are those that the database holds now; whoever wrote a text approves it only where the policy says so.
- A text of a class that binds the house (prices above all) is approved by who has proved lately that it is them.
- Nobody approves an old text unseen: what the customer wrote since must have been seen.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Final, Literal

from services.approval.facts import UNDECIDED, Conversation, Obligation, Removed
from services.approval.filing import Unfit, body_sha256, clean_body
from services.approval.people import may
from services.approval.problems import Problem
from shared.web.people import Person
from shared.web.returning import start_page

Verb = Literal["approve", "reject", "send_back", "request_information", "edit", "withdraw"]
VERBS: Final[tuple[Verb, ...]] = ("approve", "reject", "send_back", "request_information", "edit", "withdraw")
MAX_ROUNDS: Final = 3
REASON_LIMIT: Final = 4_000
CRITICAL: Final = frozenset({"price", "contract", "legal", "public_post", "unverified_claim", "specification"})
"""Classes whose approval wants a recent sign-in (step-up)."""
_NEEDS_WORDS: Final = frozenset({"send_back", "request_information"})


@dataclass(frozen=True, slots=True)
class Policy:
    """Who must say yes. Versioned: what decided is recorded with each decision."""

    name: str
    version: int
    may_editor_approve: bool


def single(*, may_editor_approve: bool) -> Policy:
    """One person decides."""
    return Policy("single", 1, may_editor_approve)


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """What a person asks for, bound to what they saw."""

    verb: Verb
    epoch: int
    commitment: str
    reason: str = ""
    edited_text: str | None = None
    context_revision: int | None = None
    """The highest revision of the conversation that was on the person's screen."""
    confirm_repeat: bool = False
    reply_after_opt_out: bool = False
    is_fresh: bool = True
    """Whether the person's sign-in is recent and strong enough for a critical decision."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """What a decision must know: read under the locks of the conversation and the obligation."""

    obligation: Obligation
    conversation: Conversation
    person: Person | None
    """As the database has them now; None when they are no longer active."""
    uncertain_bodies: frozenset[str] = frozenset()
    """sha256 of the texts of this conversation whose sends nobody knows the fate of."""


@dataclass(frozen=True, slots=True)
class NewText:
    """A text that a person wrote, cleaned."""

    body: str
    removed: tuple[Removed, ...] = ()


@dataclass(frozen=True, slots=True)
class Approve:
    """Yes, to the text shown or to the person's own edit of it."""

    edit: NewText | None
    context_revision: int


@dataclass(frozen=True, slots=True)
class Edit:
    """Another text, still to be decided; None when it is the one that stands already."""

    edit: NewText | None


@dataclass(frozen=True, slots=True)
class Reject:
    """No."""

    reason: str


@dataclass(frozen=True, slots=True)
class SendBack:
    """Another text is wanted of the agent."""

    instruction: str
    round: int


@dataclass(frozen=True, slots=True)
class AskInformation:
    """Something must be known first; the item stays open."""

    question: str


@dataclass(frozen=True, slots=True)
class Withdraw:
    """Taken back before it left."""

    reason: str


Decision = Approve | Edit | Reject | SendBack | AskInformation | Withdraw


def decide(wish: Wish, case: Case, policy: Policy, now: datetime) -> Decision | Problem:  # noqa: PLR0911 - a verb, an answer
    """Answer a wish."""
    refusal = _state(wish, case, now) or _binding(wish, case) or _right(wish, case, policy) or _words(wish)
    if refusal is not None:
        return refusal
    match wish.verb:
        case "approve":
            return _approve(wish, case)
        case "edit":
            edit = _edit(wish, case)
            return edit if isinstance(edit, Problem) else Edit(edit)
        case "reject":
            return Reject(wish.reason)
        case "send_back":
            return _send_back(wish, case)
        case "request_information":
            return AskInformation(wish.reason)
        case "withdraw":
            return Withdraw(wish.reason)


def _state(wish: Wish, case: Case, now: datetime) -> Problem | None:
    obligation = case.obligation
    if obligation.state == "expired" or (obligation.state in UNDECIDED and now >= obligation.expires_at):
        return Problem("expired", {"expired_at": obligation.expires_at.isoformat()})
    if wish.verb == "withdraw" and obligation.state == "approved":
        return None if obligation.is_leaving else Problem("too-late", {"delivery": obligation.delivery})
    if obligation.state in {"withdrawn", "superseded"}:
        return Problem("ended", {"state": obligation.state})
    if obligation.state not in UNDECIDED:
        return _already_decided(obligation)
    is_new_text = wish.verb in {"edit", "withdraw"} or (wish.verb == "approve" and wish.edited_text is not None)
    if obligation.state == "waiting_agent" and not is_new_text:
        return Problem("waiting-agent", {"state": obligation.state})
    return None


def _already_decided(obligation: Obligation) -> Problem:
    when = obligation.decided_at.isoformat() if obligation.decided_at else ""
    return Problem("already-decided", {"who": obligation.decided_by, "when": when, "state": obligation.state})


def _binding(wish: Wish, case: Case) -> Problem | None:
    version = case.obligation.version
    if (wish.epoch, wish.commitment) != (version.epoch, version.commitment):
        return Problem(
            "stale-revision",
            {
                "seen_epoch": wish.epoch,
                "epoch": version.epoch,
                "shown": version.commitment[:8],
                "author": version.author,
                "filed_at": version.filed_at.isoformat(),
            },
        )
    return None


def _right(wish: Wish, case: Case, policy: Policy) -> Problem | None:
    if case.person is None or not may(case.person, "decide"):
        return Problem("no-right", {"right": "decide"})
    if wish.verb != "approve":
        return None
    if not wish.is_fresh and CRITICAL.intersection(case.obligation.version.basis.classes):
        return Problem("sign-in-again", {"url": start_page(f"/approvals/{case.obligation.id}", is_fresh_wanted=True)})
    if policy.may_editor_approve:
        return None
    is_author = case.obligation.version.author == case.person.email
    return Problem("sod-violation") if is_author or wish.edited_text is not None else None


def _words(wish: Wish) -> Problem | None:
    if wish.verb in _NEEDS_WORDS and not wish.reason.strip():
        return Problem("unfit", {"field": "reason", "size": 0, "limit": REASON_LIMIT})
    if len(wish.reason) > REASON_LIMIT:
        return Problem("unfit", {"field": "reason", "size": len(wish.reason), "limit": REASON_LIMIT})
    return None


def _approve(wish: Wish, case: Case) -> Approve | Problem:
    version, heard = case.obligation.version, case.conversation.context_revision
    unseen = wish.context_revision is not None and wish.context_revision < heard
    if unseen or (version.context_revision < heard and wish.context_revision is None):
        return Problem(
            "context-changed", {"context_revision": version.context_revision, "heard_context_revision": heard}
        )
    edit = _edit(wish, case)
    if isinstance(edit, Problem):
        return edit
    digest = body_sha256(edit.body) if edit else version.body_sha256
    if digest in case.uncertain_bodies and not wish.confirm_repeat:
        return Problem("repeats-uncertain")
    return Approve(edit, max(version.context_revision, heard))


def _edit(wish: Wish, case: Case) -> NewText | Problem | None:
    """The person's text; None when it is the one that was shown."""
    version = case.obligation.version
    if wish.edited_text is None:
        return Problem("unfit", {"field": "draft", "size": 0, "limit": 0}) if wish.verb == "edit" else None
    cleaned = clean_body(wish.edited_text, version.destination)
    if isinstance(cleaned, Unfit):
        return Problem("unfit", {"field": cleaned.field, "size": cleaned.size, "limit": cleaned.limit})
    body, removed = cleaned
    if body == version.body and case.obligation.state == "open":
        return None
    return NewText(body, removed)


def _send_back(wish: Wish, case: Case) -> SendBack | Problem:
    rounds = case.obligation.rounds
    if rounds >= MAX_ROUNDS:
        return Problem("rounds-used-up", {"rounds": rounds})
    return SendBack(wish.reason, rounds + 1)


@dataclass(frozen=True, slots=True)
class Action:
    """What the person may do now, or why not: what a page renders."""

    verb: Verb
    is_allowed: bool
    why_not: Problem | None = None


def actions(case: Case, policy: Policy, now: datetime) -> tuple[Action, ...]:
    """Each verb asked as if wished for with all that is on the screen."""
    version = case.obligation.version
    found: list[Action] = []
    for verb in VERBS:
        wish = Wish(
            verb=verb,
            epoch=version.epoch,
            commitment=version.commitment,
            reason="?",
            edited_text=f"{version.body}." if verb == "edit" else None,
            context_revision=case.conversation.context_revision,
            confirm_repeat=True,
        )
        answer = decide(wish, case, policy, now)
        problem = answer if isinstance(answer, Problem) and answer.slug != "unfit" else None
        found.append(Action(verb, problem is None, problem))
    return tuple(found)
