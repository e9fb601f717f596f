"""Reading the index: which pages have the terms of a query, looking at a bounded number of rows.

Which terms choose the pages, and which only add to the scores of what was chosen, says ``postings.choosing``.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from django.db import connections, router

from agentweb.awp.search.models import SearchPosting, SearchTerm
from agentweb.postings.choosing import CHOSEN, LOOKED_AT, choosing_terms


def pages_having(terms: Collection[int]) -> dict[int, int]:
    """How many pages have each of the terms. One query."""
    found = SearchTerm.objects.filter(term__in=terms).values_list("term", "pages")
    return {term: max(0, pages) for term, pages in found}


def page_scores(worth: Mapping[int, int], having: Mapping[int, int]) -> dict[int, int]:
    """The scores of the pages that fit best, at most CHOSEN, by primary key. Two queries at most.

    ``worth`` is weight times rarity of each term; a score is the sum of ``worth`` times impact.
    """
    choosing, others = choosing_terms(worth, having, LOOKED_AT)
    if not choosing:
        return {}
    is_common = having[choosing[0]] > LOOKED_AT
    found = _weightiest(choosing[0], worth) if is_common else _summed(choosing, worth)
    if found and others:
        rest = SearchPosting.objects.filter(page__in=list(found), term__in=others)
        for page, term, impact in rest.values_list("page", "term", "impact"):
            found[page] += worth[term] * impact
    return found


def places(pages: Collection[int], terms: Collection[int]) -> list[tuple[int, int, int]]:
    """(page, term, part that has it first) of the terms in the bodies of these pages. One query."""
    found = SearchPosting.objects.filter(page__in=pages, term__in=terms, place__gt=0)
    return list(found.order_by("page", "place", "term").values_list("page", "term", "place"))


def _weightiest(term: int, worth: Mapping[int, int]) -> dict[int, int]:
    rows = SearchPosting.objects.filter(term=term).order_by("-impact", "page")
    return {page: worth[term] * impact for page, impact in rows.values_list("page", "impact")[:CHOSEN]}


def _summed(terms: Collection[int], worth: Mapping[int, int]) -> dict[int, int]:
    # Written out: the sum of products by cases is many times longer through expressions, and as fast to read.
    connection = connections[router.db_for_read(SearchPosting) or "default"]
    table = connection.ops.quote_name(SearchPosting._meta.db_table)
    cases = " ".join(["WHEN %s THEN %s"] * len(terms))
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT page, SUM(CAST(CASE term {cases} END AS bigint) * impact) AS score FROM {table} "  # noqa: S608
            f"WHERE term IN ({', '.join(['%s'] * len(terms))}) GROUP BY page ORDER BY score DESC, page LIMIT %s",
            [*(value for term in terms for value in (term, worth[term])), *terms, CHOSEN],
        )
        return {int(page): int(score) for page, score in cursor.fetchall()}
