"""Gate 2. A person who asked to be forgotten stays forgotten; a first cold touch needs a basis (LGPD art. 7, 10)."""

from typing import Final

from services.guardrails.examples import a_draft, some_facts
from services.guardrails.facts import Consent, ContactState, Draft, DraftKind, Facts, Unknown, known
from services.guardrails.gate import Example, Gate, OnMissing, Verdict, Wording, passed, veto

_END: Final = Wording(
    pt="Não há autorização para escrever a esta pessoa. Encerre a vez sem escrever nada.",
    en="There is no permission to write to this person. End your turn without writing anything.",
    es="No hay autorización para escribir a esta persona. Termina el turno sin escribir nada.",
)
_COLD_BASES: Final = frozenset({Consent.GRANTED, Consent.LEGITIMATE_INTEREST})


def judge(draft: Draft, facts: Facts) -> Verdict:
    contact = known(facts.contact)
    if contact.is_anonymised or contact.is_under_erasure:
        return veto("lgpd_anonymized", _END.say(draft.language), "contact")
    is_cold = known(facts.last_inbound_at) is None
    if is_cold and contact.consent not in _COLD_BASES:
        return veto("lgpd_no_legal_basis", _END.say(draft.language), "contact", "last_inbound_at")
    is_outreach = draft.kind is DraftKind.FOLLOW_UP
    if is_outreach and contact.consent is Consent.IMPORTED_WITHOUT_PROOF:
        return veto("lgpd_no_legal_basis", _END.say(draft.language), "contact")
    return passed("contact", "last_inbound_at")


def _contact(consent: Consent, *, is_anonymised: bool = False, is_under_erasure: bool = False) -> ContactState:
    return ContactState(consent=consent, is_anonymised=is_anonymised, is_under_erasure=is_under_erasure)


LGPD: Final = Gate(
    name="lgpd",
    judge=judge,
    on_missing=OnMissing.CLOSED,
    judges_text=False,
    clear=(
        Example("a reply to someone who wrote first", a_draft(), some_facts(contact=_contact(Consent.NONE))),
        Example(
            "a first cold touch with consent",
            a_draft(),
            some_facts(contact=_contact(Consent.GRANTED), last_inbound_at=None),
        ),
        Example(
            "a first cold touch with a documented legitimate interest",
            a_draft(kind=DraftKind.FOLLOW_UP),
            some_facts(contact=_contact(Consent.LEGITIMATE_INTEREST), last_inbound_at=None),
        ),
        Example(
            "an imported contact who wrote to us gets a reply",
            a_draft(),
            some_facts(contact=_contact(Consent.IMPORTED_WITHOUT_PROOF)),
        ),
    ),
    stop=(
        Example(
            "an anonymised contact",
            a_draft(),
            some_facts(contact=_contact(Consent.GRANTED, is_anonymised=True)),
            "lgpd_anonymized",
        ),
        Example(
            "a contact under erasure",
            a_draft(),
            some_facts(contact=_contact(Consent.GRANTED, is_under_erasure=True)),
            "lgpd_anonymized",
        ),
        Example(
            "a first cold touch without a basis",
            a_draft(),
            some_facts(contact=_contact(Consent.NONE), last_inbound_at=None),
            "lgpd_no_legal_basis",
        ),
        Example(
            "an imported contact without proof",
            a_draft(kind=DraftKind.FOLLOW_UP),
            some_facts(contact=_contact(Consent.IMPORTED_WITHOUT_PROOF)),
            "lgpd_no_legal_basis",
        ),
        Example("nobody knows", a_draft(), some_facts(contact=Unknown("database down")), "fact_unavailable"),
        Example(
            "nobody knows who wrote first",
            a_draft(),
            some_facts(last_inbound_at=Unknown("timeout")),
            "fact_unavailable",
        ),
    ),
)
