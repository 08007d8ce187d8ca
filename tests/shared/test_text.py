"""Folding: what is matched, and that every match leads back to the raw text."""

import html

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.text import ByCharacter, by_character, fold, fold_character, sentences, words


@pytest.mark.parametrize(
    "raw",
    [
        "webhook",
        "WEBHOOK",
        "ｗｅｂｈｏｏｋ",
        "𝐰𝐞𝐛𝐡𝐨𝐨𝐤",
        "wеbhооk",
        "w\u200beb\u00adho\ufe0fok",
        "wébhöôk",
        "w̶e̶b̶h̶o̶o̶k̶",
        "&#119;ebhook",
        "web&#x68;ook",
        "\U0001f166\U0001f154\U0001f151\U0001f157\U0001f15e\U0001f15e\U0001f15a",
        "ⓦⓔⓑⓗⓞⓞⓚ",
        "".join(chr(0xE0000 + ord(each)) for each in "webhook"),
        "web\u3164hook",
    ],
)
def test_a_disguised_word_folds_to_the_word(raw: str) -> None:
    assert fold(raw).text == "webhook"


@given(st.text(max_size=200))
def test_offsets_are_as_many_as_letters_and_never_go_back(raw: str) -> None:
    folded = fold(raw)
    assert len(folded.text) == len(folded.offsets)
    assert list(folded.offsets) == sorted(folded.offsets)
    assert all(0 <= at < len(raw) for at in folded.offsets)


@given(st.text(max_size=60), st.text(max_size=60))
def test_the_span_of_a_word_holds_the_word(before: str, after: str) -> None:
    folded = fold(f"{before} webhook {after}")
    start = folded.text.find("webhook", max(0, len(fold(before).text) - 1))
    raw = f"{before} webhook {after}"
    first, last = folded.span(start, start + 7)
    assert "webhook" in fold(raw[first:last]).text


@given(st.text(max_size=120))
def test_folding_twice_changes_nothing_more(raw: str) -> None:
    once = fold(raw).text.replace("&", "")
    assert fold(once).text == fold(fold(once).text).text


def letter_by_letter(raw: str) -> tuple[str, list[int]]:
    """The law itself, without any of the ways to be fast: entities first, then every code point by itself."""
    pieces: list[str] = []
    offsets: list[int] = []
    at = 0
    while at < len(raw):
        end = raw.find(";", at, at + 33) if raw[at] == "&" else -1
        source = raw[at : end + 1] if end >= 0 else raw[at]
        meaning = html.unescape(source)
        source = source if meaning != source else raw[at]
        for piece in map(fold_character, meaning if len(source) > 1 else source):
            pieces.append(piece)
            offsets += [at] * len(piece)
        at += len(source)
    return "".join(pieces), offsets


MIXED = st.lists(
    st.one_of(
        st.text(max_size=8),
        st.text(st.characters(max_codepoint=255), max_size=12),
        st.sampled_from(
            ["&amp;", "&lt", "&#119;", "&#x41;x;", "& ", "&&amp;", "ß", "½", "µ", "\xad", "\ufb03", "\u200b", "😊", "е"]
        ),
    ),
    max_size=90,
).map("".join)


@given(MIXED)
def test_however_it_is_folded_text_and_offsets_are_those_of_its_letters(raw: str) -> None:
    folded = fold(raw)
    assert (folded.text, list(folded.offsets)) == letter_by_letter(raw)


@given(MIXED)
def test_words_are_runs_of_letters_and_digits(raw: str) -> None:
    assert words(raw) == "".join(each if each.isalnum() else " " for each in raw).split()


@given(MIXED)
def test_by_character_is_translate(raw: str) -> None:
    table = ByCharacter(lambda each: "0" if each.isdigit() else each if each.isalnum() else " ")
    assert by_character(raw, table) == raw.translate(table)


def test_the_span_of_a_mark_covers_the_mark() -> None:
    assert fold("pa\u00adrar").span(1, 3) == (1, 4)


def test_an_entity_is_one_place_in_the_raw_text() -> None:
    folded = fold("a &lt;think&gt; b")
    start = folded.text.index("<think>")
    assert folded.span(start, start + 7) == (2, 15)


def test_an_ampersand_that_is_no_entity_stays() -> None:
    assert fold("pão & café; R&D;").text == "pao & cafe; r&d;"


def test_accents_and_case_go_and_line_ends_stay() -> None:
    assert fold("Ação\r\nÀs\u00a08h").text == "acao\n\nas 8h"


def test_an_empty_span_points_at_its_place() -> None:
    assert fold("abc").span(1, 1) == (1, 1)
    assert fold("abc").span(3, 3) == (3, 3)


def test_sentences_cover_the_text_and_keep_decimals_whole() -> None:
    text = "custa r$ 1.299,90. sim!\nate logo"
    assert [text[start:end] for start, end in sentences(text)] == ["custa r$ 1.299,90.", " sim!", "\n", "ate logo"]
