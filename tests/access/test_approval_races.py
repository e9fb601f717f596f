"""Approvals under concurrency: eight real processes, on SQLite with default options and on PostgreSQL."""

from __future__ import annotations

from collections import Counter

from tests.support.calls import chain_of
from tests.support.races import Database, race, run

RACERS = "tests.access.approval_racers"
PROCESSES = 8


def test_eight_processes_that_call_after_one_approval_act_once(race_database: Database) -> None:
    chain = chain_of()
    given = run(race_database, f"{RACERS}:prepare", chain, ["tea"], True)
    answers = race(
        race_database,
        f"{RACERS}:call",
        [[chain, given["user_id"], "tea", f"racing-key-{racer:08d}"] for racer in range(PROCESSES)],
    )
    assert Counter(answer["code"] for answer in answers) == {"ok": 1, "needs_human": PROCESSES - 1}
    # The others were told of one new request, and not of one each.
    anew = {answer["approval"] for answer in answers if answer["code"] == "needs_human"}
    assert len(anew) == 1
    assert anew.isdisjoint(given["approvals"])
    after = run(race_database, f"{RACERS}:outcome")
    assert (after["notes"], after["states"], after["keys"]) == (1, {"used": 1, "pending": 1}, 1)


def test_eight_processes_with_one_key_get_the_one_answer(race_database: Database) -> None:
    chain = chain_of()
    given = run(race_database, f"{RACERS}:prepare", chain, ["tea"], True)
    answers = race(
        race_database,
        f"{RACERS}:call",
        [[chain, given["user_id"], "tea", "one-intent-0123456789"]] * PROCESSES,
    )
    assert [answer["code"] for answer in answers] == ["ok"] * PROCESSES
    after = run(race_database, f"{RACERS}:outcome")
    assert (after["notes"], after["states"]) == (1, {"used": 1})


def test_one_of_eight_opposed_decisions_stands(race_database: Database) -> None:
    given = run(race_database, f"{RACERS}:prepare", chain_of(), ["tea"], False)
    [ident] = given["approvals"]
    answers = race(
        race_database, f"{RACERS}:decide", [[ident, given["user_id"], racer] for racer in range(PROCESSES)]
    )
    assert answers.count(True) == 1
    stands = "denied" if answers.index(True) % 2 else "approved"
    assert run(race_database, f"{RACERS}:outcome")["states"] == {stands: 1}


def test_a_person_is_asked_about_exactly_as_many_calls_as_the_limit_says(race_database: Database) -> None:
    chain = chain_of()
    given = run(race_database, f"{RACERS}:prepare", chain, [], False)
    answers = race(
        race_database,
        f"{RACERS}:flood",
        [[chain, given["user_id"], racer, 5] for racer in range(PROCESSES)],
    )
    total: Counter[str] = Counter()
    for answer in answers:
        total.update(answer)
    after = run(race_database, f"{RACERS}:outcome")
    assert total == {"needs_human": after["limit"], "rate_limited": PROCESSES * 5 - after["limit"]}
    assert (after["states"], after["keys"]) == ({"pending": after["limit"]}, 0)
