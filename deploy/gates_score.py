"""`chancela gates score`: how well a detector judges lines that people labelled.

A line is a JSON object: `text` and `label` (true: the detector must find something), and where it matters `context`
(optout: what was sent before, or the contact's state) and `profile` (leak: whose allow-list applies). `why` is told
back with a line that was judged otherwise; other keys are the file's own.
"""

import re
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Final, NoReturn

import msgspec
import typer

PROFILES: Final[Mapping[str, frozenset[str]]] = {
    "default": frozenset(),
    "dev_support": frozenset({"webhook", "webhooks", "JSON", "header", "headers"}),
}
"""Allow-lists by the name that a line of a leak file carries: a tenant without one, and a software shop."""


class Line(msgspec.Struct, frozen=True):
    text: str
    label: bool
    lang: str = ""
    why: str = ""
    context: str = ""
    profile: str = "default"


class Judged(msgspec.Struct, frozen=True):
    """A line that was judged otherwise than labelled; `found` says what was seen in it."""

    line: int
    text: str
    lang: str
    why: str
    found: list[str]


class Score(msgspec.Struct, frozen=True):
    """Shares of 1; null where there is nothing to take a share of (no line was found, or none is labelled true)."""

    file: str
    kind: str
    lines: int
    labelled: int
    precision: float | None
    recall: float | None
    f1: float | None
    false_positives: list[Judged]
    false_negatives: list[Judged]


Found = Callable[[Line], tuple[bool, list[str]]]
"""Whether the detector says yes, and what it saw."""


_TOLD: Final = 20
"""Bad lines that are told one by one."""


class BadLinesError(Exception):
    """Each argument names a line and what is wrong with it."""


def score(
    file: Annotated[Path, typer.Argument(help="Labelled lines (JSON lines).", exists=True, dir_okay=False)],
    kind: Annotated[
        str, typer.Option(help="leak, optout, promise or human_return; default: what the file's name says.")
    ] = "",
    at_least: Annotated[
        float | None, typer.Option(help="Exit 1 when precision or recall is under this.", min=0, max=1)
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="One JSON document on standard output, for machines.")] = False,
) -> None:
    """Measure a detector on labelled lines: precision, recall, and every line that it judged otherwise.

    Exit codes: 0 measured, 1 under --at-least, 2 wrong use or a line that cannot be read (nothing is measured then).

    Example: chancela gates score tests/samples/leak.jsonl --json
    """
    chosen = kind or kind_of(file)
    if chosen not in DETECTORS:
        why = (
            f"there is no kind {kind!r}" if kind else f"the name {file.name!r} does not say of which kind its lines are"
        )
        _fail(f"{why}; give --kind, one of {', '.join(DETECTORS)}")
    try:
        found = measure(str(file), chosen, lines_of(file.read_bytes(), chosen))
    except BadLinesError as bad:
        rest = [f"… and {len(bad.args) - _TOLD} more"] if len(bad.args) > _TOLD else []
        _fail("\n".join([*(f"{file}: {each}" for each in bad.args[:_TOLD]), *rest]))
    text = msgspec.json.encode(found).decode() if json else "\n".join(_told(found))
    sys.stdout.write(f"{text}\n")
    is_low = at_least is not None and any((share or 0) < at_least for share in (found.precision, found.recall))
    raise typer.Exit(1 if is_low else 0)


def kind_of(file: Path) -> str:
    """The kind that a file's name holds, as in `leak.jsonl` or `optout.2026-09.jsonl`; empty if none, or several."""
    name = file.name.lower().replace("-", "_")
    named = [kind for kind in DETECTORS if kind in name]
    return named[0] if len(named) == 1 else ""


def lines_of(raw: bytes, kind: str) -> list[tuple[int, Line]]:
    """The lines with their numbers; empty ones are none.

    Raises:
        BadLinesError: some cannot be read, or name a profile that is not known.
    """
    lines: list[tuple[int, Line]] = []
    bad: list[str] = []
    for number, each in enumerate(raw.split(b"\n"), start=1):
        if not each.strip():
            continue
        try:
            lines.append((number, _line(each, kind)))
        except (msgspec.MsgspecError, ValueError) as error:
            bad.append(f"line {number}: {error}")
    if not lines and not bad:
        bad.append("no line to measure")
    if bad:
        raise BadLinesError(*bad)
    return lines


def _line(raw: bytes, kind: str) -> Line:
    line = msgspec.json.decode(raw, type=Line)
    if kind == "leak" and line.profile not in PROFILES:
        raise ValueError(f"there is no profile {line.profile!r}; there are {', '.join(PROFILES)}")
    return line


def measure(file: str, kind: str, lines: Sequence[tuple[int, Line]]) -> Score:
    judge = DETECTORS[kind]()
    wrong: dict[bool, list[Judged]] = {True: [], False: []}
    hits = 0
    for number, line in lines:
        is_found, found = judge(line)
        if is_found != line.label:
            wrong[is_found].append(Judged(number, line.text, line.lang, line.why, found))
        hits += is_found and line.label
    precision, recall = _share(hits, len(wrong[True])), _share(hits, len(wrong[False]))
    return Score(
        file=file,
        kind=kind,
        lines=len(lines),
        labelled=sum(line.label for _, line in lines),
        precision=precision,
        recall=recall,
        f1=None if precision is None or recall is None else _harmonic(precision, recall),
        false_positives=wrong[True],
        false_negatives=wrong[False],
    )


def _share(right: int, wrong: int) -> float | None:
    return round(right / (right + wrong), 4) if right + wrong else None


def _harmonic(first: float, second: float) -> float:
    return round(2 * first * second / (first + second), 4) if first + second else 0.0


def _leak() -> Found:
    from services.guardrails.leaks import detect_leaks  # noqa: PLC0415 - the other commands need no detector
    from services.guardrails.rules import CATALOGUE  # noqa: PLC0415 - as above

    def judge(line: Line) -> tuple[bool, list[str]]:
        found = detect_leaks(line.text, operations=CATALOGUE, allowed=PROFILES[line.profile])
        return bool(found), [f"{each.category}: {each.excerpt}" for each in found]

    return judge


def _optout() -> Found:
    from services.ingest.optout import MENU_KIND, detect  # noqa: PLC0415 - as in `_leak`

    def judge(line: Line) -> tuple[bool, list[str]]:
        kind = MENU_KIND if _ASKED_ABOUT_A_BOOKING.search(line.context) else None
        signal = detect(line.text, last_outbound_kind=kind, is_opted_out=bool(_OPTED_OUT.search(line.context)))
        return signal.stops_messages, [signal.value]

    return judge


_OPTED_OUT: Final = re.compile(r"^(?!.*\bnot opted).*\bopted[ _-]out", re.IGNORECASE)
_ASKED_ABOUT_A_BOOKING: Final = re.compile(
    r"confirm|menu|booking|appointment|reservation|agendamento|consulta|reserva|cita", re.IGNORECASE
)


def _promise() -> Found:
    from services.guardrails.promises import detect_promises  # noqa: PLC0415 - as in `_leak`

    def judge(line: Line) -> tuple[bool, list[str]]:
        found = detect_promises(line.text)
        return bool(found), [f"{each.kind}: {each.excerpt}" for each in found]

    return judge


def _human_return() -> Found:
    from services.guardrails.gates.case_promise import promised_cases  # noqa: PLC0415 - as in `_leak`

    def judge(line: Line) -> tuple[bool, list[str]]:
        found = promised_cases(line.text)
        return bool(found), [f"{each.category}: {each.excerpt}" for each in found]

    return judge


DETECTORS: Final[Mapping[str, Callable[[], Found]]] = {
    "leak": _leak,
    "optout": _optout,
    "promise": _promise,
    "human_return": _human_return,
}


def _told(found: Score) -> list[str]:
    wrong = [("found, labelled false", found.false_positives), ("labelled true, not found", found.false_negatives)]
    lines = [
        f"{found.kind}: {found.lines} lines, {found.labelled} labelled true",
        f"precision {_number(found.precision)}  recall {_number(found.recall)}  f1 {_number(found.f1)}",
    ]
    for what, some in wrong:
        lines += [f"{what}: {len(some)}", *(f"  {each.line}: {each.text!r}{_reasons(each)}" for each in some)]
    return lines


def _reasons(judged: Judged) -> str:
    reasons = [f"why: {judged.why}"] if judged.why else []
    reasons += [f"found: {'; '.join(judged.found)}"] if judged.found else []
    return "".join(f"\n      {each}" for each in reasons)


def _number(share: float | None) -> str:
    return "-" if share is None else f"{share:.3f}"


def _fail(why: str) -> NoReturn:
    sys.stderr.write(f"{why}\n")
    raise typer.Exit(2)
