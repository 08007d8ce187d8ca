"""Gate 1. Nobody writes to someone who said stop, and an agent does not talk over a person."""

from datetime import timedelta
from typing import Final

from services.guardrails.examples import NOON, a_draft, some_facts
from services.guardrails.facts import Author, Consent, ContactState, Draft, Facts, Ownership, Unknown, known
from services.guardrails.gate import Example, Gate, OnMissing, Verdict, Wording, passed, veto

_END: Final = Wording(
    pt="Esta pessoa não deve receber mensagens agora. Encerre a vez sem escrever nada.",
    en="This person must not receive messages now. End your turn without writing anything.",
    es="Esta persona no debe recibir mensajes ahora. Termina el turno sin escribir nada.",
)
_PERSON_SPEAKS: Final = Wording(
    pt="Quem responde nesta conversa agora é outra pessoa. Encerre a vez sem escrever nada.",
    en="Someone else answers in this conversation now. End your turn without writing anything.",
    es="Ahora otra persona responde en esta conversación. Termina el turno sin escribir nada.",
)


def judge(draft: Draft, facts: Facts) -> Verdict:
    contact = known(facts.contact)
    if contact.is_blocked or (contact.opted_out_at and not _answers_a_return(draft, facts, contact)):
        return veto("contact_blocked", _END.say(draft.language), "contact", "last_inbound_at")
    if draft.author is Author.AGENT and _was_overtaken(draft, known(facts.ownership)):
        return veto("conversation_taken_over", _PERSON_SPEAKS.say(draft.language), "ownership")
    return passed("contact", "ownership")


def _answers_a_return(draft: Draft, facts: Facts, contact: ContactState) -> bool:
    """The contact wrote again after opting out, the draft is newer than that, and a person ticked the reply."""
    last_inbound = known(facts.last_inbound_at)
    if not draft.replies_after_opt_out or last_inbound is None or contact.opted_out_at is None:
        return False
    return contact.opted_out_at < last_inbound <= draft.filed_at


def _was_overtaken(draft: Draft, ownership: Ownership) -> bool:
    if not ownership.is_with_person:
        return False
    taken_over = ownership.taken_over_at_revision
    return taken_over is None or draft.context_revision < taken_over


_OPTED_OUT: Final = ContactState(consent=Consent.GRANTED, opted_out_at=NOON - timedelta(hours=1))

STOP: Final = Gate(
    name="stop",
    judge=judge,
    on_missing=OnMissing.CLOSED,
    judges_text=False,
    clear=(
        Example("an ordinary conversation", a_draft(), some_facts()),
        Example(
            "a person ticked the reply to someone who wrote again after opting out",
            a_draft(author=Author.PERSON, replies_after_opt_out=True),
            some_facts(contact=_OPTED_OUT),
        ),
        Example(
            "a draft that the person asked for after taking over",
            a_draft(context_revision=8),
            some_facts(ownership=Ownership(is_with_person=True, taken_over_at_revision=8)),
        ),
        Example(
            "the person who took over writes",
            a_draft(author=Author.PERSON),
            some_facts(ownership=Ownership(is_with_person=True, taken_over_at_revision=9)),
        ),
    ),
    stop=(
        Example("the contact opted out", a_draft(), some_facts(contact=_OPTED_OUT), "contact_blocked"),
        Example(
            "a person's text without the tick",
            a_draft(author=Author.PERSON),
            some_facts(contact=_OPTED_OUT),
            "contact_blocked",
        ),
        Example(
            "the tick, but nothing was written after the opt-out",
            a_draft(replies_after_opt_out=True),
            some_facts(contact=_OPTED_OUT, last_inbound_at=NOON - timedelta(hours=2)),
            "contact_blocked",
        ),
        Example(
            "the tick, on a draft older than the new message",
            a_draft(replies_after_opt_out=True, filed_at=NOON - timedelta(minutes=30)),
            some_facts(contact=_OPTED_OUT),
            "contact_blocked",
        ),
        Example(
            "a blocked contact, whatever was ticked",
            a_draft(replies_after_opt_out=True),
            some_facts(contact=ContactState(consent=Consent.GRANTED, is_blocked=True)),
            "contact_blocked",
        ),
        Example(
            "a person took over after the draft was written",
            a_draft(),
            some_facts(ownership=Ownership(is_with_person=True, taken_over_at_revision=8)),
            "conversation_taken_over",
        ),
        Example(
            "the contact's state is unknown", a_draft(), some_facts(contact=Unknown("timeout")), "fact_unavailable"
        ),
    ),
)
