"""One list of two: what this agent found among the sites that it met, and what an index found among all.

Their scores are not of one measure, for how rare a word is differs between a few sites and many, and places say nothing
of how well a thing fits. So all are ranked once more together, by the same weights and impacts. How rare the words are
does not count then: whatever was found has some of them, which tells nothing of the rest of the world.

Of what only the index knows its words count as far as they are in its answer. It has read more of it (inputs, what the
site says of itself): so a score of the index counts too, brought to the measure here by the median of how the two stand
to each other in its answer, and never beyond what words could make at most.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from statistics import median
from typing import Final

from agentweb.client.found import FoundAction, Key
from agentweb.client.listing import host_words
from agentweb.client.ranking import MOST_IMPACT, SCALE, THOUSAND
from agentweb.client.ranking_actions import action_impacts, action_query

_RARITY: Final = THOUSAND
"""That of every word: one, in thousandths."""


def merged(
    query: str,
    seen: Sequence[FoundAction],
    others: Sequence[FoundAction],
    terms: Mapping[Key, Mapping[str, int]],
) -> list[FoundAction]:
    """Each action once, the best first, ties by site and name; ``score`` is that of this list.

    ``terms`` has the impacts of what this agent knows itself; what it knows stands as it knows it.
    """
    weights = action_query(query)
    known = {each.key: each for each in (*others, *seen)}
    worth = {
        key: _score(weights, terms[key] if key in terms else _visible_terms(each))
        for key, each in known.items()
    }
    by_index = {each.key: max(each.score, 0) for each in others}
    shares = [worth[key] / score for key, score in by_index.items() if score and worth[key]]
    share, most = median(shares or [0]), sum(weights.values()) * _RARITY * MOST_IMPACT
    for key, score in by_index.items():
        if score:
            worth[key] = max(worth[key], round(min(score * share, most)))
    own = {each.key for each in seen}
    return [
        replace(
            known[key],
            score=round(worth[key] / SCALE, 4),
            sources=tuple(
                name for name, found in (("seen", own), ("index", by_index.keys())) if key in found
            ),
        )
        for key in sorted(worth, key=lambda key: (-worth[key], key))
    ]


def at_most(found: Iterable[FoundAction], per_site: int) -> list[FoundAction]:
    """The first ``per_site`` of each site, in their order."""
    counts: Counter[str] = Counter()
    kept = []
    for each in found:
        counts[each.site] += 1
        if counts[each.site] <= per_site:
            kept.append(each)
    return kept


def _score(weights: Mapping[str, int], terms: Mapping[str, int]) -> int:
    return sum(weight * _RARITY * terms.get(term, 0) for term, weight in weights.items())


def _visible_terms(found: FoundAction) -> dict[str, int]:
    return action_impacts(
        name=found.name, description=found.description, effect=found.effect, site=host_words(found.site)
    )
