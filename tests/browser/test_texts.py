"""What people see of a text: every code point, whatever it hides."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.web.texts import Segment, diff, hexdump, hidden_count, raw, seen


def restored(segments: list[Segment]) -> str:
    return "".join(chr(int(one.text.removeprefix("U+"), 16)) if one.kind == "hidden" else one.text for one in segments)


@given(st.text())
def test_no_code_point_is_left_out(body: str) -> None:
    assert restored(seen(body)) == body
    assert restored(raw(body)) == body


@given(st.text())
def test_what_is_not_marked_can_be_seen(body: str) -> None:
    for segment in seen(body):
        if segment.kind == "plain":
            left = segment.text.translate(dict.fromkeys(map(ord, "\n\t\u200d\ufe0f")))
            assert not any(unicodedata.category(one) in {"Cc", "Cf", "Zl", "Zp"} for one in left)


@pytest.mark.parametrize("hidden", ["\u200b", "\u202e", "\u2066", "\u00ad", "\ufeff", "\U000e0041", "\u3164", "\x1b"])
def test_a_character_that_hides_is_counted(hidden: str) -> None:
    assert hidden_count(f"a{hidden}b") == 1


@pytest.mark.parametrize("plain", ["Olá,\nAna!\tção", "👩‍⚕️ ❤️ 👍🏽 1️⃣", "مرحبا", "R$\u00a0180"])
def test_ordinary_texts_hide_nothing(plain: str) -> None:
    assert hidden_count(plain) == 0


def test_a_joiner_outside_an_emoji_is_marked() -> None:
    assert hidden_count("ab\u200dcd") == hidden_count("ab\ufe0f") == 1


@given(st.text(max_size=60), st.text(max_size=60))
def test_a_comparison_contains_both_texts(before: str, after: str) -> None:
    found = diff(before, after)
    assert "".join(one.text for one in found if one.kind != "del") == after
    assert len("".join(one.text for one in found if one.kind != "add")) == len(before)


def test_bytes_are_the_bytes() -> None:
    assert [(line.offset, line.hex, line.ascii) for line in hexdump("é!")] == [("0000", "c3 a9 21", "··!")]
