"""The tenant's rules as fields of a form, and back. Pure.

Laws
- What was typed comes back as it was typed, with a fault at each field that cannot be read; nothing is guessed.
- What is not set judges nothing, or takes the gate's own default: an empty field is no fault.
- Fields written out and read again give the same rules.
"""

import re
from collections.abc import Callable, Mapping
from datetime import time
from typing import Final, NamedTuple, TypeVar

from msgspec.structs import replace

from services.guardrails.facts import HoursWindow, Language, PromiseTable
from services.guardrails.rules import Rules

MOST_CENTS: Final = 100_000_000_000
MOST_INSTALMENTS: Final = 120
DISCLOSURE_LIMIT: Final = 500
REASON_LIMIT: Final = 500
LINE_LIMIT: Final = 80
LINES_LIMIT: Final = 200
WINDOWS: Final = ("reply", "outreach")
FIELDS: Final = (
    "price_floor", "discount_percent", "discount_amount", "instalments",
    *(f"disclosure_{language.value}" for language in Language),
    "allowed_terms", "people",
    *(f"{window}_{end}" for window in WINDOWS for end in ("opens", "closes")),
)  # fmt: skip
_MONEY: Final = re.compile(r"(?:R\$)?\s*(\d{1,3}(?:[.,\s]\d{3})+|\d+)(?:[.,](\d{1,2}))?", re.ASCII)
_PERCENT: Final = re.compile(r"(\d{1,3})(?:[.,](\d{1,2}))?\s*%?", re.ASCII)
_COUNT: Final = re.compile(r"(\d{1,4})\s*x?", re.ASCII | re.IGNORECASE)
_TIME: Final = re.compile(r"([01]?\d|2[0-3]):([0-5]\d)", re.ASCII)

Fields = Mapping[str, str]
"""What stands in the form: a text for each of FIELDS."""
Read = TypeVar("Read")


class Fault(Exception):  # noqa: N818 - what is wrong with a field
    """`code` is worded by the page, with `limit` in it."""

    def __init__(self, code: str, limit: int = 0) -> None:
        super().__init__(code)
        self.code = code
        self.limit = limit


class Answer(NamedTuple):
    """The rules that a form describes; with faults they are not to be used."""

    rules: Rules
    faults: Mapping[str, Fault]


def written(rules: Rules) -> dict[str, str]:
    """The fields of a form that says these rules."""
    table = rules.promise_table
    fields = dict.fromkeys(FIELDS, "")
    if table is not None:
        fields["price_floor"] = money(table.price_floor_cents)
        fields["discount_percent"] = percent(table.discount_ceiling_percent)
        fields["discount_amount"] = money(table.discount_ceiling_cents)
        fields["instalments"] = "" if table.instalments_ceiling is None else str(table.instalments_ceiling)
    fields |= {f"disclosure_{language.value}": text for language, text in rules.disclosures.items()}
    fields["allowed_terms"] = "\n".join(sorted(rules.allowed_terms))
    fields["people"] = "\n".join(rules.people)
    for window, hours in zip(WINDOWS, (rules.reply_window, rules.outreach_window), strict=True):
        if hours is not None:
            fields[f"{window}_opens"], fields[f"{window}_closes"] = f"{hours.opens:%H:%M}", f"{hours.closes:%H:%M}"
    return fields


def read(fields: Fields, before: Rules) -> Answer:
    """The rules that the fields say; what has no field is as `before`."""
    faults: dict[str, Fault] = {}

    def of(name: str, reading: Callable[[str], Read]) -> Read | None:
        text = fields.get(name, "").replace("\r\n", "\n").strip()
        try:
            return reading(text) if text else None
        except Fault as fault:
            faults[name] = fault
            return None

    limits = {
        "price_floor_cents": of("price_floor", _cents),
        "discount_ceiling_percent": of("discount_percent", _percentage),
        "discount_ceiling_cents": of("discount_amount", _cents),
        "instalments_ceiling": of("instalments", _instalments),
    }
    is_set = any(limit is not None for limit in limits.values())
    table = PromiseTable(
        before.promise_table.version if before.promise_table else 0,
        **limits,  # pyright: ignore[reportArgumentType] - each by its own reader
    )
    said = {language: of(f"disclosure_{language.value}", _disclosure) for language in Language}
    windows = {window: _window(window, of, faults) for window in WINDOWS}
    rules = replace(
        before,
        promise_table=table if is_set else None,
        disclosures={language: text for language, text in said.items() if text},
        allowed_terms=frozenset(of("allowed_terms", _lines) or ()),
        people=tuple(of("people", _lines) or ()),
        reply_window=windows["reply"],
        outreach_window=windows["outreach"],
    )
    return Answer(rules, faults)


def reason_of(text: str) -> str:
    """Why somebody changes something.

    Raises:
        Fault: nothing is said, or too much.
    """
    reason = " ".join(visible(text).split())
    if not reason:
        raise Fault("reason_missing")
    if len(reason) > REASON_LIMIT:
        raise Fault("too_long", REASON_LIMIT)
    return reason


def visible(text: str) -> str:
    """Without control characters, of which a database takes some no better than a reader."""
    return "".join(c for c in text if c == "\n" or c.isprintable())


def money(cents: int | None) -> str:
    return "" if cents is None else f"{cents // 100},{cents % 100:02d}"


def percent(share: float | None) -> str:
    return "" if share is None else f"{share:g}".replace(".", ",")


def _cents(text: str) -> int:
    match = _MONEY.fullmatch(text)
    if match is None:
        raise Fault("not_money")
    cents = int(re.sub(r"\D", "", match[1])) * 100 + int((match[2] or "0").ljust(2, "0"))
    if cents > MOST_CENTS:
        raise Fault("too_much", MOST_CENTS // 100)
    return cents


def _percentage(text: str) -> float:
    match = _PERCENT.fullmatch(text)
    share = float(f"{match[1]}.{match[2] or 0}") if match else 101.0
    if share > 100:
        raise Fault("not_percent")
    return share


def _instalments(text: str) -> int:
    match = _COUNT.fullmatch(text)
    count = int(match[1]) if match else 0
    if not 1 <= count <= MOST_INSTALMENTS:
        raise Fault("not_instalments", MOST_INSTALMENTS)
    return count


def _disclosure(text: str) -> str:
    said = visible(text)
    if len(said) > DISCLOSURE_LIMIT:
        raise Fault("too_long", DISCLOSURE_LIMIT)
    return said


def _lines(text: str) -> tuple[str, ...]:
    lines = tuple(dict.fromkeys(line for one in visible(text).split("\n") if (line := " ".join(one.split()))))
    if len(lines) > LINES_LIMIT:
        raise Fault("too_many_lines", LINES_LIMIT)
    if any(len(line) > LINE_LIMIT for line in lines):
        raise Fault("line_too_long", LINE_LIMIT)
    return lines


def _clock(text: str) -> time:
    match = _TIME.fullmatch(text)
    if match is None:
        raise Fault("not_time")
    return time(int(match[1]), int(match[2]))


def _window(
    window: str, of: Callable[[str, Callable[[str], time]], time | None], faults: dict[str, Fault]
) -> HoursWindow | None:
    names = f"{window}_opens", f"{window}_closes"
    opens, closes = (of(name, _clock) for name in names)
    if opens is not None and closes is not None:
        if opens == closes:
            faults[names[1]] = Fault("window_empty")
        return HoursWindow(opens, closes)
    for missing, (mine, other) in zip(names, ((opens, closes), (closes, opens)), strict=True):
        if mine is None and other is not None:
            faults.setdefault(missing, Fault("window_half"))
    return None
