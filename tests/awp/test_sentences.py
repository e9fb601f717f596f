"""Where sentences end."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentweb.awp.sentences import sentences
from tests.support.examples import examples


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        ("One. Two! Three?", ["One. ", "Two! ", "Three?"]),
        ("It costs 3.50 EUR. Buy it.", ["It costs 3.50 EUR. ", "Buy it."]),
        ("See e.g. Tea, or Dr. Who. Then go.", ["See e.g. Tea, or Dr. Who. ", "Then go."]),
        ("By J. R. R. Tolkien. A book.", ["By J. R. R. Tolkien. ", "A book."]),
        ("He said “stop.” Then he left.", ["He said “stop.” ", "Then he left."]),
        ("Wait... what is it? this", ["Wait... what is it? this"]),
        ("Use `a. b` here. Done.", ["Use `a. b` here. ", "Done."]),
        (
            "See [A. B. C](https://x.example/a.b) now. Done.",
            ["See [A. B. C](https://x.example/a.b) now. ", "Done."],
        ),
        ("お茶です。買いますか？はい。", ["お茶です。", "買いますか？", "はい。"]),
        ("هل هذا شاي؟ نعم. شكرا", ["هل هذا شاي؟ ", "نعم. ", "شكرا"]),
        ("यह चाय है। लो।", ["यह चाय है। ", "लो।"]),
        ("- one\n- two\n  more\n- three", ["- one\n", "- two\n  more\n", "- three"]),
        ("1. first item\n2. second item", ["1. first item\n", "2. second item"]),
        ("# Title\n\nText", ["# Title\n", "\nText"]),
        ("**Bold end.** Next one.", ["**Bold end.** ", "Next one."]),
    ],
    ids=range(16),
)
def test_sentences_end_where_a_reader_would_say(text: str, expected: list[str]) -> None:
    assert sentences(text) == expected


@settings(max_examples=examples(200), deadline=None)
@given(st.text(alphabet=st.sampled_from("aB .!?。\n`[]()*-1\u0301\u202e|#>"), max_size=80))
def test_joined_they_are_the_text(text: str) -> None:
    assert "".join(sentences(text)) == text


@pytest.mark.parametrize("unit", ["`", "[", "[a](", ".", ". ", "\n", '."', "。", "- ", "``"], ids=range(10))
def test_very_much_of_anything_is_read_to_its_end(unit: str) -> None:
    text = unit * (300_000 // len(unit))
    assert "".join(sentences(text)) == text
