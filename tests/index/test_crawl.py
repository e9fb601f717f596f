"""Looking at sites again: by ETag, when they are due, less and less often while they fail."""

from __future__ import annotations

import json
import threading
from datetime import timedelta
from typing import Any

import pytest
from django.db import DatabaseError, connection
from django.test.utils import CaptureQueriesContext

from agentweb import rooms, tasks, upkeep
from agentweb.client import crawling
from agentweb.client.discovery import read_answer
from agentweb.client.transport import Answer, Transport
from agentweb.index import crawl, retention, store
from agentweb.index.models import IndexedEntry, IndexedSite
from agentweb.management.commands import agentweb_worker as worker
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


def test_hosts_that_never_had_a_manifest_keep_no_site_waiting() -> None:
    at = now_datetime()
    long_due, due = at - timedelta(days=1), at - timedelta(minutes=1)
    keep("a-made-up.example", state=IndexedSite.State.FAILED, confirmed_at=None, due_at=long_due)
    keep("b.example", confirmed_at=at - timedelta(days=2), due_at=due)
    keep("c.example", confirmed_at=at - timedelta(days=3), due_at=due)
    assert [row.site for row in crawl.due(at, limit=9)] == ["c.example", "b.example", "a-made-up.example"]


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
    keep(
        "made-up.example", state=failed, confirmed_at=None, added_at=at - crawl.NEVER_MET - timedelta(hours=1)
    )
    assert retention.clear_expired(at) == {"indexed_sites": 3}
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


def test_what_was_kept_and_cannot_be_read_any_more_is_asked_for_whole(site: Site) -> None:
    site.action("buy_paper")
    site.manifest_headers["ETag"] = '"v1"'
    look(site)
    IndexedSite.objects.update(manifest='{"version": "agent-actions/0.0"}')
    site.script(MANIFEST, Reply(304))
    found = look(site)
    assert found.error is not None
    assert (found.error.code, row().state, row().etag) == ("manifest_invalid", "failed", "")
    assert look(site).error is None
    assert names("paper") == [f"{site.authority}/buy_paper"]


def test_what_could_not_be_taken_in_is_new_at_the_next_look(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    site.action("buy_paper")
    look(site)
    site.action("buy_ink")

    def fail(*args: Any) -> None:
        raise DatabaseError

    with monkeypatch.context() as broken:
        broken.setattr(store, "_write", fail)
        assert look(site).error is not None
    assert names("ink") == []
    assert look(site).is_new
    assert names("ink") == [f"{site.authority}/buy_ink"]


def test_a_site_forgotten_since_it_was_due_hinders_no_other(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = crawl.row_for(site.url)

    def lease(row: IndexedSite) -> bool:
        IndexedSite.objects.all().delete()
        return True

    monkeypatch.setattr(crawl, "_lease", lease)
    asking = crawl.transport()
    assert crawl.look(found, asking) is None
    asking.close()


def test_a_site_with_many_actions_takes_as_many_queries_as_one_with_few(sites: Any) -> None:
    def queries(actions: int) -> int:
        site = sites()
        for number in range(actions):
            site.action(f"buy_{number}")
        crawl.row_for(site.url)
        with CaptureQueriesContext(connection) as captured:
            look(site)
        return len(captured)

    assert queries(2) == queries(30)


def test_flows_with_names_that_no_action_may_have_spoil_nothing(site: Site) -> None:
    site.action("buy_paper")
    steps = [{"action": "buy_paper"}]
    long = "x" * 150
    site.manifest["flows"] = [
        {"name": name, "steps": steps} for name in ("fine", f"{long}1", f"{long}2", "a b", "\u0001", "")
    ]
    assert look(site).error is None
    assert set(IndexedEntry.objects.values_list("name", flat=True)) == {"buy_paper", "fine"}


def test_celery_looks_at_what_is_due(site: Site) -> None:
    site.action("buy_paper")
    crawl.row_for(site.url)
    assert tasks.background() == {"sites_looked_at": 1, "sites_failed": 0}
    assert names("paper") == [f"{site.authority}/buy_paper"]


def test_the_worker_s_thread_goes_on_after_a_failure_and_ends_with_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    looks: list[int] = []
    went_on = threading.Event()

    def background(stopping: Any) -> dict[str, int]:
        looks.append(1)
        if len(looks) == 1:
            raise RuntimeError("out of order")
        went_on.set()
        return {}

    monkeypatch.setattr(rooms, "background", background)
    monkeypatch.setattr(worker, "_BACKGROUND_SECONDS", 0)
    with worker._beside(worker._Stop()):
        assert went_on.wait(20)
    assert "agentweb-background" not in {thread.name for thread in threading.enumerate()}
