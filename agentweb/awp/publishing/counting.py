"""Counting the site's texts, off the request path: what documents are fitted from, in each of the site's languages.

A content run does so when it is through, and so do the commands that look at the documents.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from agentweb.awp import budgets, languages
from agentweb.awp.budgets import INSTRUCTIONS, SUMMARY
from agentweb.awp.content import parts
from agentweb.awp.content.languages import of_the_site
from agentweb.awp.publishing import (
    content_map,
    counted,
    discovery,
    functions,
    instructions,
    llms,
    published,
    summary,
)
from agentweb.awp.publishing.facts import Facts, facts_of
from agentweb.http.asking import own_place

_FITTED: Final[tuple[Callable[[Facts], object], ...]] = (
    discovery.manifest,
    functions.document,
    llms.intro,
    lambda facts: parts.split(summary.source(facts), SUMMARY.tokens, facts.measure),
    lambda facts: parts.split(instructions.source(facts), INSTRUCTIONS.tokens, facts.measure),
)
"""Whatever measures a text to fit it."""


def count_texts(tick: Callable[[], None] = lambda: None) -> int:
    """Count what the documents of this site are fitted from, and keep that; how many texts that were.

    From then on they are served as the tokenizer fits them. ``tick`` is called in between. Raises ValueError when
    AGENTWEB["ORIGIN"] is no origin, and what the database does.
    """
    published.forget()
    place, found = own_place(), _Counting()
    for language in of_the_site().kept:
        readable = languages.readable(language)
        facts = facts_of(place, readable[0], content_map.current(readable), found.measure)
        for fitted in _FITTED:
            fitted(facts)
        tick()
    counted.keep(found.tokens)
    published.forget()
    return len(found.tokens)


class _Counting:
    """Counts what it is asked for, and remembers that."""

    def __init__(self) -> None:
        self.tokens: dict[str, int] = {}

    def measure(self, text: str) -> int:
        digest = counted.digest_of(text)
        if digest not in self.tokens:
            self.tokens[digest] = budgets.count(text)
        return self.tokens[digest]
