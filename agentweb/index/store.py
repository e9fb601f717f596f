"""Taking a site's manifest in, and out again: its entries, their postings, and the counts of terms.

A site is taken in in one transaction, or not at all. Of several that take in sites at once, each writes the counts last
and in one order, so they wait for each other and no more.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, Final

from django.db.models import Count

from agentweb.access.database import begun, patiently
from agentweb.client.listing import Entry
from agentweb.client.ranking_words import VERSION
from agentweb.index.models import IndexedEntry, IndexedPosting, IndexedSite, IndexedTerm
from agentweb.postings.keys import EVERY, key_of, number_of
from agentweb.postings.rows import ROWS, add_counts, write_rows

_NAMED_ONCE: Final = frozenset({"id", "site", "url", "added_at"})

MAX_TERMS: Final = 1_000
"""Different terms of one entry that are indexed; of more, those that it has most of."""
MAX_POSTINGS: Final = 100_000
"""Of one site, so that nobody fills the index: what comes later by name is not found."""


def take_in(row: IndexedSite, entries: Sequence[Entry]) -> None:
    """Put these entries in the place of those that the site had, and save the row. One transaction, tried again while
    the database lets nobody write."""

    def write() -> None:
        with begun():
            _put(row, entries)

    patiently(write)


def forget(keys: Iterable[int]) -> int:
    """Take out what the sites with these keys have, and the rows themselves; how many there were."""
    wanted = list(keys)

    def write() -> int:
        with begun():
            for key in wanted:
                _write(key, [])
            return int(IndexedSite.objects.filter(pk__in=wanted).delete()[0])

    return patiently(write) if wanted else 0


def empty(row: IndexedSite) -> None:
    """Take out what a site has, and save the row."""
    take_in(row, [])


def shut_out(row: IndexedSite) -> None:
    """Take out what a site has, and ask it nothing any more."""

    def write() -> None:
        with begun():
            gone = {"manifest": "", "sha256": "", "etag": "", "name": "", "summary": "", "leased_until": None}
            IndexedSite.objects.filter(pk=row.pk).update(state=IndexedSite.State.BLOCKED, **gone)
            _write(row.pk, [])

    patiently(write)


def save(row: IndexedSite) -> bool:
    """Save what a look found; False, and nothing saved, for a site that is gone or was blocked meanwhile."""
    values = {
        field.attname: getattr(row, field.attname)
        for field in IndexedSite._meta.concrete_fields
        if field.attname not in _NAMED_ONCE
    }
    rows = IndexedSite.objects.filter(pk=row.pk).exclude(state=IndexedSite.State.BLOCKED)
    return bool(rows.update(**values))


def entry_key(site: str, kind: str, name: str) -> int:
    """The key of an entry, the same everywhere."""
    return number_of(f"{site}\0{kind}\0{name}")


def _put(row: IndexedSite, entries: Sequence[Entry]) -> None:
    # The first write of all that take in this site: they wait for each other here.
    row.version = VERSION
    if save(row):
        _write(row.pk, entries, row.site)


def _write(site: int, entries: Sequence[Entry], name: str = "") -> None:
    before = list(IndexedEntry.objects.filter(site=site).values_list("pk", flat=True))
    counts: Counter[int] = Counter()
    for some in _chunks(before):
        gone = (
            IndexedPosting.objects.filter(entry__in=some)
            .order_by()
            .values("term")
            .annotate(entries=Count("entry"))
            .values_list("term", "entries")
        )
        counts.subtract(dict(gone))
        IndexedPosting.objects.filter(entry__in=some).delete()
    IndexedEntry.objects.filter(site=site).delete()
    rows: list[tuple[Any, ...]] = []
    postings: list[tuple[int, int, int]] = []
    for place, entry in enumerate(entries):
        if len(postings) > MAX_POSTINGS:
            break
        key = entry_key(name, entry.kind, entry.name)
        rows.append(
            (
                key,
                site,
                place,
                entry.kind,
                entry.name,
                entry.description,
                entry.effect,
                entry.scope,
                entry.currency or "",
                entry.amount,
                (entry.cost_field or "")[:500],
            )
        )
        kept = sorted(entry.terms, key=lambda term: (-entry.terms[term], term))[:MAX_TERMS]
        postings += [(key_of(EVERY), key, 1), *((key_of(term), key, entry.terms[term]) for term in kept)]
    columns = [field.attname for field in IndexedEntry._meta.concrete_fields]
    write_rows(IndexedEntry, columns, sorted(rows))
    write_rows(IndexedPosting, ("term", "entry", "impact"), sorted(postings))
    counts.update(term for term, _entry, _impact in postings)
    add_counts(IndexedTerm, "entries", counts)


def clear_terms() -> int:
    """Delete the counts of terms that nothing has any more."""
    return int(IndexedTerm.objects.filter(entries__lte=0).delete()[0])


def _chunks(keys: Sequence[int]) -> Iterable[list[int]]:
    return (list(keys[start : start + ROWS]) for start in range(0, len(keys), ROWS))
