"""BM25 over weighted fields, in whole numbers; and the same over actions, with words that mean alike."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest

from agentweb.client.ranking import SCALE, Collection, Field, impacts, rarity, scores
from agentweb.client.ranking_actions import action_impacts, action_query
from agentweb.client.ranking_words import query_terms, terms

BODY = Field(1, 100)
TITLE = Field(3, 5)


def ranked(weights: Mapping[str, int], texts: Mapping[str, Mapping[str, int]]) -> list[str]:
    """Names of the texts that have anything of the query, the best first."""
    collection: Collection[str] = Collection()
    for name, of_text in texts.items():
        collection.add(name, of_text)
    postings = collection.postings(weights, frozenset(texts))
    having = {term: sum(1 for each, _, _ in postings if each == term) for term in weights}
    rarities = {term: rarity(count, len(texts)) for term, count in having.items()}
    found = scores(weights, rarities, postings)
    return sorted(found, key=lambda name: (-found[name], name))


def weights_of(text: str) -> dict[str, int]:
    return dict.fromkeys(query_terms(text), 1_000)


def test_an_impact_is_that_of_the_textbook() -> None:
    # Twice in a text of the usual length: 2 * 2.2 / (2 + 1.2).
    assert impacts([(BODY, ["tea"] * 2 + ["x"] * 98)])["tea"] == 1_375
    # In a field of weight 3 and twice the usual length: 3 / 1.6 = 1.875 times.
    assert impacts([(TITLE, ["tea", *("y" * 9)])])["tea"] == 1_341


def test_fields_are_added_up_before_they_are_saturated() -> None:
    both = impacts([(TITLE, ["tea"] * 5), (BODY, ["tea"] * 100)])["tea"]
    assert impacts([(TITLE, ["tea"] * 5)])["tea"] < both <= 2_200


def test_impacts_grow_with_count_and_shrink_with_length() -> None:
    def of(count: int, length: int) -> int:
        return impacts([(BODY, ["tea"] * count + ["x"] * (length - count))])["tea"]

    assert of(1, 100) < of(2, 100) < of(5, 100) < of(100, 100) <= 2_200
    assert of(2, 1_000) < of(2, 100) < of(2, 10)
    assert impacts([(BODY, ["tea"] + ["x"] * 1_000_000)])["tea"] >= 1
    assert impacts([(BODY, [])]) == {}


def test_a_rare_term_counts_more_and_no_term_counts_nothing() -> None:
    assert rarity(1, 1_000) > rarity(10, 1_000) > rarity(1_000, 1_000) >= 1
    assert rarity(0, 0) >= 1
    # Counts that ran apart from each other are no reason for an error.
    assert rarity(-3, 10) == rarity(0, 10)
    assert rarity(20, 10) == rarity(20, 20)


def test_a_score_divided_by_its_scale_is_the_textbooks() -> None:
    found = scores({"tea": 1_000}, {"tea": 2_000}, [("tea", "page", 1_500)])
    assert found["page"] / SCALE == 3.0


def test_texts_that_may_not_be_known_are_in_no_posting() -> None:
    collection: Collection[str] = Collection()
    collection.add("open", impacts([(BODY, ["tea"])]))
    collection.add("hidden", impacts([(BODY, ["tea"])]))
    assert [text for _, text, _ in collection.postings(["tea"], frozenset({"open"}))] == ["open"]


def test_an_action_is_found_by_its_name_its_inputs_and_its_flows() -> None:
    texts = {
        "add_to_cart": action_impacts(
            name="add_to_cart",
            description="Puts a product there.",
            effect="write",
            input_schema={"properties": {"productId": {"description": "As the catalogue has it."}}},
            flows=["buy_product"],
        ),
        "other": action_impacts(name="other", description="Something else.", effect="read"),
    }
    for asked in ("cart", "catalogue", "product id", "buy product"):
        assert ranked(weights_of(asked), texts) == ["add_to_cart"], asked


@pytest.mark.parametrize("schema", [None, {}, {"properties": []}, {"properties": {"act": True, "acts": {}}}])
def test_inputs_without_words_are_no_error(schema: Any) -> None:
    assert action_impacts(name="act", input_schema=schema).keys() == {"act"}


OFFICE = "Paper and Pens: an office shop with printer paper, toner and pens"
BAKERY = "Corner Bakery: bread, cakes and birthday cakes to order"
LIBRARY = "City Library: borrow books, reserve rooms"
SITES = {
    "office.example/checkout": action_impacts(name="checkout", effect="spend", site=OFFICE),
    "office.example/find_stock": action_impacts(name="find_stock", effect="read", site=OFFICE),
    "bakery.example/place_order": action_impacts(name="place_order", effect="spend", site=BAKERY),
    "bakery.example/opening_hours": action_impacts(name="opening_hours", effect="read", site=BAKERY),
    "library.example/borrow_book": action_impacts(name="borrow_book", effect="write", site=LIBRARY),
    "library.example/write_to_us": action_impacts(name="write_to_us", effect="send", site=LIBRARY),
}
ASKED = {
    "buy printer paper": "office.example/checkout",
    "purchase pens": "office.example/checkout",
    "check the stock of toner": "office.example/find_stock",
    "order a birthday cake": "bakery.example/place_order",
    "when does the bakery open": "bakery.example/opening_hours",
    "borrow a book": "library.example/borrow_book",
    "send a message to the library": "library.example/write_to_us",
    "email the library": "library.example/write_to_us",
}


@pytest.mark.parametrize("asked", ASKED)
def test_what_people_ask_for_is_found_first_though_the_action_says_it_otherwise(asked: str) -> None:
    assert ranked(action_query(asked), SITES)[0] == ASKED[asked]


def test_what_a_verb_stands_for_counts_less_than_what_was_said() -> None:
    weights = action_query("buy tea")
    assert weights["tea"] == 1_000
    assert 0 < weights["=spend"] == weights["cart"] < weights["buy"] < 1_000
    assert action_query("buy")["buy"] == 1_000
    assert action_query("tea") == {"tea": 1_000}


def test_no_word_of_a_text_is_an_effect() -> None:
    assert "=spend" not in terms("=spend = spend")
    assert query_terms("=spend") == ["spend"]


def test_equal_texts_have_equal_scores_and_names_decide() -> None:
    same = impacts([(BODY, ["tea"])])
    assert ranked({"tea": 1_000}, {"b": same, "a": same, "c": same}) == ["a", "b", "c"]


def test_scores_fit_a_databases_whole_numbers() -> None:
    most = 64 * 1_000 * rarity(0, 10**12) * 2_200
    assert most < 2**63
    assert json.loads(json.dumps(most)) == most
