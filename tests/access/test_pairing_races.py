"""Pairing under concurrency: eight real processes, on SQLite with default options and on PostgreSQL."""

from __future__ import annotations

import pytest

from tests.access.pairing_racers import KEY
from tests.support.races import Database, race, run

RACERS = "tests.access.pairing_racers"
PROCESSES = 8


@pytest.mark.parametrize("first", [0, 1, 2])
def test_one_of_eight_opposed_decisions_stands(race_database: Database, first: int) -> None:
    given = run(race_database, f"{RACERS}:prepare")
    answers = race(
        race_database,
        f"{RACERS}:decide",
        [[given["id"], given["user_id"], given["token"], racer + first] for racer in range(PROCESSES)],
    )
    [stands] = [answer for answer in answers if answer]
    made = int(stands == "approved")
    assert run(race_database, f"{RACERS}:outcome", given["id"]) == {
        "state": stands,
        "sessions": made,
        "grants": made,
    }


def test_eight_who_approve_begin_one_session(race_database: Database) -> None:
    given = run(race_database, f"{RACERS}:prepare")
    answers = race(
        race_database,
        f"{RACERS}:decide",
        [[given["id"], given["user_id"], given["token"], 0]] * PROCESSES,
    )
    assert sorted(answers) == [""] * (PROCESSES - 1) + ["approved"]
    assert run(race_database, f"{RACERS}:outcome", given["id"])["sessions"] == 1


def test_two_people_who_give_a_grant_at_once_give_one_and_the_agent_sees_none_or_that(
    race_database: Database,
) -> None:
    waits = run(race_database, f"{RACERS}:prepare_request")
    answers = race(
        race_database,
        f"{RACERS}:answer_or_look",
        [[waits["id"], waits["users"], racer] for racer in range(PROCESSES)],
    )
    [[_, ident, person]] = [answer for answer in answers if answer[0] == "gave" and answer[1]]
    assert run(race_database, f"{RACERS}:given") == [[ident, person, KEY.public]]
    assert {seen for what, seen, *_ in answers if what == "saw"} <= {None, ident}
    assert run(race_database, f"{RACERS}:answer_or_look", waits["id"], waits["users"], 2) == ["saw", ident]


def test_logging_out_eight_times_at_once_ends_each_session_once(race_database: Database) -> None:
    run(race_database, f"{RACERS}:begin", 5)
    answers = race(race_database, f"{RACERS}:log_out", [[]] * PROCESSES)
    assert sorted(answers) == [0] * (PROCESSES - 1) + [5]
    assert run(race_database, f"{RACERS}:ended") == {"ended": 5, "revocations": 5}


def test_no_session_outlives_a_logging_out_at_the_same_moment(race_database: Database) -> None:
    run(race_database, f"{RACERS}:begin", 2)
    answers = race(race_database, f"{RACERS}:approve_or_log_out", [[racer] for racer in range(PROCESSES)])
    assert set(answers) <= {"out", "approved", "not_allowed"}
    assert run(race_database, f"{RACERS}:alive") == 0
    # And from then on nothing begins in this login.
    assert run(race_database, f"{RACERS}:approve_or_log_out", 0) == "not_allowed"
