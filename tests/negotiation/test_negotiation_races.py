"""Moves at the same moment, by real processes on both databases: of those that exclude each other one counts."""

from __future__ import annotations

from collections import Counter

from tests.support.calls import chain_of
from tests.support.races import Database, race, run

RACERS = "tests.negotiation.racers"
PROCESSES = 8


def test_one_negotiation_begins_however_many_first_offers_come(race_database: Database) -> None:
    chain = chain_of()
    answers = race(race_database, f"{RACERS}:begin", [[chain, 8_000 + number] for number in range(PROCESSES)])
    assert Counter(answers) == {"countered": 1, "conflict": PROCESSES - 1}
    assert run(race_database, f"{RACERS}:account")["states"] == ["countered"]


def test_accepting_many_times_makes_one_agreement(race_database: Database) -> None:
    chain = chain_of()
    run(race_database, f"{RACERS}:begin", chain, 8_000)
    answers = race(race_database, f"{RACERS}:accept", [[chain]] * PROCESSES)
    # Those that come a moment later get the same agreement; those that are overtaken are told that it is over.
    assert set(answers) <= {"accepted", "negotiation_closed"}
    assert "accepted" in answers
    books = run(race_database, f"{RACERS}:account")
    assert books == {"states": ["accepted"], "rounds": [1], "agreements": 1, "named": True}


def test_accepting_and_expiring_exclude_each_other(race_database: Database) -> None:
    chain = chain_of()
    run(race_database, f"{RACERS}:begin", chain, 8_000)
    roles = ["accept", "expire"] * (PROCESSES // 2)
    answers = race(race_database, f"{RACERS}:accept_or_expire", [[role, chain] for role in roles])
    books = run(race_database, f"{RACERS}:account")
    if "expired" in answers:
        assert answers.count("expired") == 1
        assert "accepted" not in answers
        assert (books["states"], books["agreements"]) == (["expired"], 0)
    else:
        assert "accepted" in answers
        assert (books["states"], books["agreements"], books["named"]) == (["accepted"], 1, True)


def test_offers_at_the_same_moment_take_one_round(race_database: Database) -> None:
    chain = chain_of()
    run(race_database, f"{RACERS}:begin", chain, 8_000)
    answers = race(race_database, f"{RACERS}:offer", [[chain, "81.00"]] * PROCESSES)
    assert set(answers) <= {"countered", "negotiation_changed"}
    assert "countered" in answers
    assert run(race_database, f"{RACERS}:account")["rounds"] == [2]
