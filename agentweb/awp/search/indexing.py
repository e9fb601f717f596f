"""Keeping the index: a page is taken in with what changed of it, and pages that are gone are taken out.

A content run calls ``catch_up`` when it is through; what a killed run left undone, the next one finds. Whoever writes a
page may call ``index_page`` in the same transaction, so that the index never lags behind.
"""

from __future__ import annotations

import logging
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import Final, TypeVar

from django.db import transaction
from django.db.models import Count, Exists, OuterRef

from agentweb.access.database import begun, patiently
from agentweb.awp.content.models import ContentPage
from agentweb.awp.search.models import SearchedPage, SearchPosting, SearchTerm
from agentweb.awp.search.terms import EVERY, Has, key_of, page_terms
from agentweb.client.ranking_words import VERSION
from agentweb.postings.rows import ROWS, add_counts, database_of, write_rows

logger = logging.getLogger("agentweb.awp")

_PAGES: Final = 25
"""Pages of one transaction. Their terms are in memory at once, and SQLite has one writer at a time."""

_Terms = Mapping[int, Has]
_Work = TypeVar("_Work")


def index_page(page: ContentPage, texts: Sequence[str]) -> None:
    """Take in a page as it is, ``texts`` being its parts in Markdown. A transaction, or the end of the caller's."""
    index_pages([(page, texts)])


def index_pages(pages: Sequence[tuple[ContentPage, Sequence[str]]]) -> None:
    """Take in pages as they are. A transaction, or the end of the caller's, and only once in that.

    Only what changed of their terms is written. Two that take in pages at once wait for each other's counts, which are
    written last and in one order; with other writes after it, they could wait for each other for ever.
    """
    _write([(page, _terms(page, texts)) for page, texts in pages])


def _terms(page: ContentPage, texts: Sequence[str]) -> _Terms:
    return page_terms(page.title, page.description, page.path, texts, page.language)


def _write(pages: Sequence[tuple[ContentPage, _Terms]]) -> None:
    terms = {page.pk: has for page, has in pages}
    with transaction.atomic(using=_database()):
        before: defaultdict[int, dict[int, Has]] = defaultdict(dict)
        rows = SearchPosting.objects.filter(page__in=list(terms))
        for key, term, impact, place in rows.values_list("page", "term", "impact", "place"):
            before[key][term] = Has(impact, place)
        known = dict(SearchedPage.objects.filter(page__in=list(terms)).values_list("page", "version"))
        counts: Counter[int] = Counter()
        added: list[tuple[int, ...]] = []
        for key, now in terms.items():
            old = before[key]
            counts.update(now.keys() - old.keys())
            counts.subtract(old.keys() - now.keys())
            _count_page(counts, known.get(key))
            _remove(key, [term for term, has in old.items() if now.get(term) != has])
            added += [(term, key, *has) for term, has in now.items() if old.get(term) != has]
        # In the order of the index, whose leaves are read and written once then.
        write_rows(SearchPosting, ("term", "page", "impact", "place"), sorted(added))
        write_rows(
            SearchedPage,
            ("page", "digest", "version"),
            [(page.pk, page.digest, VERSION) for page, _has in pages],
            " ON CONFLICT (page) DO UPDATE SET digest = excluded.digest, version = excluded.version",
        )
        _count(counts)


def _count_page(counts: Counter[int], known: str | None) -> None:
    """Every page is counted once, in the version that it was taken in with."""
    if known == VERSION:
        return
    counts[key_of(EVERY)] += 1
    if known is not None:
        counts[key_of(EVERY, known)] -= 1


def forget_pages(pages: Iterable[int]) -> int:
    """Take out the pages with these primary keys; how many were in the index. A transaction, or the caller's."""
    wanted = list(pages)
    with transaction.atomic(using=_database()):
        versions = dict(SearchedPage.objects.filter(page__in=wanted).values_list("page", "version"))
        if not versions:
            return 0
        gone = (
            SearchPosting.objects.filter(page__in=wanted)
            .order_by()
            .values("term")
            .annotate(pages=Count("page"))
            .values_list("term", "pages")
        )
        counts: Counter[int] = Counter()
        counts.subtract(dict(gone))
        counts.subtract(key_of(EVERY, version) for version in versions.values())
        SearchPosting.objects.filter(page__in=wanted).delete()
        SearchedPage.objects.filter(page__in=wanted).delete()
        _count(counts)
        return len(versions)


def catch_up(*, tick: Callable[[], None] = lambda: None) -> dict[str, int]:
    """Bring the index to the content as it is, some pages at a time: ``{"forgotten", "indexed"}``.

    Searches and other writers go on meanwhile: what takes time, finding the terms, is done before the right to write is
    taken. Being killed costs the pages that were at hand. ``tick`` is called after each page and each transaction, and
    ends it when it raises.
    """
    counts = {"forgotten": 0, "indexed": 0}
    for keys in _some(_orphans()):
        counts["forgotten"] += patiently(partial(_begun, forget_pages, keys))
        tick()
    for keys in _some(_stale()):
        read = _read(keys, tick)
        counts["indexed"] += patiently(partial(_begun, _index_again, read))
        tick()
    if any(counts.values()):
        SearchTerm.objects.filter(pages__lte=0).delete()
    return counts


def _some(keys: Sequence[int]) -> Iterator[Sequence[int]]:
    return (keys[start : start + _PAGES] for start in range(0, len(keys), _PAGES))


def _begun(work: Callable[[_Work], int], of: _Work) -> int:
    with begun():
        return work(of)


def _read(keys: Sequence[int], tick: Callable[[], None]) -> dict[int, tuple[ContentPage, _Terms]]:
    """The pages of these keys with their terms, each as it was at some moment."""
    found = {}
    for page in ContentPage.objects.filter(pk__in=keys).order_by("pk"):
        texts = list(page.content_parts.order_by("number").values_list("text", flat=True))
        found[page.pk] = page, _terms(page, texts)
        tick()
    return found


def _index_again(read: Mapping[int, tuple[ContentPage, _Terms]]) -> int:
    # Locked: who writes one of the pages meanwhile, waits. One that was written since it was read is not what its terms
    # are of: whoever wrote it takes it in, or the next who catches up.
    locked = ContentPage.objects.select_for_update().filter(pk__in=list(read)).order_by("pk")
    as_read = [page for page in locked if _version(page) == _version(read[page.pk][0])]
    _write([(page, read[page.pk][1]) for page in as_read])
    return len(as_read)


def _version(page: ContentPage) -> tuple[str, datetime]:
    """What is another one whenever a page's content is written."""
    return page.digest, page.updated_at


def _stale() -> list[int]:
    """Keys of pages that are not in the index as they are."""
    current = SearchedPage.objects.filter(page=OuterRef("pk"), digest=OuterRef("digest"), version=VERSION)
    return list(ContentPage.objects.filter(~Exists(current)).order_by("pk").values_list("pk", flat=True))


def _orphans() -> list[int]:
    """Keys of pages that are in the index and nowhere else."""
    there = ContentPage.objects.filter(pk=OuterRef("page"))
    return list(SearchedPage.objects.filter(~Exists(there)).order_by("page").values_list("page", flat=True))


def _database() -> str:
    return database_of(SearchPosting)


def _remove(page: int, terms: Sequence[int]) -> None:
    for start in range(0, len(terms), ROWS):
        SearchPosting.objects.filter(page=page, term__in=terms[start : start + ROWS]).delete()


def _count(counts: Mapping[int, int]) -> None:
    """Add to the pages that have each term."""
    add_counts(SearchTerm, "pages", counts)
