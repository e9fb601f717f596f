"""Budgets of tokens, and texts cut to them."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentweb.awp import budgets
from agentweb.awp.budgets import BUDGETS, Budget, fit
from agentweb.wire import tokens
from tests.support.bounded import run_bounded
from tests.support.examples import examples

TEXT = "Tea is made of leaves. Coffee is made of beans. Water is made of nothing else."


def test_the_table_is_the_one_of_the_specification() -> None:
    assert {each.name: each.tokens for each in BUDGETS} == {
        "discovery_description": 200,
        "summary": 500,
        "instructions": 300,
        "page": 2_000,
        "api_description": 100,
        "function_description": 150,
        "llms_intro": 200,
    }


def test_a_text_within_its_budget_is_served_as_it_is() -> None:
    assert fit(TEXT, budgets.SUMMARY, "More at /x.") == budgets.Fitted(TEXT, 20, False, "", 20)


def test_a_longer_one_is_its_first_whole_sentences_and_a_pointer_to_the_rest() -> None:
    fitted = fit(TEXT, Budget("x", "X", 19), "More: /x")
    assert fitted.text == "Tea is made of leaves. Coffee is made of beans. More: /x"
    assert (fitted.is_cut, fitted.tokens, fitted.source_tokens) == (True, tokens.count(fitted.text), 20)
    assert fitted.overflow == "Water is made of nothing else."


def test_the_pointer_follows_white_space_of_its_own() -> None:
    assert fit(TEXT, 19, "\n\nMore: /x").text.endswith("made of beans.\n\nMore: /x")


def test_a_sentence_that_is_too_long_is_cut_between_words() -> None:
    fitted = fit("tea " * 100, 12, "More: /x")
    assert fitted.text == "tea tea tea tea tea tea tea… More: /x"
    assert fitted.overflow == ("tea " * 93).strip()


def test_a_word_that_is_too_long_is_cut_between_characters() -> None:
    fitted = fit("茶" * 100, 10)
    assert fitted.text == "茶" * 4 + "…"
    assert fitted.tokens <= 10


def test_a_pointer_that_fills_the_budget_is_a_mistake() -> None:
    with pytest.raises(ValueError, match="leaves no room"):
        fit(TEXT, 5, "More of this text is at /x")


def test_what_surely_fits_is_kept_without_the_tokenizer_by_the_same_rules() -> None:
    most = budgets.at_most("Tea is made of leaves. Coffee is made of beans. More: /x")
    fitted = fit(TEXT, most, "More: /x", budgets.at_most)
    assert fitted.text == "Tea is made of leaves. Coffee is made of beans. More: /x"
    assert (fitted.is_cut, fitted.tokens) == (True, most)
    assert fitted.source_tokens == budgets.at_most(TEXT) > budgets.count(TEXT)
    assert fitted.overflow == "Water is made of nothing else."
    assert fit(TEXT, budgets.at_most(TEXT), "", budgets.at_most).text == TEXT


def test_only_the_pointer_is_left_where_nothing_else_fits() -> None:
    assert fit("\u0fd5" * 100, 4, "x").text == "x"


TEXTS = st.lists(
    st.one_of(
        st.text(max_size=12),
        st.sampled_from(
            [
                "One two. ",
                "שלום עולם. ",
                "お茶です。",
                "👩🏽‍🚀",
                "- item\n",
                "\n\n",
                "e\u0301",
                "a" * 300,
                " ",
            ]
        ),
    ),
    max_size=60,
).map("".join)
POINTERS = st.sampled_from(["", "More: /x", "\n\nMore"])


@settings(max_examples=examples(150), deadline=None)
@given(
    TEXTS,
    st.integers(12, 120),
    POINTERS,
)
def test_what_is_served_is_within_the_budget_and_begins_the_source(
    text: str, most: int, pointer: str
) -> None:
    fitted = fit(text, most, pointer)
    assert fitted.tokens == tokens.count(fitted.text) <= most
    assert fitted.source_tokens == tokens.count(text)
    assert fitted.is_cut == (fitted.source_tokens > most)
    assert_begins(text, fitted, pointer)


@settings(max_examples=examples(150), deadline=None)
@given(TEXTS, st.integers(16, 200), POINTERS)
def test_what_is_served_without_the_tokenizer_is_within_the_budget_too(
    text: str, most: int, pointer: str
) -> None:
    fitted = fit(text, most, pointer, budgets.at_most)
    assert tokens.count(fitted.text) <= fitted.tokens <= most
    assert_begins(text, fitted, pointer)


def assert_begins(text: str, fitted: budgets.Fitted, pointer: str) -> None:
    if fitted.is_cut:
        assert fitted.text.endswith(pointer)
        kept = fitted.text[: len(fitted.text) - len(pointer)].strip().removesuffix("…").strip()
        assert text.strip().startswith(kept)
        assert text.strip().endswith(fitted.overflow)
        assert "".join((kept + fitted.overflow).split()) == "".join(text.split())


@pytest.mark.parametrize(
    "text", ["a" * 1_000_000, " " * 1_000_000 + "a", "a b " * 250_000, "=" * 1_000_000], ids=range(4)
)
def test_a_text_of_a_million_characters_is_cut_too(text: str) -> None:
    assert fit(text, budgets.SUMMARY, "More: /x").tokens <= budgets.SUMMARY.tokens


def test_a_text_of_any_length_is_counted() -> None:
    line = "A line of tea and coffee.\n"
    assert budgets.count(line * 100_000) == tokens.count(line * 10_000) * 10
    assert budgets.count("a" * 1_200_000) == 150_000


def test_blanks_after_a_text_take_no_longer_than_they_are_long() -> None:
    run_bounded(
        "from agentweb.awp.budgets import fit\n"
        "found = fit('tea' * 100 + ' ' * 150_000, 20, measure=len)\n"
        "assert found.is_cut and found.tokens <= 20\n"
    )
