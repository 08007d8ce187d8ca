# ruff: noqa: E501 (rule data: a pattern reads best on one line)
"""The leak detector of gate 9: which spans of a text show the machine behind it. It judges form, not meaning.

Laws
- A find maps to exact offsets of the raw text, whatever was folded, spaced out or encoded to hide it.
- References that customers own pass: e-mails, public addresses, handles, file names, `PED_2024_001`.
- A tenant's allow-list (folded terms) removes finds whose own words are on it, never a structure around them.
"""

import sys
from bisect import bisect_right
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import ahocorasick_rs

from services.guardrails import leak_rules as rules
from services.guardrails.clauses import sentence_of
from services.guardrails.disguises import Disguises, Way
from services.guardrails.sweeps import FOLDED, WRITTEN
from services.guardrails.views import View, views
from shared.patterns import Patterns
from shared.text import fold

_STRUCTURE: Final = Patterns(rules.STRUCTURE, sweep=FOLDED)
_CASED: Final = Patterns(rules.CASED, sweep=WRITTEN)
_PHRASES: Final = Patterns(rules.PHRASES, rules.FRAGMENTS)
_SYSTEM: Final = Patterns({"system": rules.SYSTEM})
_INNOCENT: Final = Patterns(rules.INNOCENT)
_SNAKE: Final = Patterns(
    {"snake": r"(?:^|[^\w@#/.])_*[a-z][a-z0-9]*(?:__?[a-z0-9]+)+(?::[a-z][a-z0-9_]*)?"}, sweep=FOLDED
)
_OWNED: Final = Patterns(
    {
        "email": r"\b[\w.+%-]+@[\w-]+(?:\.[\w-]+)*\.[a-z]{2,}\b",
        "address": r"\b(?:https?://|www\.)[^\s<>\"']+|\b[\w-]+(?:\.[\w-]+)*\.(?:com|br|net|org|io|app|me|shop|store|ly|gl|es|mx|ar|co)(?:/[^\s<>\"']*)?",
        "handle": r"(?:^|[\s(,:;])@[\w.]+|\bt\.me/\w+",
        "hashtag": r"#\w+",
        "file": r"\b[\w -]{0,60}[\w.-]*[\w-]\.(?:exe|msi|dmg|apk|xml|psd|ai|dwg|eps|rtf|tiff?|epub|pptm|xlsm|webm|pdf|docx?|xlsx?|pptx?|jpe?g|png|gif|webp|mp[34]|ogg|zip|rar|csv|txt|heic|odt|svg|wav|mov|ics)\b",
    }
)
_PIX: Final = Patterns({"pix": r"\b(?:pix|chave aleatoria|copia e cola)\b"})
_ENGLISH: Final = Patterns(
    {
        "word": r"\b(?:the|is|are|you|your|to|of|and|for|with|this|that|we|our|please|will|have|has|was|it|i'm|i'll|can|on|at|from|be)\b"
    }
)
_LATIN: Final = Patterns(
    {
        "word": r"\b(?:de|que|para|com|seu|sua|nao|uma|um|por|dos|das|em|na|no|esta|voce|e|o|os|as|con|su|los|las|una|el|la|del|se|foi|"
        r"ja|mais|pela|pelo|ao|tem|pra|nosso|nossa)\b"
    }
)


@dataclass(frozen=True, slots=True)
class Finding:
    """`category` is the kind of leak; `start` and `end` are offsets of the raw text."""

    category: str
    start: int
    end: int
    excerpt: str


def detect_leaks(
    text: str, *, operations: Collection[str] = (), allowed: Collection[str] = frozenset()
) -> list[Finding]:
    found: dict[tuple[str, int, int], Finding] = {}
    allowed_terms = {fold(each).text for each in allowed}
    for view in views(text):
        for finding in _in_view(text, view, tuple(operations)):
            if not allowed_terms or fold(finding.excerpt).text not in allowed_terms:
                found.setdefault((finding.category, finding.start, finding.end), finding)
    return sorted(found.values(), key=lambda each: (each.start, each.end))


def _in_view(text: str, view: View, operations: tuple[str, ...]) -> Iterator[Finding]:
    hits = [
        *_terms(text, view),
        *(("tool_name", hit.start, hit.end) for hit in _operations(operations, view.is_joined).hits(view.text)),
    ]
    if view.is_whole:
        hits += [*_structure(view), *_snake_case(text, view)]
        hits += [(hit.name, hit.start, hit.end) for hit in _PHRASES.hits(view.text)]
    for name, start, end in hits:
        yield _finding(text, name, *view.span(start, end))
    if view.is_plain:
        yield from (_finding(text, name, *view.span(start, end)) for name, start, end in _hidden(view, operations))
        yield from (_finding(text, hit.name, hit.start, hit.end) for hit in _CASED.hits(text))
        yield from (_finding(text, "tool_name", hit.start, hit.end) for hit in _humps(operations).hits(text))


def _hidden(view: View, operations: tuple[str, ...]) -> Iterator["_Hit"]:
    """Terms and operations pulled apart; pieces that English puts side by side need a system word near them."""
    for hit in _disguised_terms().found_in(view.text):
        if hit.way is Way.LETTERS or _is_foreign(hit.word, view.text, hit.start, hit.end):
            yield "architecture", hit.start, hit.end
    for hit in _disguised_operations(operations).found_in(view.text):
        if hit.way is Way.LETTERS:
            yield "tool_name", hit.start, hit.end


def _is_foreign(term: str, text: str, start: int, end: int) -> bool:
    first, last = sentence_of(text, start)[0], sentence_of(text, end - 1)[1]
    sentence = text[first:last]
    if term in rules.HALVES_ARE_NEIGHBOURS or _INNOCENT.found_in(sentence):
        return False
    return not _is_english(sentence) or _SYSTEM.found_in(f"{text[first:start]} | {text[end:last]}")


@lru_cache(maxsize=1)
def _disguised_terms() -> Disguises:
    return Disguises(sorted({*rules.LOANWORDS, *rules.ALWAYS} - {"webhook_sources"}))


@lru_cache(maxsize=256)
def _disguised_operations(names: tuple[str, ...]) -> Disguises:
    return Disguises(names)


@lru_cache(maxsize=256)
def _humps(names: tuple[str, ...]) -> Patterns:
    """`sendMessage` and `SendMessage`, as code writes `send_message`."""
    humps = {name: "".join(each.capitalize() for each in name.split("_")) for name in names if name.isascii()}
    found = {
        name: f"\\b[{each[0].lower()}{each[0]}]{each[1:]}\\b"
        for name, each in humps.items()
        if each.isalnum() and "_" in name
    }
    return Patterns(found or {"none": _NEVER})


def _finding(text: str, name: str, start: int, end: int) -> Finding:
    return Finding(name.partition(":")[0], start, end, text[start:end])


_Hit = tuple[str, int, int]


def _structure(view: View) -> Iterator[_Hit]:
    for hit in _STRUCTURE.hits(view.text):
        if not (_is_hexadecimal(hit.name) and _is_a_payment_key(view.text, hit.start, hit.end)):
            yield hit.name, hit.start, hit.end


def _is_hexadecimal(name: str) -> bool:
    return name in ("raw_data:uuid", "raw_data:object_id")


def _is_a_payment_key(text: str, start: int, end: int) -> bool:
    """A random PIX key is a UUID that customers must get; plain digits are a number, not an id of ours."""
    first, last = sentence_of(text, start)
    return text[start:end].isdigit() or text[start:end].isalpha() or _PIX.found_in(text[first:last])


def _snake_case(text: str, view: View) -> Iterator[_Hit]:
    owned = _owned(view.text) if _SNAKE.found_in(view.text) else []
    for hit in _SNAKE.hits(view.text):
        start = hit.start + len(view.text[hit.start : hit.end]) - len(view.text[hit.start : hit.end].lstrip(_EDGES))
        raw_start, raw_end = view.span(start, hit.end)
        if not _is_inside(owned, start) and not _is_a_reference(text[raw_start:raw_end]):
            yield "snake_case", start, hit.end


_EDGES: Final = " \n\t_*~`'\"([{<,;:!?=-+|&>"


def _is_a_reference(word: str) -> bool:
    """`PED_2024_001`, `MDF_18MM_BR`: a reference in capitals, a part of which begins with a number."""
    return word.isupper() and any(part[:1].isdigit() for part in word.split("_"))


def _owned(text: str) -> list[tuple[int, int]]:
    return sorted((hit.start, hit.end) for hit in _OWNED.hits(text))


def _is_inside(spans: Sequence[tuple[int, int]], at: int) -> bool:
    before = bisect_right(spans, (at, sys.maxsize))
    return any(at < end for _, end in spans[max(before - 4, 0) : before])


def _terms(text: str, view: View) -> Iterator[_Hit]:
    owned: list[tuple[int, int]] | None = None
    for _, start, end in _automaton().find_matches_as_indexes(view.text):
        if not (view.is_joined or _is_a_word(view.text if view.is_whole else view.text.replace("_", " "), start, end)):
            continue
        owned = _owned(view.text) if owned is None else owned
        term = view.text[start:end]
        if not _is_inside(owned, start) and _betrays(term, view, start, end) and not _is_a_name(text, view, end):
            yield "architecture", start, end


@lru_cache(maxsize=1)
def _automaton() -> ahocorasick_rs.AhoCorasick:
    terms = sorted({*rules.LOANWORDS, *rules.ALWAYS, *rules.NEAR_SYSTEM})
    return ahocorasick_rs.AhoCorasick(terms, matchkind=ahocorasick_rs.MatchKind.LeftmostLongest)


def _is_a_word(text: str, start: int, end: int) -> bool:
    """A name's own `_` is no edge (`_snake_case` judges names); that of markup, as in `_word_`, is one."""
    before, after = text[max(start - 2, 0) : start], text[end : end + 2]
    return not (before[-1:].isalnum() or after[:1].isalnum() or _joins(before[::-1]) or _joins(after))


def _joins(neighbours: str) -> bool:
    return neighbours[:1] == "_" and neighbours[1:].isalnum()


def _betrays(term: str, view: View, start: int, end: int) -> bool:
    first, last = sentence_of(view.text, start)
    sentence = view.text[first:last]
    if _INNOCENT.found_in(sentence):
        return False
    if term in rules.ALWAYS or (term in rules.LOANWORDS and not _is_english(sentence)):
        return view.is_whole or len(term) > _SHORT_TERM or (term in _SHORT_AND_CLEAR and not view.is_joined)
    rest = view.text[first:start] + " | " + view.text[end:last]
    return view.is_whole and term in rules.NEAR_SYSTEM and _SYSTEM.found_in(rest)


_SHORT_TERM: Final = 4
_SHORT_AND_CLEAR: Final = frozenset(("uuid", "guid"))


def _is_a_name(text: str, view: View, end: int) -> bool:
    """A capitalised word after it makes the term part of a name, as in *Webhook Bar*."""
    raw_end = view.span(end - 1, end)[1]
    return (
        text[raw_end : raw_end + 1] == " "
        and text[raw_end + 1 : raw_end + 2].isupper()
        and text[raw_end + 2 : raw_end + 3].islower()
    )


def _is_english(text: str) -> bool:
    return sum(1 for _ in _ENGLISH.hits(text)) > sum(1 for _ in _LATIN.hits(text))


@lru_cache(maxsize=256)
def _operations(names: tuple[str, ...], is_joined: bool) -> Patterns:
    words = {name: "".join(each if each.isalnum() else " " for each in fold(name).text).split() for name in names}
    pattern = _joined_operation if is_joined else _operation
    rules_of_names = {name: pattern(parts) for name, parts in words.items() if parts}
    return Patterns(rules_of_names or {"none": _NEVER})


def _joined_operation(words: list[str]) -> str:
    return r"[\s_./:-]*".join(words) if len("".join(words)) >= _LONG_NAME else _NEVER


def _operation(words: list[str]) -> str:
    """The name however it is written: snake, kebab, dotted or joined; with spaces where no ordinary talk says that."""
    between = r"[_./:]+"
    if len(words) > 2:
        between = r"[_./:-]+"
    if len(words) > 3 or words[0] in ("crm", "mcp", "db", "api", "kb"):
        between = r"[\s_./:-]*"
    elif len("".join(words)) >= _LONG_NAME:
        between = between.removesuffix("+") + "*"
    return r"(?:\b|_)" + between.join(words) + r"(?:\b|_)"


_LONG_NAME: Final = 12
_NEVER: Final = r"[^\s\S]"
