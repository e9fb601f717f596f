"""Money under concurrency: real processes against one mandate, on SQLite's default options and on PostgreSQL."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from agentweb.testing import mandate
from tests.support.calls import attenuate, chain_of, seed
from tests.support.races import Database, race, run

RACERS = "tests.ledger.racers"
PROCESSES, CALLS = 8, 25


def total(answers: list[dict[str, int]]) -> Counter[str]:
    """How the calls ended. How often one was told to come again is left out: on a busy machine SQLite keeps writers
    waiting for as long as it takes."""
    counted: Counter[str] = Counter()
    for answer in answers:
        counted.update(answer)
    del counted["retried"]
    return counted


def test_eight_processes_spend_exactly_what_the_mandate_allows(race_database: Database) -> None:
    run(race_database, f"{RACERS}:prepare", {})
    chain = chain_of(spending="USD:7.00/100.00")
    answers = race(
        race_database,
        f"{RACERS}:charge",
        [[chain, racer, CALLS, "7.00", ["pay"]] for racer in range(PROCESSES)],
    )
    outcomes, books = total(answers), run(race_database, f"{RACERS}:account")
    assert outcomes["ok"] == 14  # floor(100 / 7)
    assert outcomes["mandate_exceeded"] == PROCESSES * CALLS - 14
    assert set(outcomes) == {"ok", "mandate_exceeded"}, "no call failed"
    assert list(books["mandates"].values()) == [[9_800, 14]]
    assert (books["receipts"], books["count"], books["chain"]) == (9_800, 14, None)
    assert (books["running"], books["audited_ok"]) == (0, 14)


def test_siblings_under_one_parent_never_spend_more_than_the_parent_has(race_database: Database) -> None:
    run(race_database, f"{RACERS}:prepare", {})
    parent = chain_of(spending="USD:7.00/100.00", delegate=2)
    children = [
        attenuate(parent, seed(7), subject=seed(20 + number).public, mandate=mandate("USD:7.00/70.00"))
        for number in range(PROCESSES)
    ]
    answers = race(
        race_database,
        f"{RACERS}:charge",
        [[child, racer, CALLS, "7.00", ["pay"]] for racer, child in enumerate(children)],
    )
    books = run(race_database, f"{RACERS}:account")
    assert total(answers) == {"ok": 14, "mandate_exceeded": PROCESSES * CALLS - 14}
    spent = sorted(spent for spent, _ in books["mandates"].values())
    assert spent[-1] == 9_800 == sum(spent[:-1]) == books["receipts"]
    assert books["chain"] is None


def test_charge_then_stock_does_not_deadlock_with_stock_then_charge(race_database: Database) -> None:
    run(race_database, f"{RACERS}:prepare", {"tea": 30})
    chain = chain_of(spending="USD:1.00/1000.00")
    answers = race(
        race_database,
        f"{RACERS}:charge",
        [
            [chain, racer, 10, "1.00", ["charge_then_stock", "stock_then_charge"]]
            for racer in range(PROCESSES)
        ],
    )
    books = run(race_database, f"{RACERS}:account")
    assert total(answers) == {"ok": 30, "out_of_stock": PROCESSES * 10 - 30}
    assert (books["stock"], books["receipts"], books["chain"]) == ({"tea": 0}, 3_000, None)


@pytest.mark.parametrize("name", ["write_note", "write_note_slowly"])
def test_sixteen_identical_calls_run_the_handler_once(race_database: Database, name: str) -> None:
    chain = chain_of()
    answers = race(race_database, f"{RACERS}:same_call", [[chain, name, "same-intent-0123456789"]] * 16)
    assert len({answer["body"] for answer in answers}) == 1
    assert [answer["replayed"] for answer in answers].count(False) == 1
    assert run(race_database, f"{RACERS}:notes") == 1


def test_a_one_time_grant_is_used_by_exactly_one_of_eight_processes(race_database: Database) -> None:
    chain = chain_of(one_time=True)
    answers: list[Any] = race(
        race_database, f"{RACERS}:one_time", [[chain, racer] for racer in range(PROCESSES)]
    )
    assert Counter(answers) == {"ok": 1, "grant_used": PROCESSES - 1}
    assert run(race_database, f"{RACERS}:notes") == 1


def test_a_slow_owner_who_was_overtaken_after_its_lease_does_not_act(race_database: Database) -> None:
    chain, key = chain_of(), "overtaken-0123456789"
    answers = race(
        race_database, f"{RACERS}:owner_or_taker", [["late_owner", chain, key], ["taker", chain, key]]
    )
    assert answers == ["idempotency_in_progress", "ok"]
    assert run(race_database, f"{RACERS}:notes") == 1
