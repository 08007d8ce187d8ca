"""What `chancela gates replay` and `explain` find, and how they tell it."""

from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

import msgspec

from services.guardrails.chain import CHAIN, CHAIN_VERSION, chain_hash
from services.guardrails.facts import Facts
from services.guardrails.gate import Gate, Verdict
from services.guardrails.replaying import Change, Compared, replayed
from services.guardrails.store import runs
from services.guardrails.store.runs import Decision, Place, Stored, TextGone, Undecodable, Window
from shared.db import Database, Row

BATCH = 500
SHOWN_HASH = 12
UNDECODABLE_SHOWN = 3
SHOWN_VALUE = 100


class Example(msgspec.Struct):
    draft_id: UUID
    at: datetime
    phase: str
    change: Change
    before: str
    after: str
    words: tuple[str, ...]


class Tally(msgspec.Struct):
    """Of one gate, or of the whole run (`(run)`)."""

    gate: str
    same: int = 0
    newly_vetoed: int = 0
    newly_passed: int = 0
    newly_deferred: int = 0
    other: int = 0
    examples: list[Example] = []

    def add(self, stored: Stored, one: Compared, at_most: int) -> None:
        setattr(self, one.change.value, getattr(self, one.change.value) + 1)
        if one.change is Change.SAME or sum(each.change is one.change for each in self.examples) >= at_most:
            return
        self.examples.append(
            Example(stored.draft_id, stored.at, stored.phase.value, one.change, one.before, one.after, one.words)
        )


class Maker(msgspec.Struct):
    """A chain that made some of the stored verdicts."""

    version: int
    hash: str
    runs: int


class Failed(msgspec.Struct):
    run_id: UUID
    why: str


class Report(msgspec.Struct):
    since: datetime
    until: datetime
    chain_version: int
    chain_hash: str
    runs: int = 0
    """Of these: `replayed`, `text_gone` and `undecodable`."""
    replayed: int = 0
    text_gone: int = 0
    undecodable: int = 0
    undecodable_examples: list[Failed] = []
    made_by: list[Maker] = []
    gates: list[Tally] = []


async def replay(
    db: Database, window: Window, examples: int, tell: Callable[[int, int], None], chain: Sequence[Gate] = CHAIN
) -> Report:
    """Judge the runs of a window again, a batch at a time, in transactions that cannot write."""
    report = Report(window.since, window.until, CHAIN_VERSION, chain_hash())
    made_by: Counter[tuple[int, str]] = Counter()
    tallies: dict[str, Tally] = {}
    async for row, total in _rows(db, window):
        report.runs += 1
        made_by[row["chain_version"], row["chain_hash"]] += 1
        _count(report, tallies, runs.stored(row), chain, examples)
        if report.runs % BATCH == 0 or report.runs == total:
            tell(report.runs, total)
    report.made_by = [Maker(version, its_hash, many) for (version, its_hash), many in sorted(made_by.items())]
    report.gates = list(tallies.values())
    return report


async def _rows(db: Database, window: Window) -> AsyncIterator[tuple[Row, int]]:
    async with db.transaction() as tx:
        await tx.execute("set transaction read only")
        total = await runs.count(tx, window)
    behind = Place(window.since, UUID(int=0))
    while True:
        async with db.transaction() as tx:
            await tx.execute("set transaction read only")
            rows = await runs.batch(tx, window, behind, BATCH)
        for row in rows:
            yield row, total
        if len(rows) < BATCH:
            return
        behind = Place(rows[-1]["at"], rows[-1]["run_id"])


def _count(
    report: Report,
    tallies: dict[str, Tally],
    found: Stored | TextGone | Undecodable,
    chain: Sequence[Gate],
    examples: int,
) -> None:
    match found:
        case TextGone():
            report.text_gone += 1
        case Undecodable(run_id, why):
            report.undecodable += 1
            if len(report.undecodable_examples) < UNDECODABLE_SHOWN:
                report.undecodable_examples.append(Failed(run_id, why))
        case Stored():
            report.replayed += 1
            for one in replayed(found, chain):
                tallies.setdefault(one.gate, Tally(one.gate)).add(found, one, examples)


def lines(report: Report) -> Iterator[str]:
    yield f"{report.runs:,} runs from {_time(report.since)} to {_time(report.until)}"
    for one in report.made_by:
        yield f"  {one.runs:,} by chain {_chain(one.version, one.hash)}"
    yield f"{report.replayed:,} judged again by chain {_chain(report.chain_version, report.chain_hash)}"
    if report.text_gone:
        yield f"{report.text_gone:,} not: their text is gone (erased, or older than {runs.KEPT_DAYS} days)"
    if report.undecodable:
        yield f"{report.undecodable:,} not: this code cannot read them"
        yield from (f"  run {one.run_id}: {one.why}" for one in report.undecodable_examples)
    if not report.gates:
        return
    yield ""
    yield _row("", "same", "newly vetoed", "newly passed", "newly deferred", "other")
    for gate in report.gates:
        numbers = (gate.same, gate.newly_vetoed, gate.newly_passed, gate.newly_deferred, gate.other)
        yield _row(gate.gate, *(f"{number:,}" for number in numbers))
    for gate in report.gates:
        for one in gate.examples:
            yield ""
            yield f"{gate.gate}: {one.change.replace('_', ' ')}: {one.before} → {one.after}"
            yield f"  draft {one.draft_id}  {_time(one.at)}  {one.phase}"
            yield from (f"  “{words}”" for words in one.words)


def _row(name: str, *cells: str) -> str:
    return f"{name:<20}" + "".join(f"{cell:>16}" for cell in cells)


def _chain(version: int, its_hash: str) -> str:
    return f"{version} ({its_hash[:SHOWN_HASH]})"


def _time(at: datetime) -> str:
    return f"{at:%Y-%m-%d %H:%M:%S %Z}"


# ---------------------------------------------------------------------------------------------------------- explaining


class Spot(msgspec.Struct):
    start: int
    end: int
    category: str
    words: str


class Said(msgspec.Struct):
    """A gate's verdict. `facts`: the values that it used; null: they are words, and gone."""

    gate: str
    outcome: str
    code: str
    instruction: str
    warning: str
    retry_at: datetime | None
    spans: list[Spot]
    facts: dict[str, Any]


class Run(msgspec.Struct):
    run_id: UUID
    phase: str
    draft_id: UUID
    """At dispatch, the obligation's id."""
    decision_id: UUID | None
    at: datetime
    outcome: str
    gate: str
    code: str
    chain_version: int
    chain_hash: str
    facts_digest: str
    text: str | None
    """None: erased."""
    verdicts: list[Said] = []
    shadow: list[Said] = []
    unreadable: str = ""


class Story(msgspec.Struct):
    asked: UUID
    decisions: list[Decision]
    runs: list[Run]


async def story(db: Database, asked: UUID) -> Story:
    async with db.transaction() as tx:
        await tx.execute("set transaction read only")
        rows = await runs.about(tx, asked)
        decisions = await runs.decisions(tx, asked)
    return Story(asked, decisions, [_run(row) for row in rows])


def nothing(asked: UUID) -> str:
    return (
        f"nothing is known of {asked}: looked for a draft that was judged, an obligation that was filed or dispatched,"
        f" and a decision, in guardrails' schema; runs are kept for {runs.KEPT_DAYS} days"
    )


_PLAIN = (
    "run_id", "phase", "draft_id", "decision_id", "at", "outcome", "gate", "code", "chain_version", "chain_hash",
    "facts_digest",
)  # fmt: skip


def _run(row: Row) -> Run:
    plain = {name: row[name] for name in _PLAIN}
    found = runs.explained(row)
    if isinstance(found, Undecodable):
        return Run(**plain, text=None, unreadable=found.why)
    judged = found.judged
    return Run(
        **plain,
        text=judged.draft.body if found.has_words else None,
        verdicts=[_said(one, judged.facts, has_words=found.has_words) for one in judged.verdicts],
        shadow=[_said(one, judged.facts, has_words=found.has_words) for one in judged.shadow],
    )


_WORDS = frozenset({"evidence", "promise_review", "recent_outbound"})


def _said(one: Verdict, facts: Facts, *, has_words: bool) -> Said:
    used = {
        name: None if name in _WORDS and not has_words else msgspec.to_builtins(getattr(facts, name, None))
        for name in one.facts_used
    }
    spans = [Spot(span.start, span.end, span.category, span.excerpt) for span in one.spans]
    return Said(
        one.gate, one.outcome.value, one.code or "", one.instruction or "", one.warning or "", one.retry_at, spans, used
    )


def story_lines(found: Story) -> Iterator[str]:
    for one in found.decisions:
        yield f"decision {one.decision_id} of obligation {one.obligation_id}: {one.state} {_time(one.updated_at)}"
    for run in found.runs:
        yield ""
        yield f"{run.phase} {_time(run.at)}: {' '.join(filter(None, (run.outcome, run.gate, run.code)))}"
        yield f"  run {run.run_id}, {'draft' if run.phase == 'filing' else 'obligation'} {run.draft_id}" + (
            f", decision {run.decision_id}" if run.decision_id else ""
        )
        yield f"  chain {_chain(run.chain_version, run.chain_hash)}, facts {run.facts_digest}"
        yield f"  cannot be read: {run.unreadable}" if run.unreadable else f"  text: {_text(run.text)}"
        for said in run.verdicts:
            yield from _said_lines(said, "")
        for said in run.shadow:
            yield from _said_lines(said, " (candidate)")


def _said_lines(said: Said, mark: str) -> Iterator[str]:
    wait = f" until {_time(said.retry_at)}" if said.retry_at else ""
    yield f"  {said.gate + mark:<22}{' '.join(filter(None, (said.outcome, said.code)))}{wait}"
    if said.instruction:
        yield f"      told: {said.instruction}"
    yield from (f"      at {one.start}–{one.end} {one.category}: “{one.words}”" for one in said.spans)
    yield from (f"      {name} = {_value(value)}" for name, value in said.facts.items())
    if said.warning:
        yield f"      warning: {said.warning}"


def _text(text: str | None) -> str:
    return "gone" if text is None else text.replace("\n", "\n        ")


def _value(value: Any) -> str:
    told = msgspec.json.encode(value).decode()
    return told if len(told) <= SHOWN_VALUE else f"{told[:SHOWN_VALUE]}…"
