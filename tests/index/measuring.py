"""How well a ranker answers the labelled set, beside plain BM25 over descriptions."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from agentweb.client.crawling import About
from agentweb.client.found import FoundAction, Key
from agentweb.client.listing import entries_of
from agentweb.client.manifest import read_manifest
from agentweb.client.merging import at_most, merged
from agentweb.client.ranking import SCALE, rarity, scores
from agentweb.client.ranking import Collection as Postings
from agentweb.client.ranking_actions import action_query
from agentweb.client.ranking_words import stem
from tests.index.labelled import LabelledSite, Query, manifest_of

AT = 5
Ranker = Callable[[str], list[str]]
"""From a query to ``site/action``, best first."""


@dataclass(frozen=True, slots=True)
class Figures:
    """``recall`` is that at five: the share of a query's answers among the first five results (of as many as there
    can be), ``mrr`` the mean of one divided by the place of the first answer, both over all queries."""

    recall: float
    mrr: float

    def __str__(self) -> str:
        return f"recall@{AT} {self.recall:.3f}  MRR {self.mrr:.3f}"


def measured(rank: Ranker, queries: Iterable[Query]) -> Figures:
    recalls, places = [], []
    for query in queries:
        found = rank(query.text)
        recalls.append(len(query.answers & set(found[:AT])) / min(AT, len(query.answers)))
        first = next((at for at, name in enumerate(found, 1) if name in query.answers), None)
        places.append(0 if first is None else 1 / first)
    return Figures(sum(recalls) / len(recalls), sum(places) / len(places))


def ours(sites: Sequence[LabelledSite], *, per_site: int = 3) -> Ranker:
    """The ranker of the index and of the client, in memory."""
    collection: Postings[tuple[str, str]] = Postings()
    keys: set[tuple[str, str]] = set()
    for site in sites:
        manifest = read_manifest(manifest_of(site), site=site.site, url=f"https://{site.site}/")  # type: ignore[arg-type]
        for entry in entries_of(manifest, About(site.name, site.summary)):
            collection.add((site.site, entry.name), entry.terms)
            keys.add((site.site, entry.name))

    def rank(text: str) -> list[str]:
        weights = action_query(text)
        postings = collection.postings(weights, keys)
        having = Counter(term for term, _key, _impact in postings)
        rarities = {term: rarity(having[term], len(keys)) for term in weights}
        found = sorted(scores(weights, rarities, postings).items(), key=lambda each: (-each[1], each[0]))
        counts: Counter[str] = Counter()
        kept = []
        for (site, name), _score in found:
            counts[site] += 1
            if counts[site] <= per_site:
                kept.append(f"{site}/{name}")
        return kept

    return rank


def beside_an_index(sites: Sequence[LabelledSite], met: Collection[str]) -> Ranker:
    """The client's one list of two: it has met some of the sites, and an index that knows all answers ten."""
    entries = {
        (site.site, entry.name, entry.kind): entry
        for site in sites
        for entry in entries_of(
            read_manifest(manifest_of(site), site=site.site, url=f"https://{site.site}/"),  # type: ignore[arg-type]
            About(site.name, site.summary),
        )
    }
    terms = {key: entry.terms for key, entry in entries.items() if key[0] in met}

    def answered(text: str, keys: AbstractSet[Key]) -> list[FoundAction]:
        weights = action_query(text)
        postings: Postings[Key] = Postings()
        for key in keys:
            postings.add(key, entries[key].terms)
        having = Counter(term for term, _key, _impact in postings.postings(weights, keys))
        rarities = {term: rarity(having[term], len(keys)) for term in weights}
        found = scores(weights, rarities, postings.postings(weights, keys))
        return at_most(
            (
                FoundAction(
                    kind=key[2],
                    site=key[0],
                    name=key[1],
                    description=entries[key].description,
                    effect=entries[key].effect,
                    scope=None,
                    cost=None,
                    score=round(found[key] / SCALE, 4),
                    manifest_url="",
                    fetched_at=None,
                    stale=False,
                )
                for key in sorted(found, key=lambda key: (-found[key], key))
            ),
            3,
        )

    def rank(text: str) -> list[str]:
        others = answered(text, entries.keys())[:10]
        return [
            f"{each.site}/{each.name}" for each in merged(text, answered(text, terms.keys()), others, terms)
        ]

    return rank


def plain(sites: Sequence[LabelledSite], *, stemmed: bool) -> Ranker:
    """BM25 as in the textbook (k1 1.2, b 0.75) over the descriptions of the actions."""

    def words(text: str) -> list[str]:
        found = re.findall(r"[a-z0-9]+", text.lower())
        return [stem(word) for word in found] if stemmed else found

    texts = {f"{site.site}/{each.name}": words(each.description) for site in sites for each in site.actions}
    mean = sum(map(len, texts.values())) / len(texts)
    having = Counter(word for text in texts.values() for word in set(text))

    def rank(query: str) -> list[str]:
        found = {}
        for name, text in texts.items():
            counts, score = Counter(text), 0.0
            for word in set(words(query)):
                if counts[word]:
                    rare = math.log(1 + (len(texts) - having[word] + 0.5) / (having[word] + 0.5))
                    share = 1.2 * (0.25 + 0.75 * len(text) / mean)
                    score += rare * counts[word] * 2.2 / (counts[word] + share)
            if score:
                found[name] = score
        return sorted(found, key=lambda name: (-found[name], name))

    return rank
