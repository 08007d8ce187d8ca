"""Gate 4. Where the provider closes a conversation 24 hours after the last inbound, only a template passes."""

from datetime import timedelta
from typing import Final

from services.guardrails.examples import NOON, a_draft, some_facts
from services.guardrails.facts import ChannelRules, Draft, Facts, Unknown, known
from services.guardrails.gate import NOT_APPLICABLE, Example, Gate, OnMissing, Verdict, Wording, passed, veto

WINDOW: Final = timedelta(hours=24)
_USE_A_TEMPLATE: Final = Wording(
    pt="Passou um dia desde a última mensagem desta pessoa. Agora só serve um texto fixo já registrado.",
    en="A day has passed since this person's last message. Only a text registered as a fixed template will do now.",
    es="Pasó un día desde el último mensaje de esta persona. Solo sirve un texto fijo ya registrado.",
)


def judge(draft: Draft, facts: Facts) -> Verdict:
    if not known(facts.channel).has_24h_rule:
        return NOT_APPLICABLE
    if draft.is_template:
        return passed("channel")
    last_inbound = known(facts.last_inbound_at)
    if last_inbound is None or facts.now - last_inbound >= WINDOW:
        return veto("window_closed", _USE_A_TEMPLATE.say(draft.language), "channel", "last_inbound_at", "now")
    return passed("channel", "last_inbound_at", "now")


_CLOUD: Final = ChannelRules(kind="whatsapp_cloud", has_24h_rule=True)
_DAY_AGO: Final = NOON - WINDOW

SERVICE_WINDOW: Final = Gate(
    name="service_window",
    judge=judge,
    on_missing=OnMissing.CLOSED,
    judges_text=False,
    clear=(
        Example("a channel without the rule", a_draft(), some_facts(last_inbound_at=None)),
        Example(
            "one second before the day is over",
            a_draft(),
            some_facts(channel=_CLOUD, last_inbound_at=_DAY_AGO + timedelta(seconds=1)),
        ),
        Example("a template at any time", a_draft(is_template=True), some_facts(channel=_CLOUD, last_inbound_at=None)),
    ),
    stop=(
        Example(
            "exactly 24 hours is closed",
            a_draft(),
            some_facts(channel=_CLOUD, last_inbound_at=_DAY_AGO),
            "window_closed",
        ),
        Example(
            "the contact never wrote", a_draft(), some_facts(channel=_CLOUD, last_inbound_at=None), "window_closed"
        ),
        Example(
            "nobody knows when the contact wrote",
            a_draft(),
            some_facts(channel=_CLOUD, last_inbound_at=Unknown("timeout")),
            "fact_unavailable",
        ),
    ),
)
