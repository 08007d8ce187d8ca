"""Does this message ask us to stop? Step by step, in Portuguese, English and Spanish.

Laws
- A clear request is an opt-out; a doubtful one is `ask` (proactive sends pause, a person decides); nothing here clears
  an earlier opt-out but an explicit opt-in of someone who is opted out.
- A keyword counts only where it is the whole message, courtesy aside. Inside a sentence only a phrase counts:
  "stop by tomorrow" and "we must stop this bill" ask for nothing.
- Only the new text counts: quoted history and our own footer are dropped first.
"""

from dataclasses import dataclass
from enum import StrEnum
from itertools import groupby
from typing import Final

from rapidfuzz.distance import DamerauLevenshtein

from services.ingest import optout_rules as rules
from shared.patterns import Patterns
from shared.text import fold


class OptOutSignal(StrEnum):
    OPT_OUT = "opt_out"
    ERASURE_REQUEST = "erasure_request"
    OPT_IN = "opt_in"
    ASK = "ask"
    PREFERENCE = "preference"
    HANDOFF = "handoff"
    NONE = "none"

    @property
    def stops_messages(self) -> bool:
        return self in (OptOutSignal.OPT_OUT, OptOutSignal.ERASURE_REQUEST)


MENU_KIND: Final = "menu"
"""`last_outbound_kind` of our own CONFIRM / CANCEL question: its answer is about the booking, not about us."""

_QUOTE_LINE: Final = Patterns({"quote": rules.QUOTE_LINE})
_HISTORY: Final = Patterns({"history": rules.HISTORY})
_NEGATED: Final = Patterns(rules.NEGATED)
_ERASURE: Final = Patterns(rules.ERASURE, rules.FRAGMENTS)
_OPT_OUT: Final = Patterns(rules.OPT_OUT, rules.FRAGMENTS)
_OPT_IN: Final = Patterns(rules.OPT_IN, rules.FRAGMENTS)
_PREFERENCE: Final = Patterns(rules.PREFERENCE, rules.FRAGMENTS)
_HANDOFF: Final = Patterns(rules.HANDOFF, rules.FRAGMENTS)
_PAUSE: Final = Patterns({"pause": rules.HANDOFF["pause"]})
_INNOCENT: Final = Patterns(rules.INNOCENT, rules.FRAGMENTS)
_TYPO_LENGTH: Final = 5
_SHORTEST: Final = 4
_LOOKS_LIKE: Final = str.maketrans("013457@$", "oieastas")


@dataclass(frozen=True, slots=True)
class _Message:
    text: str  # folded, single spaces, sentence marks kept
    core: str  # words only, courtesy and menu numbers taken off
    bare: str  # of one word: its letters, digits and signs read as the letters that they look like


def detect(text: str, *, last_outbound_kind: str | None, is_opted_out: bool) -> OptOutSignal:
    message = _message(text)
    if not message.core:
        return OptOutSignal.NONE
    if message.core in rules.CANCELS and last_outbound_kind == MENU_KIND:
        return OptOutSignal.HANDOFF
    if is_opted_out and (message.core in rules.OPT_IN_WORDS or _OPT_IN.found_in(message.text)):
        return OptOutSignal.OPT_IN
    if _is_keyword(message.core) or message.bare in rules.KEYWORDS:
        return OptOutSignal.ASK if message.text.endswith("?") and " " not in message.core else OptOutSignal.OPT_OUT
    return _phrase(message)


def _phrase(message: _Message) -> OptOutSignal:
    if _ERASURE.found_in(message.text):
        return OptOutSignal.ERASURE_REQUEST
    if _NEGATED.found_in(message.text):
        return OptOutSignal.HANDOFF if _PAUSE.found_in(message.text) else OptOutSignal.NONE
    if _OPT_OUT.found_in(message.text) and not _INNOCENT.found_in(message.text):
        return OptOutSignal.OPT_OUT
    if _PREFERENCE.found_in(message.text):
        return OptOutSignal.PREFERENCE
    if message.core in rules.DOUBTFUL or _is_keyword_with_a_number(message.core):
        return OptOutSignal.ASK
    return OptOutSignal.HANDOFF if _HANDOFF.found_in(message.text) else OptOutSignal.NONE


def _message(text: str) -> _Message:
    folded = _new_text(fold(text).text)
    kept = "".join(each if each.isalnum() or each in ".,!?'-;:" else " " for each in folded).split()
    text = " ".join(map(_spelled, kept))
    words = "".join(each if each.isalnum() else " " for each in text.replace("'", "").replace("-", " ")).split()
    return _Message(text, _core(words), _bare(folded))


def _spelled(word: str) -> str:
    letters = word.rstrip(".,!?'-;:")
    return rules.SPELLINGS.get(letters, letters) + word[len(letters) :]


def _bare(folded: str) -> str:
    """`S@1R`. Nothing for a number, and nothing where there is more than one word."""
    word = folded.strip(" .,!*_\n")
    return "" if " " in word or not word[:1].isalnum() or word.isdigit() else word.translate(_LOOKS_LIKE)


def _new_text(folded: str) -> str:
    kept: list[str] = []
    for line in folded.split("\n"):
        if _HISTORY.found_in(line):
            break
        if not _QUOTE_LINE.found_in(line):
            kept.append(line)
    return " \n ".join(kept)


def _joined(words: list[str]) -> list[str]:
    """`P A R A R` is one word."""
    if len(words) > 2 and all(len(word) == 1 for word in words):
        return ["".join(words)]
    return words


def _core(words: list[str]) -> str:
    """Courtesy, greetings and a menu number around the words say nothing; what remains is the message."""
    kept = _joined([word for word in words if word not in rules.COURTESY])
    if len(kept) > 1 and kept[0].isdigit() and len(kept[0]) == 1:
        kept = kept[1:]
    repeated = len(kept) > 1 and len(set(kept)) == 1
    return kept[0] if repeated else " ".join(kept)


def _is_keyword(core: str) -> bool:
    return (
        all(word in rules.KEYWORDS for word in core.split())
        or core in rules.KEYWORDS
        or (core not in rules.NOT_A_TYPO and any(_is_typo(core, word) for word in rules.KEYWORDS))
    )


def _is_typo(core: str, keyword: str) -> bool:
    """One slip of the keyboard, or letters held down; of a short word only two letters that changed places."""
    if " " in core or len(core) < _SHORTEST or core[0] != keyword[0]:
        return False
    if _once(core) == _once(keyword):
        return True
    if min(len(core), len(keyword)) < _TYPO_LENGTH:
        return sorted(core) == sorted(keyword) and DamerauLevenshtein.distance(core, keyword) == 1
    return DamerauLevenshtein.distance(core, keyword, score_cutoff=1) <= 1


def _once(word: str) -> str:
    return "".join(letter for letter, _ in groupby(word))


def _is_keyword_with_a_number(core: str) -> bool:
    words = core.split()
    return len(words) == 2 and words[1].isdigit() and words[0] in rules.KEYWORDS
