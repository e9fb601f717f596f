"""Answering ``find``: actions and flows of many sites in one order, the same on every database.

A score is the sum over the terms of a query of weight, rarity and impact (``client.ranking``), in whole numbers. The
database chooses the best, at most so many of one site, and ties are decided by site and name here, by code point, for
databases sort texts each in its own way.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from django.db import connections, router

from agentweb.client.ranking import SCALE, rarity
from agentweb.client.ranking_actions import action_query
from agentweb.index import crawl
from agentweb.index.models import IndexedEntry, IndexedPosting, IndexedSite, IndexedTerm
from agentweb.postings import cursors
from agentweb.postings.choosing import CHOSEN, LOOKED_AT, choosing_terms
from agentweb.postings.keys import EVERY, key_of
from agentweb.wire.clock import now_datetime
from agentweb.wire.money import format_amount

PER_SITE: Final = 3
"""Results of one site, unless more are asked for: whoever stuffs a manifest with words fills three places."""
_NOT_ASKED: Final = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What is looked for. ``max_cost`` is in minor units of ``currency``; ``per_site`` 0 for no limit."""

    text: str
    effect: str | None = None
    site: str | None = None
    currency: str | None = None
    max_cost: int | None = None
    per_site: int = PER_SITE

    @property
    def name(self) -> str:
        """What tells one query from another, for cursors."""
        return "\0".join(
            map(repr, (self.text, self.effect, self.site, self.currency, self.max_cost, self.per_site))
        )


@dataclass(frozen=True, slots=True)
class _Found:
    score: int
    entry: IndexedEntry
    site: IndexedSite

    @property
    def order(self) -> tuple[int, str, str, str]:
        return -self.score, self.site.site, self.entry.name, self.entry.kind

    @property
    def name(self) -> str:
        return f"{self.site.site}\0{self.entry.kind}\0{self.entry.name}"


def find(wanted: Wanted, *, limit: int, cursor: str | None = None) -> dict[str, Any]:
    """``{"query", "results", "next_cursor"}``. Five statements at most. Raises invalid_cursor."""
    after = None if cursor is None else cursors.read(cursors.ACTIONS_OF_SITES, wanted.name, cursor)
    found = _ranked(wanted)
    start = 0
    if after is not None:
        at = [place for place, each in enumerate(found, 1) if after.is_at(each.name)]
        start = at[0] if at else after.given
    end = min(start + limit, len(found))
    given = found[start:end]
    stale = crawl.stale_before(now_datetime())
    more = cursors.Place.after(end, given[-1].name) if given and end < len(found) else None
    return {
        "query": wanted.text,
        "results": [_result(each, stale) for each in given],
        "next_cursor": more and cursors.write(cursors.ACTIONS_OF_SITES, wanted.name, more),
    }


def _ranked(wanted: Wanted) -> list[_Found]:
    weights = action_query(wanted.text)
    keys = {key_of(term): term for term in weights}
    every = key_of(EVERY)
    counted = IndexedTerm.objects.filter(term__in=[*keys, every]).values_list("term", "entries")
    having = {term: max(0, entries) for term, entries in counted}
    total = having.pop(every, 0)
    worth = {key: weights[term] * rarity(having.get(key, 0), total) for key, term in keys.items()}
    choosing, others = choosing_terms(worth, having, LOOKED_AT)
    if not choosing:
        return []
    scores = _chosen(choosing, worth, wanted, is_common=having[choosing[0]] > LOOKED_AT)
    if scores and others:
        rest = IndexedPosting.objects.filter(entry__in=list(scores), term__in=others)
        for entry, term, impact in rest.values_list("entry", "term", "impact"):
            scores[entry] += worth[term] * impact
    entries = list(IndexedEntry.objects.filter(pk__in=list(scores)))
    sites = {
        row.pk: row
        for row in IndexedSite.objects.filter(pk__in={entry.site for entry in entries}).defer("manifest")
    }
    found = [_Found(scores[each.pk], each, sites[each.site]) for each in entries if each.site in sites]
    return sorted(found, key=lambda each: each.order)


def _chosen(
    terms: Sequence[int], worth: dict[int, int], wanted: Wanted, *, is_common: bool
) -> dict[int, int]:
    """The scores of the best entries by their keys, as far as these terms make them."""
    connection = connections[router.db_for_read(IndexedPosting) or "default"]
    quote = connection.ops.quote_name
    postings, entries, sites = (
        quote(model._meta.db_table) for model in (IndexedPosting, IndexedEntry, IndexedSite)
    )
    source, values = postings, list[Any]()
    cases = " ".join(["WHEN %s THEN %s"] * len(terms))
    values += [value for term in terms for value in (term, worth[term])]
    if is_common:
        # A word that nearly everything has: those that have most of it.
        source = f"(SELECT * FROM {postings} WHERE term = %s ORDER BY impact DESC, entry LIMIT {LOOKED_AT})"  # noqa: S608
        values.append(terms[0])
    conditions, given = _conditions(wanted)
    values += [*terms, *given]
    per_site = wanted.per_site or _NOT_ASKED
    statement = (
        f"WITH scored AS (SELECT p.entry AS entry, SUM(CAST(CASE p.term {cases} END AS bigint) * p.impact) AS score "  # noqa: S608
        f"FROM {source} p JOIN {entries} e ON e.id = p.entry JOIN {sites} s ON s.id = e.site "
        f"WHERE p.term IN ({', '.join(['%s'] * len(terms))}){''.join(conditions)} GROUP BY p.entry), "
        "ranked AS (SELECT scored.entry AS entry, scored.score AS score, ROW_NUMBER() OVER "
        "(PARTITION BY e.site ORDER BY scored.score DESC, e.place) AS nth "
        f"FROM scored JOIN {entries} e ON e.id = scored.entry) "
        "SELECT entry, score FROM ranked WHERE nth <= %s ORDER BY score DESC, entry LIMIT %s"
    )
    with connection.cursor() as cursor:
        cursor.execute(statement, [*values, per_site, CHOSEN])
        return {int(entry): int(score) for entry, score in cursor.fetchall()}


def _conditions(wanted: Wanted) -> tuple[list[str], list[Any]]:
    """What the entries must be beside: SQL over the entry ``e`` and the site ``s``, and its values.

    A price that an input says is the caller's to choose, so it is within any ``max_cost``, and so is no price at all.
    """
    conditions, values = [" AND s.state <> %s"], [IndexedSite.State.BLOCKED.value]
    for column, value in (
        ("e.effect", wanted.effect),
        ("s.site", wanted.site),
        ("e.currency", wanted.currency if wanted.max_cost is None else None),
    ):
        if value is not None:
            conditions.append(f" AND {column} = %s")
            values.append(value)
    if wanted.max_cost is not None:
        conditions.append(
            " AND (e.currency = '' OR (e.currency = %s AND (e.amount IS NULL OR e.amount <= %s)))"
        )
        values += [str(wanted.currency), wanted.max_cost]  # type: ignore[list-item]
    return conditions, values


def _result(found: _Found, stale_before: datetime) -> dict[str, Any]:
    entry, site = found.entry, found.site
    return {
        "type": entry.kind,
        "site": site.site,
        entry.kind: entry.name,
        "description": entry.description,
        "effect": entry.effect,
        "scope": entry.scope,
        "cost": _cost(entry),
        "score": round(found.score / SCALE, 4),
        "manifest_url": site.url,
        "fetched_at": _moment(site.fetched_at),
        "stale": site.state != IndexedSite.State.INDEXED
        or site.confirmed_at is None
        or site.confirmed_at < stale_before,
    }


def _cost(entry: IndexedEntry) -> dict[str, str] | None:
    if not entry.currency:
        return None
    if entry.amount is None:
        # A flow may pay what a step of it answers, which no input says.
        return {"currency": entry.currency} | ({"field": entry.cost_field} if entry.cost_field else {})
    return {"currency": entry.currency, "amount": format_amount(entry.amount, entry.currency)}


def _moment(at: datetime | None) -> str | None:
    return None if at is None else at.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
