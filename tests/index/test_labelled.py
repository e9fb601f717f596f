"""What people ask for is found: measured on the labelled set, in memory and in the database alike."""

from __future__ import annotations

import pytest

from agentweb.client.crawling import About
from agentweb.client.listing import entries_of
from agentweb.client.manifest import read_manifest
from agentweb.index import store
from agentweb.index.finding import Wanted, find
from agentweb.index.models import IndexedSite
from agentweb.wire.clock import now_datetime
from tests.index.labelled import LabelledSite, Query, manifest_of, queries, sites
from tests.index.measuring import beside_an_index, measured, ours, plain


def test_the_set_is_as_large_as_it_says_and_its_answers_are_there() -> None:
    names = {f"{site.site}/{action.name}" for site in sites() for action in site.actions}
    asked = queries()
    assert len(sites()) >= 40
    assert len(asked) >= 60
    assert len({query.text for query in asked}) == len(asked)
    assert {answer for query in asked for answer in query.answers} <= names
    assert sum(query.is_held_out for query in asked) == len(asked) // 2


@pytest.mark.parametrize("part", ["tune", "held"])
@pytest.mark.parametrize("stemmed", [False, True], ids=["plain", "stemmed"])
def test_it_is_better_than_plain_bm25_over_descriptions(part: str, stemmed: bool) -> None:
    asked = [query for query in queries() if query.is_held_out == (part == "held")]
    known = sites()
    own, other = measured(ours(known), asked), measured(plain(known, stemmed=stemmed), asked)
    assert own.recall > other.recall + 0.2
    assert own.mrr > other.mrr + 0.2


def test_what_was_looked_at_while_it_was_made_is_not_found_better_than_what_was_not() -> None:
    known, asked = sites(), queries()
    tuned = measured(ours(known), [query for query in asked if not query.is_held_out])
    held = measured(ours(known), [query for query in asked if query.is_held_out])
    assert held.recall >= 0.9
    assert held.mrr >= 0.85
    assert held.mrr > tuned.mrr - 0.05


@pytest.mark.parametrize("share", [40, 8, 2], ids=["a-few", "some", "half"])
def test_having_met_some_sites_spoils_nothing_of_what_an_index_finds(share: int) -> None:
    known, asked = sites(), queries()
    alone = measured(ours(known), asked)
    for first in range(2):
        met = {site.site for site in known[first::share]}
        both = measured(beside_an_index(known, met), asked)
        assert both.recall >= alone.recall - 0.01
        assert both.mrr >= alone.mrr - 0.01


@pytest.mark.django_db
def test_the_database_gives_the_very_order_that_memory_gives() -> None:
    known = sites()
    for site in known:
        _keep(site)
    rank = ours(known)
    for query in queries():
        results = find(Wanted(text=query.text), limit=50)["results"]
        assert [f"{each['site']}/{each['action']}" for each in results] == rank(query.text)[:50], query.text


def _keep(site: LabelledSite) -> None:
    at = now_datetime()
    url = f"https://{site.site}/.well-known/agent-actions.json"
    row = IndexedSite(site=site.site, url=url, added_at=at, due_at=at, state=IndexedSite.State.INDEXED)
    row.save()
    manifest = read_manifest(manifest_of(site), site=site.site, url=url)  # type: ignore[arg-type]
    store.take_in(row, entries_of(manifest, About(site.name, site.summary)))


def test_a_query_that_nothing_answers_finds_nothing() -> None:
    assert measured(ours(sites()), [Query("zzz", frozenset({"a/b"}), True)]).mrr == 0
