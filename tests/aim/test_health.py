"""Whether background work keeps up, as /v2/health, the admin and the doctor tell it."""

from __future__ import annotations

import socket
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from agentweb.aim import consumers, health, probes
from agentweb.aim.models import LogConsumer
from agentweb.aim.sweep import sweep
from agentweb.doctor.examination import examine
from agentweb.http.probes import Level
from agentweb.testing import clock
from agentweb.wire.clock import now_datetime
from tests.aim.filling import agent, post
from tests.support.redis import redis_url

pytestmark = pytest.mark.django_db

NOON = 1_790_000_000.0


@pytest.fixture(autouse=True)
def _nothing_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(health, "_kept", None)


def said() -> dict[str, tuple[str, str]]:
    """Level and text of what the doctor says of each."""
    return {
        found.id: (str(found.level), found.text)
        for found in examine(probes.PROBES)
        if found.id in {"D400", "D401"}
    }


def test_before_anybody_looked_it_is_late() -> None:
    assert health.document()["status"] == "late"
    assert health.document()["readers"]["received"]["heard_seconds_ago"] is None


def test_the_whole_document() -> None:
    with clock(NOON) as time:
        post(agent("ann"), agent("bob"), 2)
        sweep(2)
        time.forward(1)
        post(agent("cat"), agent("dan"))
        time.forward(4.5)
        reader = {"lag": 2, "oldest_seconds": 4.5, "heard_seconds_ago": 5.5, "late": False}
        assert health.document() == {
            "status": "ok",
            "server_time": "2026-09-21T14:13:25.500Z",
            "log": {"last": 6, "floor": 0},
            "readers": {"received": reader, "told": reader},
        }


def test_three_periods_of_whoever_looked_last_are_waited_for() -> None:
    with clock(NOON) as time:
        for period, seconds in ((2, 6), (60, 180)):
            sweep(period)
            time.forward(seconds)
            assert not health.look().is_late
            time.forward(0.001)
            assert health.look().is_late


def test_who_looks_and_does_not_get_on_is_late_too() -> None:
    """As with a receiver that hangs: its worker was heard, and so are those who wait for its lease."""
    with clock(NOON) as time:
        post(agent("ann"), agent("bob"))
        consumers.create(consumers.READERS)
        assert consumers.lease(consumers.TOLD) is not None
        for _ in range(6):
            sweep(5)
            assert not health.look().is_late
            time.forward(10)
            LogConsumer.objects.filter(name=consumers.TOLD).update(
                leased_until=now_datetime() + timedelta(days=1)
            )
        time.forward(0.001)
        assert [reader.is_late for reader in health.look().readers] == [False, True]
        text = (
            "A worker looks at the messenger's log, and 2 events wait to be told, the oldest for 60 seconds."
        )
        assert said()["D400"] == ("warning", text)


def test_it_takes_three_queries_and_is_asked_once_a_second() -> None:
    post(agent("ann"), agent("bob"))
    with CaptureQueriesContext(connection) as captured:
        for _ in range(5):
            health.document()
    assert len(captured) == 3


def test_the_doctor_asks_nothing_of_a_messenger_that_nobody_uses() -> None:
    assert said() == {}


def test_the_doctor_says_when_nobody_works(settings: Any) -> None:
    with clock(NOON) as time:
        post(agent("ann"), agent("bob"))
        level, text = said()["D400"]
        assert (level, text) == (
            "warning",
            "No worker has looked at the messenger's log ever; 2 events are left to be seen.",
        )
        sweep()
        assert said() == {"D400": ("ok", "Somebody does the messenger's background work.")}
        time.forward(16)
        assert said()["D400"][1].startswith("No worker has looked at the messenger's log for 16 seconds; 0 ")


def test_the_doctor_says_when_processes_cannot_wake_each_other(
    settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        url = f"redis://:hunter2@127.0.0.1:{listener.getsockname()[1]}/0"
        settings.AGENTWEB = {**settings.AGENTWEB, "WAKE_UPS": url}
        level, text = said()["D401"]
    assert level == str(Level.WARNING)
    assert text.startswith("The Redis of AGENTWEB['WAKE_UPS'] does not answer")
    assert "hunter2" not in text
    monkeypatch.setattr(probes, "find_spec", lambda name: None)
    assert "not installed" in said()["D401"][1]


@pytest.mark.services
def test_the_doctor_is_content_with_a_redis_that_answers(settings: Any) -> None:
    settings.AGENTWEB = {**settings.AGENTWEB, "WAKE_UPS": redis_url()}
    assert said() == {"D401": ("ok", "Processes can wake each other.")}
