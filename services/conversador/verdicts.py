"""What gates and people say about a turn's text. A word on a turn that is no longer live changes nothing."""

from collections.abc import Iterator
from typing import Any
from uuid import UUID

from contracts.messages import (
    ApprovalEnded,
    DraftApproved,
    DraftCleared,
    DraftFiled,
    DraftRejected,
    DraftSentBack,
    DraftVetoed,
    FilingRefused,
)
from services.conversador import moves
from services.conversador import turn as turns
from services.conversador.config import Config
from services.conversador.store.scenes import Scene, SentBack
from services.conversador.store.turns import adopt_summary, save_approval, save_decision
from services.conversador.tools import Phrase, Refusal, refused, spoken_last
from services.conversador.turn import End, HandOff, OpenCase, Recovery, Rewrite, Turn
from shared.bus import NOTHING, Effects, Heard

FILING = "filing"
CASE_GATE = "case_promise"


def judged(scene: Scene, turn_id: UUID | None, draft_id: UUID) -> Turn | None:
    """The live turn, if this is about the text that it waits with."""
    live = scene.live
    waits = live is not None and live.state == "judging" and (live.id, live.draft_id) == (turn_id, draft_id)
    return live if waits else None


def on_draft_cleared(heard: Heard[DraftCleared], scene: Scene) -> Effects:
    message = heard.message
    turn = judged(scene, message.turn_id, message.draft_id)
    return NOTHING if turn is None else moves.leave(turns.rendered(turn, message.body), "spoke")


def on_draft_vetoed(config: Config, heard: Heard[DraftVetoed], scene: Scene) -> Effects:
    message = heard.message
    turn = judged(scene, message.turn_id, message.draft_id)
    if turn is None:
        return NOTHING
    told = Refusal(tuple(_phrases(turn, message)), message.instruction)
    vetoes = {one.gate for one in message.verdicts if one.outcome == "veto"}
    answer = refused(turn.transcript, told)
    after = turns.after_refusal(
        turn, message.gate, answer, ends_turn=message.ends_turn, code=message.code,
        lacks_only_a_case=vetoes == {CASE_GATE},
    )  # fmt: skip
    return _followed(heard, scene, turn, after, config)


def _phrases(turn: Turn, message: DraftVetoed) -> Iterator[Phrase]:
    """The words that the gates pointed at; why they did is for people."""
    for verdict in message.verdicts:
        if verdict.outcome == "veto":
            yield from (Phrase(turn.body[span.start : span.end]) for span in verdict.spans if span.end > span.start)


def on_filing_refused(config: Config, heard: Heard[FilingRefused], scene: Scene) -> Effects:
    """Approval may be faster than our closing, or even than our hearing of the verdict."""
    message = heard.message
    recorded = Effects(writes=[save_decision(message.draft_id, "refused", message.code)])
    turn = scene.live
    if turn is None or (turn.id, turn.draft_id) != (message.turn_id, message.draft_id):
        return recorded
    answer = refused(turn.transcript, Refusal((), message.recommendation))
    after = turns.after_refusal(turn, FILING, answer, ends_turn=not message.recommendation, code=message.code)
    return recorded + _followed(heard, scene, turn, after, config)


def _followed(
    heard: Heard[Any], scene: Scene, turn: Turn, after: End | HandOff | Rewrite | OpenCase, config: Config
) -> Effects:
    match after:
        case End(reason):
            return moves.end(scene, turn, reason, heard.now)
        case HandOff(reason):
            return moves.hand_off(turns.without_draft(turn), reason)
        case Rewrite(rewritten):
            return moves.go_on(rewritten)
        case OpenCase(resting):
            return moves.propose(resting, spoken_last(turn.transcript), config)


def recovery_of(heard: Heard[DraftCleared] | Heard[DraftVetoed], scene: Scene) -> Recovery | None:
    """What this verdict means for the veto before it."""
    turn = judged(scene, heard.message.turn_id, heard.message.draft_id)
    return None if turn is None else turns.recovery(turn, is_cleared=isinstance(heard.message, DraftCleared))


def on_draft_filed(heard: Heard[DraftFiled], _facts: None) -> Effects:
    message = heard.message
    filed = save_decision(message.draft_id, "filed", obligation_id=message.obligation_id)
    return Effects(writes=[filed, adopt_summary(message.obligation_id)])


def on_draft_approved(heard: Heard[DraftApproved], _facts: None) -> Effects:
    return Effects(writes=[save_approval(heard.message.snapshot.obligation_id)])


def on_draft_rejected(heard: Heard[DraftRejected], _facts: None) -> Effects:
    return Effects(writes=[save_decision(heard.message.draft_id, "rejected", heard.message.reason)])


def on_approval_ended(heard: Heard[ApprovalEnded], _facts: None) -> Effects:
    return Effects(writes=[save_decision(heard.message.draft_id, "ended", heard.message.how)])


def on_draft_sent_back(config: Config, heard: Heard[DraftSentBack], facts: SentBack) -> Effects:
    """A person wants another text. Their words reach the model as a note, and no gate ever reads them."""
    message, scene, previous = heard.message, facts.scene, facts.previous
    recorded = Effects(writes=[save_decision(message.draft_id, "sent_back", message.instruction)])
    if scene.conversation is None:
        return recorded
    occasion = moves.Occasion(
        kind=previous.kind if previous else "inbound_turn",
        note=previous.note if previous else "",
        instruction=message.instruction,
        redraft_of=turns.ObligationRef(obligation_id=message.obligation_id, epoch=message.epoch),
        previous_body=message.previous_body,
        destination=message.destination,
    )
    if message.round > turns.MOST_ROUNDS and moves.why_silent(scene, occasion) is None:
        fresh = moves.new_turn(scene.conversation, occasion, heard.id, heard.now)
        ended = moves.supersede(scene, heard.now, "newer_context", even_handing_off=True)
        return recorded + ended + moves.hand_off(fresh, "rounds_exhausted")
    return recorded + moves.react(scene, occasion, cause=heard.id, now=heard.now, config=config)


def on_verdict_late(scene: Scene, step: moves.Step) -> Effects:
    """Nobody judged in time: a person takes it. A verdict that comes after this finds the turn gone."""
    turn = scene.live
    if turn is None or turn.state != "judging" or (turn.id, turn.step) != (step.turn_id, step.step):
        return NOTHING
    return moves.hand_off(turns.without_draft(turn), "no_verdict")
