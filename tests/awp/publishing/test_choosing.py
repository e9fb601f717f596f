"""Readers who get the same pages share what is made for them, in whatever order they name their languages."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import pytest

from agentweb.awp.publishing import content_map, published
from agentweb.http.documents import Place
from tests.awp.pages import end_run, write_page

pytestmark = pytest.mark.usefixtures("awp")

PLACE = Place("https://testserver", "testserver")


@pytest.fixture(autouse=True)
def content(awp: None) -> None:
    for slug in ("tea", "cups", "bowls"):
        write_page(slug, "Text.", language="en-us")
    write_page("tea", "Tekst.", language="nl")
    write_page("cups", "Tasse.", language="de")
    end_run()


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        (("nl", "de", "en-us"), ("nl", "de", "en-us")),
        (("fr", "nl", "it", "en-us"), ("nl", "en-us")),
        (("en-us", "nl", "de"), ("en-us",)),
        (("nl", "en-us", "de"), ("nl", "en-us")),
        (("fr",), ()),
    ],
    ids=range(5),
)
def test_only_languages_that_decide_something_count(
    asked: tuple[str, ...], expected: tuple[str, ...]
) -> None:
    assert content_map.choosing(asked) == expected
    assert content_map._all(asked) == content_map._all((*expected, "en-us"))


def test_many_orders_of_languages_are_few_kinds_of_readers(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[str, ...]] = []
    reading = content_map._all

    def read(languages: tuple[str, ...]) -> Any:
        asked.append(languages)
        return reading(languages)

    monkeypatch.setattr(content_map, "_all", read)
    bodies = set()
    for order in permutations(["fr", "it", "es", "pt", "nl"]):
        bodies.add(published.site_structure(PLACE, ("en-us", *order, "en-us")).content)
    assert asked == [("en-us",)]
    assert len(bodies) == 1
    for order in permutations(["fr", "it", "es", "pt"]):
        content_map.current((*order, "nl", "en-us"))
    assert asked == [("en-us",), ("nl", "en-us")]
