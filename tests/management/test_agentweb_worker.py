"""``manage.py agentweb_worker``: one look or many, several of them, and a clean end."""

from __future__ import annotations

import io
import json
import os
import pty
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import OperationalError

from agentweb import conf, upkeep
from agentweb.aim import consumers
from agentweb.aim.models import Account, LogConsumer
from agentweb.management.commands import agentweb_worker
from agentweb.testing import clock
from tests.aim.filling import agent, post
from tests.aim.working.processes import NOBODY_DIES, Worker, posting, verdict_when_done, workers
from tests.support.races import ROOT, Database, fresh_database, run
from tests.support.redis import redis_url

NOON = 1_790_000_000.0
POSTERS = "tests.aim.working.posters"


def once(*options: str) -> str:
    out = io.StringIO()
    call_command("agentweb_worker", "--once", *options, stdout=out)
    return out.getvalue()


@pytest.mark.django_db
def test_once_does_everything_that_is_due() -> None:
    post(agent("ann"), agent("bob"), 2)
    told = json.loads(once("--json"))
    assert (told["events"], told["told"], told["lag"]) == (4, 0, 0)
    assert {"events", "messages", "nonces"} <= told["cleared"].keys()
    assert Account.objects.get(agent__name="bob").received == 2


@pytest.mark.django_db
def test_once_says_in_words_what_it_did() -> None:
    post(agent("ann"), agent("bob"))
    assert once() == "2 events swept, 0 signals sent, 0 left; deleted: nothing\n"


@pytest.mark.django_db
def test_once_says_what_it_did_of_what_others_do_beside(settings: Any) -> None:
    settings.AGENTWEB = {
        **settings.AGENTWEB,
        "ROOMS": list(conf.ROOMS),
        "PAYMENTS": "tests.support.payments.Impatient",
    }
    said = once()
    assert said.endswith("; deleted: nothing; settled: nothing; 0 sites looked at, 0 sites failed\n")
    told = json.loads(once("--json"))
    assert (told["settled"], told["unsettled"]) == ({}, 0)
    assert told["background"] == {"sites_looked_at": 0, "sites_failed": 0}


@pytest.mark.django_db
def test_the_period_is_kept_for_whoever_watches() -> None:
    once("--every", "60")
    assert set(LogConsumer.objects.filter(name__in=consumers.READERS).values_list("period", flat=True)) == {
        60
    }


@pytest.mark.parametrize("every", ["0", "-1", "nan", "inf", "1e9", "soon", "", "\u0663"], ids=ascii)
def test_a_period_that_is_none_ends_it_before_it_begins(every: str) -> None:
    with pytest.raises(CommandError, match="--every"):
        call_command("agentweb_worker", f"--every={every}")


@pytest.mark.django_db
def test_deleting_is_done_once_in_a_while_by_one_of_all_workers() -> None:
    with clock(NOON) as time:
        assert upkeep.clear_expired_if_due(lambda: False) is not None
        assert upkeep.clear_expired_if_due(lambda: False) is None
        time.forward(301)
        assert upkeep.clear_expired_if_due(lambda: True) is None
        assert upkeep.clear_expired_if_due(lambda: False) is not None


@pytest.mark.django_db
def test_a_database_that_is_away_for_a_while_is_waited_for(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    answers: list[Any] = [None, OperationalError("gone"), OperationalError("gone"), None]
    seen = []

    def sweep(every: float, stopping: Any) -> Any:
        answer = answers.pop(0)
        seen.append(answer)
        if not answers:
            stopping.is_set = True
        if answer is not None:
            raise answer
        return agentweb_worker.Swept(0, 0, 0)

    monkeypatch.setattr(agentweb_worker, "sweep", sweep)
    monkeypatch.setattr(agentweb_worker, "_rest", lambda *_: None)
    monkeypatch.setattr(agentweb_worker.connections, "close_all", lambda: None)
    monkeypatch.setattr(agentweb_worker, "close_old_connections", lambda: None)
    call_command("agentweb_worker", stdout=io.StringIO())
    assert len(seen) == 4
    assert [record.levelname for record in caplog.records] == ["WARNING", "WARNING"]


def test_workers_share_the_work_and_end_cleanly(race_database: Database, tmp_path: Path) -> None:
    run(race_database, f"{POSTERS}:register")
    command = ["tests.aim.working.worker", "--every", "0.1", "--json"]
    logs = [tmp_path / f"{n}.log" for n in range(3)]
    with workers(*(Worker(race_database, command, log, **NOBODY_DIES) for log in logs)) as ours:
        [answer] = posting(race_database, 3).result()
        found = verdict_when_done(race_database)
        assert [each.end() for each in ours] == [0, 0, 0]
        for each in ours:
            assert all(
                json.loads(line).keys() >= {"at", "events", "told"} for line in each.text().splitlines()
            )
    assert found["messages"] == answer["posted"] == found["received"] == found["told"]
    assert (found["is_exact"], found["told_once_at_least"], found["in_order"]) == (True, True, True)


@pytest.mark.services
def test_a_wake_up_is_not_waited_for_until_the_next_look(tmp_path: Path) -> None:
    """It would look again after an hour. It has looked once before anything is posted, so only a wake-up can do it."""
    through = {"AGENTWEB_TEST_WAKE_UPS": redis_url(), **NOBODY_DIES}
    with fresh_database("sqlite", tmp_path) as database:
        run(database, f"{POSTERS}:register")
        command = ["tests.aim.working.worker", "--every", "3600"]
        with workers(Worker(database, command, tmp_path / "worker.log", **through)) as [worker]:
            until = time.monotonic() + 60
            while run(database, f"{POSTERS}:verdict")["heard"] < 2 and time.monotonic() < until:
                pass
            [answer] = posting(database, 2, **through).result()
            found = verdict_when_done(database)
            assert worker.end() == 0
    assert found["messages"] == answer["posted"] == found["received"] == found["told"]


def test_on_a_terminal_it_shows_that_it_lives_and_wipes_that_out(
    race_database: Database, tmp_path: Path
) -> None:
    run(race_database, f"{POSTERS}:register")
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.aim.working.worker", "--every", "0.1"],
        cwd=ROOT,
        env={**os.environ, **race_database.env},
        stdin=subprocess.DEVNULL,
        stdout=theirs,
        stderr=theirs,
        start_new_session=True,
    )
    os.close(theirs)
    text = b""
    try:
        until = time.monotonic() + 60
        while b"0 events swept, 0 left" not in text and time.monotonic() < until:
            text += os.read(ours, 4_096)
        process.terminate()
        try:
            while chunk := os.read(ours, 4_096):
                text += chunk
        except OSError:
            pass  # the end of a terminal whose last process ended
        assert process.wait(timeout=60) == 0, text
    finally:
        process.kill()
        process.wait()
        os.close(ours)
    assert text.endswith(b"\r\x1b[K"), text
