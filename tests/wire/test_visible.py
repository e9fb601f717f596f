"""Nothing hides in a stranger's text, and nothing turns it around."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentweb.wire.visible import visible


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Office supplies", "Office supplies"),
        ("Ördëring für Zoë, 東京, שלום", "Ördëring für Zoë, 東京, שלום"),
        ("👩‍👩‍👧", "👩‍👩‍👧"),
        ("invoice\u202efdp.exe", "invoice[U+202E]fdp.exe"),
        ("pay\u200bpal", "pay[U+200B]pal"),
        ("a\x00b\x1b[2Jc\x7f", "a[U+0000]b[U+001B][2Jc[U+007F]"),
        ("two\nlines\u2028three", "two[U+000A]lines[U+2028]three"),
        ("tag\U000e0041", "tag[U+E0041]"),
        ("\ud800", "[U+D800]"),
    ],
)
def test_odd_characters_are_written_as_their_code_points(text: str, shown: str) -> None:
    assert visible(text) == shown


def test_lines_may_be_kept() -> None:
    assert visible("a\n\tb\r", lines=True) == "a\n\tb[U+000D]"


@given(st.text())
def test_what_is_shown_holds_no_control_whatever_comes(text: str) -> None:
    kinds = {unicodedata.category(char) for char in visible(text) if char not in "\u200c\u200d"}
    assert not kinds & {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}
