"""Whole pages and the Markdown that is expected of each, kept beside it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from agentweb.awp.budgets import PAGE
from agentweb.awp.content.convert import convert
from agentweb.awp.content.parts import split
from agentweb.wire import tokens

PAGES = Path(__file__).parent / "pages"
URL = "https://shop.example/docs/x?y=1"
NAMES = sorted(each.stem for each in PAGES.glob("*.html"))


def test_there_are_pages_of_many_kinds() -> None:
    assert len(NAMES) >= 12
    assert {each.stem for each in PAGES.glob("*.md")} == set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_a_page_becomes_the_markdown_beside_it(name: str) -> None:
    expected = (PAGES / f"{name}.md").read_bytes().decode()
    assert convert((PAGES / f"{name}.html").read_bytes(), url=URL).markdown == expected


@pytest.mark.parametrize("name", NAMES)
def test_a_page_in_parts_is_the_page(name: str) -> None:
    markdown = (PAGES / f"{name}.md").read_bytes().decode()
    parts = split(markdown)
    assert "".join(each.text for each in parts) == markdown
    assert all(each.tokens <= PAGE.tokens for each in parts)


def test_the_long_page_has_more_than_thirty_thousand_tokens() -> None:
    markdown = (PAGES / "long.md").read_bytes().decode()
    assert tokens.count(markdown) > 30_000
    for part in split(markdown)[:-1]:
        last = part.text.rstrip().rpartition("\n")[2]
        assert last.endswith((".", "!", "|", "```")) or last.startswith("brew ")


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        (
            "article",
            (
                "Why first flush tastes of spring | The Tea Post",
                "The first leaves of the year are small, and taste like nothing else.",
                "en-GB",
                "https://shop.example/2026/first-flush",
            ),
        ),
        ("cjk", ("煎茶の淹れ方", "おいしい煎茶の淹れ方を説明します。", "ja", "")),
        ("rtl", ("شاي أخضر — متجر الشاي", "الشاي الأخضر من اليابان.", "ar", "")),
        ("broken", ("Broken & old", "", "", "")),
    ],
    ids=["article", "cjk", "rtl", "broken"],
)
def test_a_page_says_what_it_is(name: str, expected: tuple[str, str, str, str]) -> None:
    found = convert((PAGES / f"{name}.html").read_bytes(), url=URL)
    assert (found.title, found.description, found.language, found.canonical) == expected
    assert not found.is_noindex


def test_nothing_heavy_is_loaded_before_the_first_page() -> None:
    code = (
        "import sys; from agentweb.awp.content import convert, parts; "
        "sys.exit(any(name in sys.modules for name in ('lxml', 'html_to_markdown', 'cssselect', 'tiktoken')))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
