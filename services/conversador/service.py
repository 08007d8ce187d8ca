"""conversador, the speaking role: it hears customers, drafts replies, learns what became of them. It sends nothing.

A turn: a message (or a burst) → draft (`speaking.py`) → verdict (`verdicts.py`) → closing (`closing.py`).
"""

from collections.abc import Callable
from functools import partial
from typing import Any
from zoneinfo import ZoneInfo

import msgspec
from msgspec.structs import replace

from contracts import messages as m
from services.conversador import closing, metrics, moves, speaking, verdicts
from services.conversador.config import Config
from services.conversador.knowledge import read_pieces
from services.conversador.model import Model
from services.conversador.store import history, scenes
from services.conversador.store.history import Changed
from services.conversador.store.knowledge import save_piece
from services.conversador.store.scenes import Conversation, Scene
from services.conversador.store.turns import adopt_summary
from services.conversador.tools import TOOLS
from shared.bus import NOTHING, Effects, Handlers, Heard, Job, Quick, Slow, StartJob, Timer, each, no_facts
from shared.db import Tx
from shared.ids import derived_id
from shared.retention import Class
from shared.runtime import Context, Service
from shared.tool_breaker import Breaker, show_breaker

_OPTS_OUT = frozenset({"opt_out", "erasure_request"})


def handlers(config: Config, model: Model | None = None) -> Handlers:
    show_breaker(Breaker(), TOOLS.names)
    role = speaking.Role(config, model or Model(config), ZoneInfo(config.house_time_zone))
    return Handlers(
        quick=(
            Quick(m.MessageReceived, scenes.load_scenes, _counted(partial(on_message_received, config))),
            Quick(m.MessageEdited, history.load_changed, _counted(partial(on_message_edited, config))),
            Quick(m.MessageRevoked, history.load_changed, _counted(partial(on_message_revoked, config))),
            Quick(m.PhoneReplied, scenes.load_scenes, _counted(on_phone_replied)),
            Quick(m.ContactSeen, no_facts, on_contact_seen),
            Quick(m.ConsentChanged, no_facts, on_consent_changed),
            Quick(m.OwnershipChanged, scenes.load_scenes, _counted(on_ownership_changed)),
            Quick(m.DraftCleared, scenes.load_scenes, _recovered(verdicts.on_draft_cleared)),
            Quick(m.DraftVetoed, scenes.load_scenes, _recovered(_counted(partial(verdicts.on_draft_vetoed, config)))),
            Quick(m.FilingRefused, scenes.load_scenes, _counted(partial(verdicts.on_filing_refused, config))),
            Quick(m.DraftFiled, scenes.hold, verdicts.on_draft_filed),
            Quick(m.DraftApproved, no_facts, verdicts.on_draft_approved),
            Quick(m.DraftRejected, no_facts, verdicts.on_draft_rejected),
            Quick(m.ApprovalEnded, no_facts, verdicts.on_approval_ended),
            Quick(m.DraftSentBack, each(scenes.load_sent_back), _counted(partial(verdicts.on_draft_sent_back, config))),
            Quick(m.SendAccepted, scenes.hold, on_send_accepted),
            Quick(m.CaseOpened, no_facts, on_case_opened),
            Quick(m.CaseClosed, scenes.load_scenes, _counted(partial(on_case_closed, config))),
            Quick(m.FollowUpScheduled, no_facts, on_follow_up_scheduled),
            Quick(m.FactRecorded, no_facts, on_fact_recorded),
        ),
        slow=(
            Slow("turn", role.prepare, role.work, role.finish),
            Slow("closing", partial(closing.prepare, role), partial(closing.work, role), partial(closing.finish, role)),
        ),
        timers=(
            Timer("verdict_late", _load_step, _counted(on_verdict_late), config.verdict_hearing_seconds),
            Timer("follow_up", _load_follow_up, _counted(partial(on_follow_up_due, config))),
        ),
        # What delivery tries and people react with changes no text: history shows what was sent, and only that.
        ignores=(
            m.MessageReacted, m.DispatchCleared, m.DispatchDeferred, m.DispatchRefused, m.SendBegun, m.SendUncertain,
            m.SendFailed, m.SendRefused, m.SendStatusChanged,
        ),
    )  # fmt: skip


# ---------------------------------------------------------------------------------------------------- the conversation


def on_message_received(config: Config, heard: Heard[m.MessageReceived], scene: Scene) -> Effects:
    message = heard.message
    known = replace(scene, conversation=_after(message, scene.conversation))
    assert known.conversation is not None
    recorded = Effects(
        writes=[
            scenes.save_conversation(known.conversation),
            history.add_received(message),
            history.cancel_follow_ups(message.conversation_id),
        ]
    )
    occasion = moves.Occasion(opts_out=message.opt_out in _OPTS_OUT, is_draftable=message.is_draftable)
    return recorded + moves.react(known, occasion, cause=heard.id, now=heard.now, config=config)


def _after(message: m.MessageReceived, known: Conversation | None) -> Conversation:
    return Conversation(
        conversation_id=message.conversation_id,
        tenant=message.tenant,
        contact_id=message.contact_id,
        channel_id=message.channel_id,
        destination=message.destination,
        language=message.language,
        sender_name=message.sender_name,
        context_revision=message.context_revision,
        rolling_summary=known.rolling_summary if known else "",
    )


def on_message_edited(config: Config, heard: Heard[m.MessageEdited], facts: Changed) -> Effects:
    """A changed message that still waits for an answer, or that an answer is being written to, is answered anew."""
    message = heard.message
    scene, recorded = _revised(facts.scene, message)
    recorded += Effects(writes=[history.edit(message)])
    occasion = moves.Occasion(opts_out=message.opt_out in _OPTS_OUT)
    if scene.conversation is None or not (occasion.opts_out or scene.live or message.message_id in facts.unanswered):
        return recorded
    return recorded + moves.react(scene, occasion, cause=heard.id, now=heard.now, config=config)


def on_message_revoked(config: Config, heard: Heard[m.MessageRevoked], facts: Changed) -> Effects:
    """What is being written is written anew without the deleted words, if anything is left to answer."""
    message = heard.message
    scene, recorded = _revised(facts.scene, message)
    recorded += Effects(writes=[history.revoke(message)])
    if scene.conversation is None or scene.live is None:
        return recorded
    if message.is_ours or facts.unanswered - {message.message_id}:
        return recorded + moves.react(scene, moves.Occasion(), cause=heard.id, now=heard.now, config=config)
    return recorded + moves.supersede(scene, heard.now, "message_revoked")


def on_phone_replied(heard: Heard[m.PhoneReplied], scene: Scene) -> Effects:
    """A person of ours answered: what was being written is no longer wanted."""
    message = heard.message
    scene, recorded = _revised(scene, message)
    return (
        recorded
        + Effects(writes=[history.add_reply(message, heard.id)])
        + moves.supersede(scene, heard.now, "person_replied")
    )


def _revised(scene: Scene, message: m.ConversationMessage) -> tuple[Scene, Effects]:
    if scene.conversation is None:
        return scene, NOTHING
    revised = replace(scene.conversation, context_revision=message.context_revision)
    return replace(scene, conversation=revised), Effects(writes=[scenes.save_conversation(revised)])


def on_ownership_changed(heard: Heard[m.OwnershipChanged], scene: Scene) -> Effects:
    """A person takes over: what is unwritten or unjudged ends. What is closing is finished, for its declaration."""
    recorded = Effects(writes=[scenes.save_owner(heard.message)])
    takes_over = heard.message.owner == "person" and scene.live is not None and scene.live.state != "closing"
    return recorded + moves.supersede(scene, heard.now, "person_owns") if takes_over else recorded


# -------------------------------------------------------------------------------------------------------- projections


def on_contact_seen(heard: Heard[m.ContactSeen], _facts: None) -> Effects:
    merged = scenes.merge_contacts(heard.message) if heard.message.merged_contact_ids else ()
    return Effects(writes=[scenes.save_contact(heard.message), *merged])


def on_consent_changed(heard: Heard[m.ConsentChanged], _facts: None) -> Effects:
    return Effects(writes=[scenes.save_consent(heard.message)])


def on_send_accepted(heard: Heard[m.SendAccepted], _facts: None) -> Effects:
    """What really left becomes history; a body that was erased meanwhile does not."""
    message = heard.message
    if not message.body:
        return NOTHING
    return Effects(
        writes=[
            history.add_sent(message),
            adopt_summary(message.obligation_id),
        ]
    )


def on_case_opened(heard: Heard[m.CaseOpened], _facts: None) -> Effects:
    return Effects(writes=[history.open_case(heard.message)])


def on_case_closed(config: Config, heard: Heard[m.CaseClosed], scene: Scene) -> Effects:
    """The team's answer, where there is one, is told to the customer."""
    message = heard.message
    recorded = Effects(writes=[history.close_case(message)])
    if scene.conversation is None or message.how != "resolved" or not message.answer:
        return recorded
    occasion = moves.Occasion(kind="case_reply_turn", note=message.answer)
    return recorded + moves.react(scene, occasion, cause=heard.id, now=heard.now, config=config)


def on_fact_recorded(heard: Heard[m.FactRecorded], _facts: None) -> Effects:
    return Effects(writes=[history.save_fact(heard.message)])


def on_follow_up_scheduled(heard: Heard[m.FollowUpScheduled], _facts: None) -> Effects:
    """The same follow-up again, at another time, replaces the timer."""
    message = heard.message
    timer = StartJob(
        id=derived_id(message.follow_up_id, "due"),
        kind="follow_up",
        key=str(message.conversation_id),
        payload=msgspec.json.encode(history.Due(message.follow_up_id, message.conversation_id)),
        due_at=message.due_at,
    )
    return Effects(writes=[history.save_follow_up(message)], jobs=[timer])


# ------------------------------------------------------------------------------------------------------------- timers


async def _load_step(tx: Tx, job: Job) -> tuple[moves.Step, Scene]:
    step = msgspec.json.decode(job.payload, type=moves.Step)
    return step, await scenes.scene_of(tx, step.conversation_id)


def on_verdict_late(_job: Job, facts: tuple[moves.Step, Scene]) -> Effects:
    step, scene = facts
    return verdicts.on_verdict_late(scene, step)


async def _load_follow_up(tx: Tx, job: Job) -> tuple[str | None, Scene]:
    due = msgspec.json.decode(job.payload, type=history.Due)
    scene = await scenes.scene_of(tx, due.conversation_id)
    return await history.take_follow_up(tx, due.follow_up_id), scene


def on_follow_up_due(config: Config, job: Job, facts: tuple[str | None, Scene]) -> Effects:
    """Speak again, unless the customer was faster or a turn is on already."""
    reason, scene = facts
    if reason is None or scene.conversation is None or scene.live is not None:
        return NOTHING
    occasion = moves.Occasion(kind="followup_turn", note=reason)
    return moves.react(scene, occasion, cause=job.id, now=job.now, config=config)


# ------------------------------------------------------------------------------------------------------------ counting


def _counted(decide: Callable[[Any, Any], Effects]) -> Callable[[Any, Any], Effects]:
    def deciding(heard: Any, facts: Any) -> Effects:
        effects = decide(heard, facts)
        metrics.count_turns(effects.says)
        return effects

    return deciding


def _recovered(decide: Callable[[Any, Any], Effects]) -> Callable[[Any, Any], Effects]:
    def deciding(heard: Any, scene: Scene) -> Effects:
        effects = decide(heard, scene)
        metrics.count_recovery(verdicts.recovery_of(heard, scene))
        return effects

    return deciding


# --------------------------------------------------------------------------------------------------------------- start


async def start(context: Context[Config]) -> None:
    """Load the knowledge file; the same file again changes nothing."""
    tenant = context.config.knowledge_tenant
    if not context.config.knowledge_file or tenant is None:
        return
    pieces = read_pieces(context.config.knowledge_file)
    async with context.db.transaction() as tx:
        await tx.write(save_piece(tenant, piece) for piece in pieces)


FORGETS = (Class("model_call", "at", 30, "what a turn cost and why it failed"),)
SERVICE = Service("conversador", Config, handlers, start=start, forgets=FORGETS)
