"""Thirty ways to hide a word from the leak detector, each with six words: what is caught, what is known to be missed.

A miss that is not named here is a hole; a named one that is caught is stale. Both fail.
"""

import base64
from collections.abc import Callable
from itertools import product

import pytest

from services.guardrails.disguises import Disguises
from services.guardrails.leaks import detect_leaks

TERMS = ("webhook", "endpoint", "payload", "tenant_id", "crm_move_lead_stage", "system prompt")
OPERATIONS = ("crm_move_lead_stage",)
CYRILLIC = str.maketrans("aeocpxyikmthsj", "аеосрхуікмтһѕј")
GREEK = str.maketrans("aeiokvntupxy", "αειοκνητυρχγ")
LEET = str.maketrans("oieast", "013457")
WRITTEN_WITH_SIGNS = str.maketrans("aiso", "@!$0")
ACCENTED = str.maketrans("aeioun", "áéíôúñ")


def drawn(first: int) -> Callable[[str], str]:
    """Letters of a Unicode alphabet that begins at `first`."""
    return lambda word: "".join(chr(first + ord(each) - ord("a")) if each.islower() else each for each in word)


def each_as(form: str) -> Callable[[str], str]:
    return lambda word: "".join(form.format(ord(each)) for each in word)


def halves(between: str, after: str = "") -> Callable[[str], str]:
    return lambda word: f"{word[:3]}{between}{word[3:]}{after}"


TRANSFORMS: dict[str, Callable[[str], str]] = {
    "zero width": "\u200b".join,
    "soft hyphens": "\u00ad".join,
    "tag characters": lambda word: "".join(chr(0xE0000 + ord(each)) for each in word),
    "full width": lambda word: "".join(chr(0xFEE0 + ord(each)) if each != " " else "\u3000" for each in word),
    "mathematical bold": drawn(0x1D41A),
    "mathematical script": drawn(0x1D4EA),
    "in circles": drawn(0x24D0),
    "in parentheses": drawn(0x249C),
    "cyrillic look-alikes": lambda word: word.translate(CYRILLIC),
    "greek look-alikes": lambda word: word.translate(GREEK),
    "digits for letters": lambda word: word.translate(LEET),
    "signs for letters": lambda word: word.translate(WRITTEN_WITH_SIGNS),
    "spaced": " ".join,
    "thin and no-break spaces": "\u2009\u00a0".join,
    "dotted": ".".join,
    "dashed": "-".join,
    "underscored": "_".join,
    "slashes": "/".join,
    "combining marks": lambda word: "".join(f"{each}\u0336" for each in word.translate(ACCENTED)),
    "decimal entities": each_as("&#{};"),
    "hexadecimal entities without an end": each_as("&#x{:x}"),
    "percent": each_as("%{:02x}"),
    "base64": lambda word: base64.b64encode(word.encode()).decode(),
    "mixed case": lambda word: "".join(each.upper() if at % 2 else each for at, each in enumerate(word)),
    "camel case": lambda word: "".join(part.capitalize() for part in word.replace("_", " ").split()),
    "channel markup": lambda word: f"_*{word[:2]}*~{word[2:5]}~_{word[5:]}",
    "a line between": halves("\n"),
    "quotes and a plus between": lambda word: f'"{word[:3]}" + "{word[3:]}"',
    "emoji between": "🙂".join,
    "turned round for display": lambda word: f"\u202e{word[::-1]}\u202c",
}
MORE: dict[str, Callable[[str], str]] = {
    "italic": "_{}_".format,
    "right-to-left marks": "\u200f".join,
    "repeated letters": lambda word: "".join(each * 2 for each in word),
    "stretched vowels": lambda word: word.replace("o", "ooo").replace("e", "eee").replace("a", "aaa"),
    "commas": ", ".join,
    "parentheses": halves("(", ")"),
    "a hyphen at the line's end": halves("-\n"),
    "one emoji": halves("🚀"),
    "letters in brackets": lambda word: "".join(f"[{each}]" for each in word),
    "a comment of HTML": halves("<!-- -->"),
    "code": "`{}`".format,
}
# Design: one level of percent or base64 is undone, and no cipher is: each of these needs a reader with a program.
UNDECODED: dict[str, Callable[[str], str]] = {
    "percent twice": each_as("%25{:02x}"),
    "letters moved on by thirteen": lambda word: "".join(
        chr((ord(each) - 84) % 26 + 97) if each.islower() else each for each in word
    ),
    "hexadecimal": lambda word: word.encode().hex(),
}
KNOWN_MISSES: frozenset[tuple[str, str]] = frozenset()


def is_caught(transform: Callable[[str], str], term: str) -> bool:
    return bool(detect_leaks(f"Houve uma falha no {transform(term)} agora há pouco.", operations=OPERATIONS))


@pytest.mark.parametrize(("name", "term"), list(product(TRANSFORMS | MORE, TERMS)))
def test_a_hidden_word_is_caught(name: str, term: str) -> None:
    assert is_caught((TRANSFORMS | MORE)[name], term) != ((name, term) in KNOWN_MISSES)


def test_of_thirty_ways_and_six_words_at_most_ten_are_missed() -> None:
    caught = sum(is_caught(transform, term) for transform, term in product(TRANSFORMS.values(), TERMS))
    assert (len(TRANSFORMS), len(TERMS)) == (30, 6)
    assert caught >= 170


@pytest.mark.parametrize("name", UNDECODED)
def test_what_needs_a_program_to_read_is_a_known_miss(name: str) -> None:
    assert not is_caught(UNDECODED[name], "webhook")


@pytest.mark.parametrize(
    "text",
    [
        "Data: set. de 2026.",
        "We can trace back your parcel and, at worst, fall back to Monday.",
        "Please time out for a coffee at the front end of the store.",
        "A gente pode fazer um par, ser rápido e entregar.",
        "Opções: a, b, c, d, e.",
        "Ramal 1 2 3 4 5.",
        "I'll send a message and search our knowledge of wines.",
        "C A R N A V A L com desconto de verdade",
        "Goooool! Que jogoooo!",
    ],
)
def test_ordinary_words_that_stand_side_by_side_hide_nothing(text: str) -> None:
    assert detect_leaks(text, operations=("send_message", "search_knowledge")) == []


@pytest.mark.parametrize("text", ["Houve um w🙂e🙂b🙂h🙂o🙂o🙂k aqui", "O (web + hook) caiu", "O weeebhooook caiu"])
def test_a_hidden_word_is_quoted_as_it_stands(text: str) -> None:
    for finding in detect_leaks(text):
        assert text[finding.start : finding.end] == finding.excerpt
        assert finding.excerpt.startswith("w")
        assert finding.excerpt.endswith("k")


@pytest.mark.parametrize("text", ["w" * 100_000, "w e b " * 16_000, "webhoo" * 16_000, "t-" * 50_000])
def test_no_text_makes_a_disguise_expensive_or_ambiguous(text: str) -> None:
    assert list(Disguises(["webhook", "webhooks", "token"]).found_in(text)) == []
