"""Counts come together in the process and are added up in the database, by any number of processes at once."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from django.db import DatabaseError, connection
from django.test.utils import CaptureQueriesContext

from agentweb.awp.analytics import counting
from agentweb.awp.analytics.counting import MOST_KEPT, Counts
from agentweb.awp.analytics.models import AgentRequests
from agentweb.testing import clock
from tests.support.races import ROOT, Database, race, run


@pytest.fixture
def counts(monkeypatch: pytest.MonkeyPatch) -> Counts:
    fresh = Counts()
    monkeypatch.setattr(counting, "counts", fresh)
    return fresh


def written() -> dict[tuple[str, str, str], int]:
    return {
        (row.day.isoformat(), row.protocol, row.family): row.requests for row in AgentRequests.objects.all()
    }


@pytest.mark.django_db
def test_counts_are_added_to_what_is_there_in_one_statement(counts: Counts) -> None:
    with clock(1_800_000_000):
        for _ in range(3):
            counts.add("aip", "OpenAI")
        counts.add("awp", "Browsers")
        with CaptureQueriesContext(connection) as asked:
            assert counts.write() == 4
        counts.add("aip", "OpenAI")
        assert counts.write() == 1
    assert len(asked) == 1
    assert written() == {("2027-01-15", "aip", "OpenAI"): 4, ("2027-01-15", "awp", "Browsers"): 1}


@pytest.mark.django_db
def test_nothing_is_written_when_nothing_was_counted(counts: Counts) -> None:
    with CaptureQueriesContext(connection) as asked:
        assert counts.write() == 0
    assert len(asked) == 0


@pytest.mark.django_db
def test_a_day_ends_at_midnight_in_utc(counts: Counts, settings: Any) -> None:
    settings.TIME_ZONE = "Asia/Tokyo"
    with clock(1_800_057_599) as moving:
        counts.add("aip", "OpenAI")
        moving.forward(1)
        counts.add("aip", "OpenAI")
    counts.write()
    assert sorted(AgentRequests.objects.values_list("day", "requests")) == [
        (date(2027, 1, 15), 1),
        (date(2027, 1, 16), 1),
    ]


@pytest.mark.django_db
def test_what_the_database_refuses_stays_counted(counts: Counts, monkeypatch: pytest.MonkeyPatch) -> None:
    counts.add("aip", "OpenAI")

    def refuse(taken: Any) -> None:
        counts.add("aip", "OpenAI")
        raise DatabaseError("away")

    with monkeypatch.context() as away:
        away.setattr(counting, "_add_up", refuse)
        with pytest.raises(DatabaseError):
            counts.write()
    assert counts.write() == 2
    assert list(written().values()) == [2]


def test_the_memory_of_counts_is_bounded(counts: Counts) -> None:
    for number in range(MOST_KEPT + 50):
        counts.add("aip", f"family{number}")
    assert len(counts.kept) == MOST_KEPT
    counts.add("aip", "family0")
    assert counts.kept[max(counts.kept, key=lambda key: counts.kept[key])] == 2


def test_threads_lose_no_count(counts: Counts) -> None:
    def work() -> None:
        for _ in range(2_000):
            counts.add("aip", "OpenAI")

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(counts.take().values()) == 16_000
    assert counts.take() == {}


def test_in_a_test_run_no_thread_writes_into_the_database(counts: Counts) -> None:
    counts.add("aip", "OpenAI")
    assert counts.thread is None
    assert "agentweb-analytics" not in {thread.name for thread in threading.enumerate()}


def test_processes_that_write_at_once_lose_nothing_and_count_nothing_twice(race_database: Database) -> None:
    answers = race(race_database, "tests.awp.analytics.racers:count", [[place, 40] for place in range(8)])
    assert answers == [40 * 6] * 8
    assert run(race_database, "tests.awp.analytics.racers:total") == {"aip": 8 * 40 * 3, "awp": 8 * 40 * 3}


def test_a_process_writes_by_itself_and_when_it_ends_and_a_child_what_it_counted(
    race_database: Database,
) -> None:
    # Racers end without the interpreter's own end, so this is a process of its own.
    done = subprocess.run(
        [
            sys.executable,
            "-W",
            "ignore::DeprecationWarning",
            str(Path(__file__).with_name("whole_process.py")),
        ],
        env={**os.environ, **race_database.env},
        cwd=ROOT,
        check=False,
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.split() == ["thread", "4"]
    assert run(race_database, "tests.awp.analytics.racers:total") == {"aip": 4 + 2, "awp": 3}
