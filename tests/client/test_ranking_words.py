"""What two texts have in common when one is found by the other."""

from __future__ import annotations

import threading

import pytest

from agentweb.client.ranking_words import (
    MAX_TERM,
    STOP_WORDS,
    fold,
    hits,
    name_terms,
    query_concepts,
    query_terms,
    terms,
    terms_of,
    words,
)


@pytest.mark.parametrize(
    ("written", "asked"),
    [
        pytest.param("Café crème", "CAFE CREME", id="accents-and-case"),
        pytest.param("Straße nach Łódź", "strasse nach lodz", id="letters-without-a-normal-form"),
        pytest.param("ﬁne Ｗｉｄｅ ½", "fine wide 1 2", id="compatibility-forms"),
        pytest.param("The orders were shipped", "shipping an order", id="english-stems"),
        pytest.param("the site's cart, don't wait", "sites carts; wait", id="apostrophes"),
        pytest.param("the typographer’s quotes", '"typographers" “quote”', id="quotes"),
        pytest.param("un\u00adder\u00adstood", "understood", id="soft-hyphens"),
        pytest.param("緑茶の販売", "緑茶", id="chinese-characters"),
        pytest.param("緑茶の販売", "茶", id="one-character"),
        pytest.param("ガラスのコップ", "ｶﾞﾗｽ", id="half-width-kana"),
        pytest.param("무선 이어폰을 주문", "이어폰", id="hangul-with-a-particle"),
        pytest.param("ซื้อชาเขียว", "ชาเขียว", id="thai"),
        pytest.param("الْعَرَبِيَّة", "العربية", id="arabic-with-vowels"),
        pytest.param("كتـــاب أحمد", "كتاب احمد", id="arabic-lengthened-and-hamza"),
        pytest.param("שָׁלוֹם עולם", "שלום", id="hebrew-with-points"),
        pytest.param("हिन्दी में किताब", "किताब", id="devanagari"),
        pytest.param("Ёлка", "елка", id="cyrillic"),
        pytest.param("tea 🍵 sale", "🍵", id="emoji"),
    ],
)
def test_what_is_asked_for_is_found_in_what_is_written(written: str, asked: str) -> None:
    assert query_terms(asked)
    assert set(query_terms(asked)) <= set(terms(written))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        pytest.param("カキ", "ガギ", id="voiced-kana-are-other-letters"),
        pytest.param("हिन्दी", "हन्द", id="vowel-signs-of-india-are-letters"),
        pytest.param("茶色", "色茶", id="order-of-characters"),
    ],
)
def test_what_makes_another_word_is_not_folded_away(one: str, other: str) -> None:
    assert not set(query_terms(one)) & set(terms(other))


def test_stop_words_are_asked_for_when_there_is_nothing_else() -> None:
    assert query_terms("what is in the cart") == ["cart"]
    assert query_terms("The Who") == ["the", "who"]
    assert set(query_terms("The Who")) <= set(terms("The Who, live"))
    assert query_terms("was", "de") == ["was"]


def test_every_stop_word_is_one_folded_word() -> None:
    assert all(fold(word) == word and [(0, len(word))] == list(words(word)) for word in STOP_WORDS)


def test_words_of_other_languages_are_not_stemmed() -> None:
    assert query_terms("Bestellungen", "de") == terms("bestellungen", "de-at") == ["bestellungen"]
    assert terms("orders", "en-gb") == terms("orders", "") == ["order"]


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("add_to_cart", ["add", "to", "cart"]),
        ("addToCart", ["add", "to", "cart"]),
        ("HTTPServerError2", ["http", "server", "error2"]),
        ("search-products", ["search", "product"]),
    ],
    ids=["snake", "camel", "capitals", "hyphen"],
)
def test_a_name_is_split_as_programs_write_it(name: str, parts: list[str]) -> None:
    assert name_terms(name) == parts


def test_a_name_in_a_query_counts_as_a_whole_and_in_its_parts() -> None:
    assert query_terms("addToCart") == ["addtocart", "add", "cart"]
    assert query_terms("add_to_cart") == ["add", "cart"]


@pytest.mark.parametrize("text", ["", " ", "!?…", '""', "\u200b", "___", "\ud800"])
def test_what_has_no_word_has_no_terms(text: str) -> None:
    assert query_terms(text) == terms(text) == []


def test_a_query_has_a_bounded_number_of_distinct_terms() -> None:
    assert len(query_terms(" ".join(f"w{number}" for number in range(1_000)))) == 64
    assert query_terms("tea TEA teas") == ["tea"]
    assert len(query_terms("緑茶販売" * 200)) <= 64


def test_of_a_very_long_word_the_beginning_counts() -> None:
    assert {len(term) for term in terms("x" * 5_000)} == {MAX_TERM}
    assert terms("y" * 5_000) == terms("y" * 6_000)


def test_places_of_words_fit_the_text_and_their_terms() -> None:
    text = "Zwei Café-Bestellungen 🍵"
    assert [text[begin:end] for begin, end in words(text)] == ["Zwei", "Café", "Bestellungen", "🍵"]
    assert [terms_of(text[begin:end])[0] for begin, end in words(text)] == terms(text)


def test_threads_do_not_disturb_each_others_stemmers() -> None:
    given = [f"relational{number} conditionally generalizations" for number in range(300)]
    alone = [terms(each) for each in given]
    seen: list[bool] = []

    def work() -> None:
        from agentweb.client.ranking_words import _terms

        for each, right in zip(given, alone, strict=True):
            seen.append([term for word in each.split() for term in _terms(word, True)] == right)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(seen) == 1_200
    assert all(seen)


def test_in_texts_of_any_language_a_word_is_asked_for_as_its_stem_and_as_it_is() -> None:
    assert query_concepts("orders ordered Bestellungen") == [
        ("order", "orders", "ordered"),
        ("bestellungen", "bestellungen"),
    ]
    assert query_concepts("緑茶の") == [("緑茶", "緑茶"), ("茶の", "茶の")]


@pytest.mark.parametrize(
    ("text", "asked", "found"),
    [
        ("Your orders were shipped", "order", ["orders"]),
        ("日本の緑茶を買う", "緑茶", ["緑茶"]),
        ("日本のお茶を買う", "茶", ["茶"]),
        ("ABC茶 and 茶ABC", "abc", ["ABC", "ABC"]),
        ("Un CAFÉ, deux cafés", "café", ["CAFÉ", "cafés"]),
    ],
    ids=["stem", "pair", "letter", "mixed", "accents"],
)
def test_hits_are_where_the_text_has_what_is_asked_for(text: str, asked: str, found: list[str]) -> None:
    assert [text[begin:end] for begin, end, _ in hits(text, set(query_terms(asked)))] == found


def test_marks_without_end_on_one_letter_are_not_all_looked_at() -> None:
    # Ordering a run of marks takes the square of its length, so a stranger's text could take hours.
    assert fold("क" + "\u094d\u093c" * 5_000).count("\u094d") == 15
    assert terms("a" + "\u0301" * 5_000 + "\u0327" * 5_000 + "b") == ["ab"]
