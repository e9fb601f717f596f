"""Bounds of token counts: never below what the tokenizer counts, and made without it."""

from __future__ import annotations

import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentweb.wire import tokens
from agentweb.wire.token_bounds import _ranks, at_most
from tests.support.examples import examples

ASCII = st.text(st.characters(max_codepoint=127), max_size=60)
PIECES = st.sampled_from(
    [
        "tea",
        " Tea",
        "  ",
        "\n",
        "\r\n",
        "\t",
        "\x0b",
        "\x1c",
        "\xa0",
        "'s",
        "'LL",
        "...",
        "!\n",
        "1234",
        "é",
        "ſ",
        "茶",
        "👩🏽‍🚀",
        "/awp",
        "unbelievably",
        "x" * 70,
    ]
)
MIXED = st.lists(st.one_of(st.text(max_size=8), PIECES), max_size=30).map("".join)


@settings(max_examples=examples(200), deadline=None)
@given(st.one_of(ASCII, MIXED))
def test_a_bound_is_never_below_the_count(text: str) -> None:
    assert tokens.count(text) <= at_most(text) <= len(text.encode("utf-8", "surrogatepass"))


@pytest.mark.parametrize(
    ("text", "bound"),
    [
        ("", 0),
        ("This is the name of the list.", 8),
        ("It's 1234 of them\n\n", 8),
        ("茶 is one of them", 9),
        ("x" * 70, 70),
        ("\ud800", 3),
    ],
)
def test_common_words_are_one_each_and_what_is_not_ascii_counts_by_its_bytes(text: str, bound: int) -> None:
    assert at_most(text) == bound


def test_the_common_tokens_are_those_of_the_least_ranks() -> None:
    assert sorted(_ranks().values()) == list(range(len(_ranks())))
    assert all(bytes([byte]) in _ranks() for byte in range(256))


def test_a_bound_of_english_is_near_the_count() -> None:
    text = "Agents plan with the budgets: a text that is longer may not fit where they read it. " * 20
    assert at_most(text) <= tokens.count(text) * 1.3


def test_a_bound_loads_no_tokenizer() -> None:
    code = (
        "import sys; from agentweb.wire import token_bounds, tokens; token_bounds.at_most('Tea for all.');"
        "sys.exit('tiktoken' in sys.modules or tokens._encoding.cache_info().currsize)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
