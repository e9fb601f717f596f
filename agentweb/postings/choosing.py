"""Which terms of a query choose what is ranked, so that a query reads a bounded number of rows.

The rarest terms choose, as many of them as have LOOKED_AT postings together; the others only add to the scores of what
was chosen. A common word says little, and reading all of its postings would cost the most.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

LOOKED_AT: Final = 20_000
"""Postings that are added up for one query."""
CHOSEN: Final = 200
"""What is ranked to the end: nobody gets to see more of one query."""


def choosing_terms(
    worth: Iterable[int], having: Mapping[int, int], looked_at: int = LOOKED_AT
) -> tuple[list[int], list[int]]:
    """(terms that choose, terms that add) of those that anything has; the rarest one chooses always."""
    there = sorted((term for term in worth if having.get(term)), key=lambda term: (having[term], term))
    rows, count = 0, 0
    for term in there:
        rows += having[term]
        if count and rows > looked_at:
            break
        count += 1
    return there[:count], there[count:]
