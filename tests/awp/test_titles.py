"""What of a title is the page's own, and what is the site's name."""

from __future__ import annotations

import pytest

from agentweb.awp.content.convert import convert
from agentweb.awp.titles import common_ending, is_generic, own_title, without

SHOP = ["Tea | Corner Shop", "Pots - small | Corner Shop", "Corner Shop"]


@pytest.mark.parametrize(
    ("titles", "ending"),
    [
        (SHOP, "Corner Shop"),
        (["A – Shop", "B - Shop", "C — Shop"], "Shop"),
        ([*(f"Page {number} | Shop" for number in range(19)), "An odd one"], "Shop"),
        (["Tea", "Pots", "Cups"], ""),
        (["Tea | Shop", "Pots | Shop"], ""),
        (["Tea | Shop", "Pots", "Cups | Shop"], ""),
        (["Shop", "Shop", "Shop"], ""),
        (["well-known", "so-called", "un-known"], ""),
        ([], ""),
    ],
)
def test_what_nearly_all_titles_end_in_is_the_site_s_name(titles: list[str], ending: str) -> None:
    assert common_ending(titles) == ending


def test_a_title_is_told_without_it() -> None:
    told = [without(title, "Corner Shop") for title in [*SHOP, "My Corner Shop", "Corner Shop | Tea"]]
    assert told == ["Tea", "Pots - small", "Corner Shop", "My Corner Shop", "Corner Shop | Tea"]


@pytest.mark.parametrize("title", ["| Corner Shop", "- Corner Shop", "Corner Shop"])
def test_a_title_that_is_only_the_site_s_name_is_none(title: str) -> None:
    assert own_title(title, "Corner Shop") == ""


@pytest.mark.parametrize(
    ("head", "title"),
    [
        ("<title></title>", "Green tea"),
        ("<title> | Corner Shop</title>", "Green tea"),
        ("<title>Corner Shop</title><meta property='og:site_name' content='Corner Shop'>", "Green tea"),
        ("<title>Tea · Corner Shop</title><meta property='og:site_name' content='Corner Shop'>", "Tea"),
        ("<title>Tea</title>", "Tea"),
    ],
)
def test_a_page_is_called_by_its_heading_where_its_title_says_nothing(head: str, title: str) -> None:
    page = f"<html><head>{head}</head><body><main><h1>Green tea</h1><p>Fresh.</p></main></body></html>"
    assert convert(page, url="https://shop.example/tea/").title == title


def test_a_page_without_a_heading_keeps_what_its_title_says() -> None:
    page = "<html><head><title>| Corner Shop</title></head><body><main><p>Fresh.</p></main></body></html>"
    assert convert(page, url="https://shop.example/tea/").title == "| Corner Shop"


def test_a_title_that_every_site_has_names_none() -> None:
    assert is_generic("Front  Page")
    assert not is_generic("Home Brewers")
