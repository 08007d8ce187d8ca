"""One step of a draft: ask the model once, then do what it asked for. The shell of the speaking role.

Laws
- No transaction is open while the model thinks; what comes back for an earlier step is recorded and ignored.
- Text that the model writes beside its tools is discarded: speaking is `send_message`.
- A run that is repeated after a crash asks the model again and proposes under the same draft id.
"""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal
from zoneinfo import ZoneInfo

import msgspec
from msgspec.structs import replace

from contracts.messages import Evidence
from services.conversador import metrics, moves
from services.conversador import turn as turns
from services.conversador.config import Config
from services.conversador.context import Entry, Situation, drafting
from services.conversador.model import Answer, Model, ToolCall
from services.conversador.projection import Shown
from services.conversador.store import history, knowledge
from services.conversador.store.scenes import Scene, scene_of
from services.conversador.store.turns import save_call, save_turn
from services.conversador.stuck import Wall
from services.conversador.tools import (
    HISTORY,
    KNOWLEDGE,
    REFUSAL,
    TOOLS,
    KnowledgeFound,
    ReadHistory,
    Refusal,
    SearchKnowledge,
    SendMessage,
    answered,
)
from services.conversador.turn import MOST_STEPS_PER_DRAFT, Turn
from shared.bus import Effects, Job
from shared.db import Tx, Write
from shared.tool_breaker import Call as Asked
from shared.tool_breaker import show_breaker

_FAILURES: dict[str, str] = {"content_blocked": "content_blocked"}
_EXCERPT = 500


@dataclass(frozen=True, slots=True)
class Asking:
    """What the model will be asked, for which turn."""

    turn: Turn
    messages: list[dict[str, Any]]


@dataclass(slots=True)
class Followed:
    """What came of an answer's calls: the transcript with their results, and the words, if it spoke."""

    transcript: list[dict[str, Any]]
    evidence: list[Evidence] = field(default_factory=list[Evidence])
    writes: list[Write] = field(default_factory=list[Write])
    is_stuck: bool = False
    spoke: SendMessage | None = None


class Role:
    """The speaking role: its settings, its model, and the slow handler of its turns."""

    def __init__(self, config: Config, model: Model, zone: ZoneInfo) -> None:
        self.config = config
        self.model = model
        self.zone = zone

    async def prepare(self, tx: Tx, job: Job) -> Asking | moves.SkipReason | None:
        step = msgspec.json.decode(job.payload, type=moves.Step)
        scene = await scene_of(tx, step.conversation_id)
        turn = live_at(scene, step, "drafting")
        if turn is None:
            return None
        begun = replace(turn, begun_at=turn.begun_at or job.now)
        reason = moves.why_silent(scene, moves.Occasion(kind=turn.kind))
        if reason is not None:
            await tx.write([save_turn(begun)])
            return reason
        situation = await self.situation(tx, scene, turn, job.now)
        begun = replace(begun, evidence=_with(turn.evidence, [evidence_of(one) for one in situation.found]))
        await tx.write([save_turn(begun)])
        return Asking(begun, drafting(situation, turn.transcript))

    async def situation(self, tx: Tx, scene: Scene, turn: Turn, now: datetime) -> Situation:
        """What is known at this moment, projected; nothing here names a part of the system."""
        assert scene.conversation is not None  # a turn has a conversation
        config = self.config
        entries = await history.recent_entries(tx, turn.conversation_id)
        known = await history.known_about(tx, scene.conversation)
        words = words_waiting(entries)
        return Situation(
            kind=turn.kind,
            language=turn.language,
            now=now.astimezone(self.zone),
            house_name=config.house_name,
            house_voice=config.house_voice,
            knowledge_titles=await knowledge.titles(tx, turn.tenant, turn.language),
            sender_name=scene.conversation.sender_name,
            summary=scene.conversation.rolling_summary,
            case_subject=known.case_subject,
            facts=known.facts,
            found=tuple(await knowledge.search(tx, turn.tenant, words, turn.language)) if words else (),
            entries=entries,
            note=turn.note,
            instruction=turn.instruction,
            previous_body=turn.previous_body,
        )

    async def work(self, asking: Asking | moves.SkipReason) -> Answer | None:
        if not isinstance(asking, Asking):
            return None
        return await self.model.ask(
            purpose="followup_turn" if asking.turn.kind == "followup_turn" else "agent_turn",
            model=self.config.model_name,
            messages=asking.messages,
            tools=TOOLS.offered,
        )

    async def finish(self, tx: Tx, job: Job, asking: Asking | moves.SkipReason, answer: Answer | None) -> Effects:
        step = msgspec.json.decode(job.payload, type=moves.Step)
        scene = await scene_of(tx, step.conversation_id)
        turn = live_at(scene, step, "drafting")
        if not isinstance(asking, Asking):
            return Effects() if turn is None else _said(moves.skip(turn, asking, job.now))
        assert answer is not None  # work answers whatever it is asked
        metrics.count_calls([answer.call])
        recorded = Effects(writes=[save_call(asking.turn, answer.call, key=f"{step.step}", at=job.now)])
        return recorded if turn is None else recorded + _said(await self._after(tx, scene, turn, answer, job.now))

    async def _after(self, tx: Tx, scene: Scene, turn: Turn, answer: Answer, now: datetime) -> Effects:
        if answer.call.outcome != "answered":
            reason = _FAILURES.get(answer.call.outcome, "model_unavailable")
            return moves.hand_off_at_once(scene, turn, reason, now)
        if not answer.tools:
            return moves.leave(turn, "silent")
        followed = await self._follow(tx, turn, answer.tools, now)
        asked = replace(turn, transcript=tuple(followed.transcript), evidence=_with(turn.evidence, followed.evidence))
        noted = Effects(writes=followed.writes)
        if followed.spoke is not None:
            return noted + await self._speak(tx, asked, followed.spoke)
        if followed.is_stuck or _steps(asked) >= MOST_STEPS_PER_DRAFT * (turn.rewrites + 1):
            return noted + moves.hand_off(asked, "no_progress")
        return noted + moves.go_on(turns.moved(asked))

    async def _follow(self, tx: Tx, turn: Turn, calls: tuple[ToolCall, ...], now: datetime) -> Followed:
        """Carry out the calls in their order; the first message that is spoken ends it, its answer is the verdict."""
        made: list[dict[str, Any]] = []
        wall = Wall.of(turn.transcript)
        followed = Followed([*turn.transcript, {"role": "assistant", "content": None, "tool_calls": made}])
        for place, call in enumerate(calls):
            function = {"name": call.name, "arguments": call.arguments}
            made.append({"id": call.id, "type": "function", "function": function})
            asked = Asked(call.name, call.arguments)
            match wall.refuses(asked) or TOOLS.decode(call.name, call.arguments):
                case Shown() as no_longer:
                    shown = no_longer
                case SendMessage() as words if words.text.strip() or words.needs_person:
                    followed.spoke = words
                    return followed
                case SendMessage():
                    shown = REFUSAL.show(Refusal(("`text` is empty.",), "Write the message in `text`."))
                case Refusal() as refusal:
                    shown = REFUSAL.show(refusal)
                case ReadHistory(limit):
                    shown = HISTORY.show(*await history.earlier_entries(tx, turn.conversation_id, limit))
                case SearchKnowledge(query):
                    found = await knowledge.search(tx, turn.tenant, query, turn.language)
                    key = f"{turn.step}-{place}"
                    followed.writes.append(knowledge.save_search(turn.tenant, turn.id, query, found, key=key, at=now))
                    followed.evidence += [evidence_of(one) for one in found]
                    shown = KNOWLEDGE.show(*found)
            followed.transcript.append(answered(call.id, wall.noted(asked, shown)))
            if wall.is_hit:
                followed.is_stuck = True
                break
        show_breaker(wall.breaker, TOOLS.names)
        return followed

    async def _speak(self, tx: Tx, turn: Turn, words: SendMessage) -> Effects:
        body = words.text.strip()
        if not body:
            return moves.hand_off(turn, "asked_for_person")
        opens_case = words.needs_case and not await history.has_open_case(tx, turn.conversation_id)
        spoken = turns.proposed(turn, body, needs_person=words.needs_person, opens_case=opens_case)
        return moves.propose(spoken, words, self.config)


def live_at(scene: Scene, step: moves.Step, state: Literal["drafting", "closing"]) -> Turn | None:
    """The turn that a job was started for, if it still stands where it stood then."""
    turn = scene.live
    stands = turn is not None and (turn.id, turn.step, turn.state) == (step.turn_id, step.step, state)
    return turn if stands else None


def words_waiting(entries: tuple[Entry, ...]) -> str:
    """What the customer wrote since we last spoke."""
    words: list[str] = []
    for entry in reversed(entries):
        if entry.author != "customer":
            break
        words.append(entry.text)
    return " ".join(reversed(words)).strip()


def evidence_of(found: KnowledgeFound) -> Evidence:
    return Evidence(source="knowledge", title=found.title, version=found.version, excerpt=found.text[:_EXCERPT])


def _with(known: tuple[Evidence, ...], more: list[Evidence]) -> tuple[Evidence, ...]:
    return tuple({(one.title, one.version): one for one in (*known, *more)}.values())


def _steps(turn: Turn) -> int:
    return sum(message["role"] == "assistant" for message in turn.transcript)


def _said(effects: Effects) -> Effects:
    metrics.count_turns(effects.says)
    return effects
