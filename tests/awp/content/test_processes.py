"""Runs in processes: two at once, one that is killed, workers that hang or die; on both databases."""

from __future__ import annotations

from tests.awp.content.racers import MANY
from tests.support.races import Database, race, run

RACERS = "tests.awp.content.racers"


def test_of_runs_that_begin_at_once_one_is_at_work(race_database: Database) -> None:
    answers = race(race_database, f"{RACERS}:slow_run", [[]] * 3)
    [done] = [answer for answer in answers if answer is not None]
    assert done["is_complete"]
    assert done["counts"]["created"] == MANY
    assert run(race_database, f"{RACERS}:state") == {
        "pages": MANY, "are_whole": True, "changed": 0, "running": 0, "complete": 1
    }  # fmt: skip


def test_after_a_kill_in_the_middle_of_a_page_the_next_run_goes_on(race_database: Database) -> None:
    run(race_database, f"{RACERS}:killed_after", 7)
    left = run(race_database, f"{RACERS}:state")
    assert (left["pages"], left["are_whole"], left["running"]) == (7, True, 1)
    assert run(race_database, f"{RACERS}:one_run") is None
    done = run(race_database, f"{RACERS}:one_run", 1, 100)
    assert done["is_complete"]
    assert (done["counts"]["created"], done["counts"]["unchanged"]) == (MANY - 7, 7)


def test_a_run_that_was_taken_for_dead_writes_nothing_over_the_later_one(race_database: Database) -> None:
    assert run(race_database, f"{RACERS}:run_that_was_taken_for_dead") == "superseded"
    left = run(race_database, f"{RACERS}:state")
    assert (left["pages"], left["changed"], left["running"], left["complete"]) == (MANY, MANY, 0, 1)


def test_workers_that_hang_or_die_cost_their_page_only(race_database: Database) -> None:
    done = run(race_database, f"{RACERS}:hanging_run", 3)
    assert done["counts"]["created"] == MANY
    assert done["counts"]["failed"] == 5
    assert {path: reason for path, (reason, _detail) in done["why"].items()} == {
        "/hangs/": "timeout",
        "/stays/": "timeout",
        "/crash/": "raised",
        "/exits/": "raised",
        "/dies/": "raised",
    }


def test_a_page_that_hangs_is_given_up_without_workers_too(race_database: Database) -> None:
    done = run(race_database, f"{RACERS}:hanging_run", 1)
    assert done["counts"]["created"] == MANY
    assert done["why"]["/hangs/"] == ["timeout", "more than 3 seconds"]


def test_transactions_that_pages_leave_open_cost_these_pages_only(race_database: Database) -> None:
    done = run(race_database, f"{RACERS}:leaky_run")
    assert {path: reason for path, (reason, _detail) in done["why"].items()} == {
        "/leaks/": "raised",
        "/leaks-and-crashes/": "raised",
        "/interrupts/": "raised",
        "/notes/": "empty",
    }
    # Django closes a connection without autocommit when the request ends: that page is as good as on a server.
    assert done["counts"]["created"] == done["pages"] == MANY + 1
    assert (done["running"], done["notes"]) == (0, 0)
