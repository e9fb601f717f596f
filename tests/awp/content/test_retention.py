"""What is forgotten of the content: runs of long ago, but not those by which its age is known."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from agentweb import rooms, tasks
from agentweb.awp.content import published
from agentweb.awp.content.models import ContentPage, ContentRun
from agentweb.awp.content.periods import RUN_DAYS
from agentweb.awp.content.retention import clear_expired

pytestmark = pytest.mark.django_db


def run(days: int, **values: Any) -> ContentRun:
    at = timezone.now() - timedelta(days=days)
    given = {"is_running": False, "finished_at": at, **values}
    return ContentRun.objects.create(started_at=at, leased_until=at, **given)


def test_runs_of_long_ago_go_but_the_last_one_and_the_last_complete_one() -> None:
    run(RUN_DAYS + 9, is_complete=True)
    complete = run(RUN_DAYS + 8, is_complete=True)
    run(RUN_DAYS + 7)
    last = run(RUN_DAYS + 6)
    assert clear_expired(timezone.now()) == {"content_runs": 2}
    assert set(ContentRun.objects.all()) == {complete, last}
    assert published.state().updated_at == complete.finished_at


def test_runs_of_late_stay() -> None:
    run(RUN_DAYS - 1)
    run(1)
    assert clear_expired(timezone.now()) == {"content_runs": 0}


def test_the_task_does_a_run(site: Any) -> None:
    counts = tasks.content_run()
    assert counts is not None
    assert counts["created"] == ContentPage.objects.count() == 2


def test_the_task_does_nothing_where_the_protocol_is_off(site: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rooms, "switched_on", lambda: ("aip",))
    assert tasks.content_run() is None
    assert not ContentRun.objects.exists()
