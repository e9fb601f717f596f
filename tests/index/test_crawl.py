"""Looking at sites again: by ETag, when they are due, less and less often while they fail."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import pytest

from agentweb import rooms, upkeep
from agentweb.client import crawling
from agentweb.client.discovery import read_answer
from agentweb.client.transport import Answer, Transport
from agentweb.index import crawl, retention
from agentweb.index.models import IndexedEntry, IndexedSite
from agentweb.wire.clock import now_datetime
from tests.client.site import MANIFEST, Reply, Site
from tests.index.sites import a_manifest, an_action, is_sound, keep, names

pytestmark = pytest.mark.django_db


def look(site: Site, **members: Any) -> crawl.Looked:
    asking = crawl.transport()
    try:
        found = crawl.look(crawl.row_for(site.url), asking, **members)
    finally:
        asking.close()
    assert found is not None
    return found


def row() -> IndexedSite:
    return IndexedSite.objects.get()


def test_what_is_known_is_asked_for_by_its_etag(site: Site) -> None:
    site.action("buy_paper")
    site.manifest_headers["ETag"] = '"v1"'
    first = look(site)
    assert (first.is_new, row().etag, len(row().sha256)) == (True, '"v1"', 64)
    before = row()
    site.script(
        MANIFEST, lambda seen: Reply(304) if seen.headers.get("if-none-match") == '"v1"' else Reply(500)
    )
    again = look(site)
    assert (again.is_new, again.error) == (False, None)
    assert row().fetched_at == before.fetched_at
    assert row().confirmed_at > before.confirmed_at  # type: ignore[operator]
    assert names("paper") == [f"{site.authority}/buy_paper"]


def test_a_changed_manifest_takes_the_place_of_the_other(site: Site) -> None:
    site.action("buy_paper")
    look(site)
    site.manifest["actions"] = []
    site.action("buy_ink")
    assert look(site).is_new
    assert names("paper") == []
    assert names("ink") == [f"{site.authority}/buy_ink"]
    assert is_sound()


def test_a_304_that_nobody_asked_for_is_refused(site: Site) -> None:
    site.script(MANIFEST, Reply(304))
    found = look(site)
    assert found.error is not None
    assert (found.error.code, found.error.extra["reason"]) == ("manifest_invalid", "status")


def test_entries_of_other_terms_are_made_anew_from_what_is_kept(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    site.action("buy_paper")
    site.manifest_headers["ETag"] = '"v1"'
    look(site)
    IndexedSite.objects.update(version="0/old")
    site.script(MANIFEST, Reply(304))
    IndexedEntry.objects.update(description="stale words")
    look(site)
    assert IndexedEntry.objects.get().description == ""
    assert row().version == crawl.VERSION


def test_a_failing_site_is_asked_less_and_less_often_and_stays_found(site: Site) -> None:
    site.action("buy_paper")
    look(site)
    pauses = []
    for _ in range(9):
        site.script(MANIFEST, Reply(503))
        look(site)
        pauses.append(row().due_at - now_datetime())
    hours = [round(pause.total_seconds() / 60) for pause in pauses]
    assert hours == [10, 20, 40, 80, 160, 320, 640, 1_280, 1_440]
    assert row().failures == 9
    assert names("paper") == [f"{site.authority}/buy_paper"]
    look(site)
    assert (row().state, row().failures, row().code) == ("indexed", 0, "")


@pytest.mark.parametrize("status", [404, 410])
def test_a_site_that_takes_its_manifest_away_is_not_found_any_more(site: Site, status: int) -> None:
    site.action("buy_paper")
    look(site)
    site.script(MANIFEST, Reply(status))
    look(site)
    assert names("paper") == []
    assert (row().state, row().manifest) == ("failed", "")
    assert is_sound()


def test_only_one_process_asks_a_site_at_a_time(site: Site) -> None:
    found = crawl.row_for(site.url)
    IndexedSite.objects.update(leased_until=now_datetime() + timedelta(seconds=30))
    asking = crawl.transport()
    assert crawl.look(found, asking) is None
    assert crawl.look_at_due() == {"sites": 0, "failed": 0}
    IndexedSite.objects.update(leased_until=now_datetime() - timedelta(seconds=1))
    assert crawl.look(found, asking) is not None
    asking.close()


def test_what_is_due_is_looked_at_and_nothing_else(sites: Any) -> None:
    first, second = sites(), sites()
    look(first)
    look(second)
    IndexedSite.objects.filter(site=second.authority).update(due_at=now_datetime() - timedelta(seconds=1))
    seen = len(first.seen), len(second.seen)
    assert rooms.background(lambda: False) == {"sites_looked_at": 1, "sites_failed": 0}
    assert len(first.seen) == seen[0]
    assert len(second.seen) > seen[1]


def test_a_worker_that_is_to_end_begins_with_no_other_site(sites: Any) -> None:
    for _ in range(3):
        crawl.row_for(sites().url)
    asked = iter([False, True])
    assert crawl.look_at_due(lambda: next(asked)) == {"sites": 1, "failed": 0}


def test_sites_that_failed_for_a_month_are_forgotten() -> None:
    at = now_datetime()
    old = at - crawl.GIVEN_UP - timedelta(hours=1)
    failed = IndexedSite.State.FAILED
    keep("gone.example", an_action("stamps", "Stamps."), state=failed, confirmed_at=old)
    keep("never.example", state=failed, confirmed_at=None, added_at=old)
    keep("new.example", state=failed, confirmed_at=None)
    keep("old.example", an_action("stamps", "Stamps."), confirmed_at=old)
    assert retention.clear_expired(at) == {"indexed_sites": 2}
    assert set(IndexedSite.objects.values_list("site", flat=True)) == {"new.example", "old.example"}
    assert is_sound()
    assert upkeep.clear_expired()["indexed_sites"] == 0


def test_a_site_shut_out_while_it_is_asked_stays_out(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    site.action("buy_paper")
    found = crawl.row_for(site.url)

    def shut_out(*args: Any, **kwargs: Any) -> Any:
        IndexedSite.objects.update(state=IndexedSite.State.BLOCKED)
        return fetch(*args, **kwargs)

    fetch = crawling.fetch
    monkeypatch.setattr(crawling, "fetch", shut_out)
    asking = crawl.transport()
    crawl.look(found, asking)
    asking.close()
    assert row().state == "blocked"
    assert not IndexedEntry.objects.exists()


def test_schemas_that_take_too_long_are_left_out() -> None:
    document = a_manifest("a.example", *(an_action(f"a{n}", input={"type": "object"}) for n in range(50)))
    answer = Answer(
        200, {"content-type": "application/json"}, json.dumps(document).encode(), "https://a.example/"
    )
    manifest = read_answer(answer, "https://a.example/.well-known/agent-actions.json")
    none = crawling.with_sound_schemas(manifest, seconds=-1)
    assert none.actions == {}
    assert {each["code"] for each in none.unusable} == {"too_complex"}
    assert len(crawling.with_sound_schemas(manifest).actions) == 50


def test_the_time_of_a_site_holds_for_all_its_redirects_together(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    site.script(MANIFEST, Reply(307, headers={"Location": "/b"}))
    site.script("/b", Reply(307, headers={"Location": "/c"}))
    site.script("/c", Reply(200, {}))
    ends = []
    send = Transport._send

    def noting(self: Transport, *args: Any, deadline: float, **members: Any) -> Answer:
        ends.append(deadline)
        return send(self, *args, deadline=deadline, **members)

    monkeypatch.setattr(Transport, "_send", noting)
    asking = Transport()
    assert asking.get(f"{site.url}{MANIFEST}", headers={}, max_bytes=100).status == 200
    asking.close()
    assert (len(ends), len(set(ends))) == (3, 1)
