"""How well texts fit a query: BM25 over weighted fields (BM25F), in whole numbers, so that every database and every
process puts them in one order.

What a text has of a term, its ``impact``, is a function of that text alone: lengths are compared with what is usual for
a field and not with the mean of all texts, so a text that comes or goes changes nothing of the others. How rare a term
is counts when a query is asked.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Final, Generic, TypeVar

K = TypeVar("K", bound=Hashable)

THOUSAND: Final = 1_000
SCALE: Final = THOUSAND**3
"""What a score is divided by to be one of the textbook's: of weight, rarity and impact, each in thousandths."""

MOST_IMPACT: Final = 2_200
"""An impact is no larger, however often a term is there."""

# Robertson and Zaragoza, The Probabilistic Relevance Framework, 3.5: k1 1.2 to 2, b 0.5 to 0.8.
_K1: Final = 1.2
_B: Final = 0.6


@dataclass(frozen=True, slots=True)
class Field:
    """A part of a text: ``weight`` says what a term in it counts, ``usual`` how many terms one has."""

    weight: float
    usual: int


def impacts(fields: Iterable[tuple[Field, Sequence[str]]]) -> dict[str, int]:
    """What a text has of each of its terms, in thousandths, at most ``MOST_IMPACT``; ``fields`` has the terms of each
    field."""
    weighted: defaultdict[str, float] = defaultdict(float)
    for field, terms in fields:
        share = field.weight / (1 - _B + _B * len(terms) / field.usual)
        for term, count in Counter(terms).items():
            weighted[term] += share * count
    return {
        term: max(1, round(THOUSAND * (_K1 + 1) * weight / (_K1 + weight)))
        for term, weight in weighted.items()
    }


def rarity(having: int, total: int) -> int:
    """How much a term tells that ``having`` of ``total`` texts have, in thousandths, 1 or more."""
    having = max(having, 0)
    total = max(total, having, 1)
    return max(1, round(THOUSAND * math.log(1 + (total - having + 0.5) / (having + 0.5))))


def scores(
    weights: Mapping[str, int],
    rarities: Mapping[str, int],
    postings: Iterable[tuple[str, K, int]],
) -> dict[K, int]:
    """The score of each text that has any of the terms: see ``SCALE``.

    ``weights`` are those of the query's terms, in thousandths; ``postings`` are (term, text, impact).
    """
    found: defaultdict[K, int] = defaultdict(int)
    for term, text, impact in postings:
        found[text] += weights[term] * rarities[term] * impact
    return dict(found)


class Collection(Generic[K]):
    """Texts in memory, found by their terms: a few hundred, such as the actions of a site."""

    def __init__(self) -> None:
        self._postings: defaultdict[str, dict[K, int]] = defaultdict(dict)

    def add(self, text: K, terms: Mapping[str, int]) -> None:
        """Take in a text with its ``impacts``."""
        for term, impact in terms.items():
            self._postings[term][text] = impact

    def postings(self, terms: Iterable[str], among: AbstractSet[K]) -> list[tuple[str, K, int]]:
        """(term, text, impact) of the texts ``among``: who may not know of the others can tell nothing from a score."""
        return [
            (term, text, impact)
            for term in terms
            for text, impact in self._postings.get(term, {}).items()
            if text in among
        ]
