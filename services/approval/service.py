"""approval: people decide the exact text; their yes is sealed; a ledger tells what became of it.

The way of a draft: `DraftCleared` is filed as an obligation at an epoch → a person decides it (`desk.py`) → the yes is
sealed and said as `DraftApproved` → guardrails and delivery tell its fate, which closes it or opens it again.
"""

from functools import partial

from contracts import messages as m
from services.approval import hears_conversations as talk
from services.approval import hears_drafts as drafts
from services.approval import hears_sends as sends
from services.approval import timers
from services.approval.config import Config
from services.approval.effects import EXPIRY
from services.approval.http import app
from services.approval.start import start
from services.approval.store import loading
from services.approval.terms import terms
from shared.bus import Handlers, Quick, Timer, no_facts
from shared.retention import Class
from shared.runtime import Service
from shared.web.store import ENDED_SESSIONS

IGNORES = (
    m.MessageReacted,  # never a reason to decide anything
    m.StatusReported,  # delivery owns statuses and tells us SendStatusChanged
    m.EchoSeen,
    m.TurnClosed,
    m.CaseOpened,
    m.CaseClosed,
    m.FollowUpScheduled,
)


def handlers(config: Config) -> Handlers:
    t = terms(config)
    talking = loading.locked(loading.in_conversation)
    deciding = loading.locked(loading.of_decision)
    return Handlers(
        quick=(
            Quick(m.DraftCleared, loading.cleared(loading.FactsTable()), partial(drafts.on_draft_cleared, t)),
            Quick(m.DraftVetoed, no_facts, drafts.on_draft_vetoed),
            Quick(m.MessageReceived, talking, partial(talk.on_message_received, t)),
            Quick(m.MessageEdited, talking, partial(talk.on_message_edited, t)),
            Quick(m.MessageRevoked, talking, partial(talk.on_message_revoked, t)),
            Quick(m.PhoneReplied, talking, partial(talk.on_phone_replied, t)),
            Quick(m.HandoffRequested, loading.handed_off, talk.on_handoff_requested),
            Quick(m.ContactSeen, no_facts, talk.on_contact_seen),
            Quick(m.ConsentChanged, no_facts, talk.on_consent_changed),
            Quick(m.ChannelStatusChanged, no_facts, talk.on_channel_status_changed),
            Quick(m.FactRecorded, no_facts, talk.on_fact_recorded),
            Quick(m.AlertRaised, no_facts, talk.on_alert_raised),
            Quick(m.DispatchCleared, deciding, sends.told("cleared", sends.on_dispatch_cleared)),
            Quick(m.DispatchDeferred, deciding, sends.told("deferred", sends.on_dispatch_deferred)),
            Quick(m.DispatchRefused, deciding, sends.told("dispatch_refused", partial(sends.on_dispatch_refused, t))),
            Quick(m.SendBegun, deciding, sends.told("begun", sends.on_send_begun)),
            Quick(m.SendAccepted, deciding, sends.told("accepted", sends.on_send_accepted)),
            Quick(m.SendUncertain, deciding, sends.told("uncertain", sends.on_send_uncertain)),
            Quick(m.SendFailed, deciding, sends.told("failed", partial(sends.on_send_failed, t))),
            Quick(m.SendRefused, deciding, sends.told("send_refused", partial(sends.on_send_refused, t))),
            Quick(m.SendStatusChanged, deciding, sends.told("status", sends.on_send_status_changed)),
        ),
        timers=(Timer(EXPIRY, timers.load_expiry, timers.on_expiry),),
        ignores=IGNORES,
    )


FORGETS = (
    Class("change", "at", 1, "pages that were away catch up; those away for longer look at everything anew"),
    Class("idempotency", "at", 1, "a request that got no answer is sent again"),
    ENDED_SESSIONS,
)
SERVICE = Service("approval", Config, handlers, app=app, start=start, forgets=FORGETS)
