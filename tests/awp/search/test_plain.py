"""Markdown as plain text, and pieces of it around what was asked for."""

from __future__ import annotations

import re

import pytest

from agentweb.awp.search.plain import headings, plain, without_targets
from agentweb.awp.search.snippets import LENGTH, snippet
from agentweb.client.ranking_words import query_terms
from tests.support.bounded import run_bounded


@pytest.mark.parametrize(
    ("markdown", "seen"),
    [
        ("# Tea *and* **cups** #", "Tea and cups #"),
        ("- one\n2. two\n> three\n+ four", "one two three four"),
        ("| quick \\| pipe | b |", "quick | pipe · b"),
        ("| a | b |\n|---|:-:|\n| 1 | 2 |", "a · b · 1 · 2"),
        ("[here](https://x.example/a(b)c 'title') and ![a cup](cup.png)!", "here and a cup!"),
        ("```py\nx = order_no\n```\nand `code`", "x = order_no and code"),
        ("Title\n=====\n\n***\n\ntext", "Title text"),
        (r"\*not emphasis\* \# 1", "*not emphasis* # 1"),
        ("[1]: https://x.example\nsee [this][1]", "see this1"),
        ("a\u200bb \u202eright\u202c \x07bell", "ab right bell"),
        ("snake_case_name and _said_", "snake_case_name and said"),
        ("Wow!", "Wow!"),
        ("", ""),
    ],
    ids=[
        *(
            "heading",
            "lists",
            "bar-in-a-cell",
            "table",
            "links",
            "code",
            "rules",
            "escapes",
            "references",
            "hidden",
            "inside-words",
        ),
        *("exclamation", "empty"),
    ],
)
def test_what_a_reader_sees_is_left(markdown: str, seen: str) -> None:
    assert plain(markdown) == seen


@pytest.mark.parametrize(
    "markdown",
    [
        "<script>alert(1)</script>",
        r"\<script>alert(1)\</script>",
        "<scr<b>ipt>alert(1)</scr</b>ipt>",
        "<*script>alert(1)<*/script>",
        "<`img src=x onerror=alert(1)>`",
        "<!-- x --> <?php ?> <!DOCTYPE html>",
        "<img src=x onerror=alert(1)",
        "<\u200bscript>",
        "<[a](b)script>",
    ],
)
def test_nothing_that_is_left_begins_a_tag(markdown: str) -> None:
    assert not re.search(r"<[A-Za-z/!?]", plain(markdown))
    assert not re.search(r"<[A-Za-z/!?]", snippet(markdown, {"alert"}, "en"))


def test_signs_of_less_than_that_begin_no_tag_stay() -> None:
    assert plain("1 < 2 and <3") == "1 < 2 and <3"


def test_where_links_lead_is_not_searched() -> None:
    assert without_targets(
        "[a cup](https://shop.example/cups) https://other.example/x <mailto:a@b>"
    ).split() == [
        "[a",
        "cup]",
        "<mailto:a@b>",
    ]


def test_headings_are_found_and_nothing_else() -> None:
    assert list(headings("# One\ntext # no\n### [Two](x) ###\n#nothing\n#")) == ["One", "[Two]"]


LONG = " ".join(["Plain words of no interest."] * 40)


def test_a_snippet_is_bounded_and_around_the_hit() -> None:
    text = f"{LONG} Our green tea is picked by hand. {LONG}"
    shown = snippet(text, set(query_terms("green teas")), "en")
    assert "green tea is picked" in shown
    assert shown[0] == shown[-1] == "…"
    assert len(shown) <= LENGTH


def test_a_snippet_is_where_most_of_the_query_is() -> None:
    text = f"Tea first. {LONG} Later green tea in cups. {LONG}"
    assert "green tea in cups" in snippet(text, set(query_terms("green tea cups")), "en")


def test_a_text_without_a_hit_shows_its_description_or_its_beginning() -> None:
    assert snippet(LONG, {"tea"}, "en", otherwise="All **about** us").startswith("All about us")
    assert snippet(LONG, {"tea"}, "en").startswith("Plain words")
    assert snippet("", {"tea"}, "en") == ""


def test_a_short_text_is_shown_whole() -> None:
    assert snippet("Green *tea*.", {"tea"}, "en") == "Green tea."


@pytest.mark.parametrize("text", ["緑茶を買う人" * 200, "x" * 5_000 + " tea " + "y" * 5_000, "🍵" * 3_000])
def test_a_text_without_blanks_is_cut_all_the_same(text: str) -> None:
    assert 0 < len(snippet(text, {"緑茶", "tea", "🍵"}, "en")) <= LENGTH


def test_a_heading_ends_before_its_closing_marks_however_long_its_blanks_are() -> None:
    assert list(headings("# Tea \t # ##\n#\tCups\n## # #\n#none\n    # code")) == ["Tea", "Cups", ""]
    run_bounded(
        "from agentweb.awp.search.plain import headings, plain\n"
        "for line in ('# a' + ' ' * 200_000 + 'b', '# a' + ' #' * 100_000 + 'b', '# a' + '\\t' * 200_000 + 'b'):\n"
        "    assert len(list(headings(line))) == 1\n"
        "    assert plain(line)\n"
    )
