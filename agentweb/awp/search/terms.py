"""The terms of a page as the index has them: numbers, with what the page has of each and where."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final, NamedTuple
from urllib.parse import unquote

from agentweb.awp.search.plain import headings, without_targets
from agentweb.client.ranking import Field, impacts
from agentweb.client.ranking_words import name_terms, terms
from agentweb.postings.keys import EVERY, key_of

__all__ = ["EVERY", "MAX_TERMS", "Has", "key_of", "page_terms"]

TITLE: Final = Field(3, 6)
DESCRIPTION: Final = Field(2, 20)
HEADINGS: Final = Field(2, 20)
PATH: Final = Field(1, 4)
BODY: Final = Field(1, 500)

MAX_TERMS: Final = 5_000
"""Different terms of one page that are indexed; of more, those that it has most of."""
_MAX_PLACE: Final = 2**15 - 1

_EXTENSION: Final = re.compile(r"\.[a-z0-9]{1,5}$")


class Has(NamedTuple):
    """``impact`` in thousandths (``client.ranking``); ``place`` the first part that has the term, 0 for none."""

    impact: int
    place: int


def page_terms(
    title: str, description: str, path: str, texts: Sequence[str], language: str
) -> dict[int, Has]:
    """What the index keeps of a page; ``texts`` are its parts in Markdown, in order."""
    body: list[str] = []
    heads: list[str] = []
    places: dict[str, int] = {}
    for number, text in enumerate(texts, 1):
        of_part = terms(without_targets(text), language)
        body += of_part
        heads += (term for line in headings(text) for term in terms(line, language))
        for term in dict.fromkeys(of_part):
            places.setdefault(term, min(number, _MAX_PLACE))
    found = impacts(
        [
            (TITLE, terms(title, language)),
            (DESCRIPTION, terms(description, language)),
            (HEADINGS, heads),
            (PATH, _path_terms(path, language)),
            (BODY, body),
        ]
    )
    kept = sorted(found, key=lambda term: (-found[term], term))[:MAX_TERMS]
    return {key_of(term): Has(found[term], places.get(term, 0)) for term in kept}


def _path_terms(path: str, language: str) -> list[str]:
    readable = unquote(path.partition("?")[0], errors="replace")
    return name_terms(_EXTENSION.sub("", readable), language)
