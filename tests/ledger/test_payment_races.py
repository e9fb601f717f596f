"""Payments and refunds under concurrency: real processes, on both databases, a provider with books of its own."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from agentweb.testing.payments import ENVIRONMENT
from tests.support.calls import chain_of
from tests.support.races import Database, race, run

RACERS = "tests.ledger.payment_racers"
PROCESSES = 6


@pytest.fixture
def env(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, race_database: Database) -> dict[str, str]:
    """Where the provider keeps its books, for every process."""
    monkeypatch.setenv(ENVIRONMENT, str(tmp_path / "provider.sqlite3"))
    run(race_database, f"{RACERS}:prepare")
    return {ENVIRONMENT: str(tmp_path / "provider.sqlite3")}


def total(answers: list[dict[str, int]]) -> Counter[str]:
    counted: Counter[str] = Counter()
    for answer in answers:
        counted.update(answer)
    return counted


def key(racer: int, number: int = 0) -> str:
    return f"payment-race-{racer:04d}-{number:06d}"


def test_payments_come_to_exactly_what_the_mandate_allows(race_database: Database, env: Any) -> None:
    chain = chain_of(spending="USD:7.00/50.00")
    answers = race(
        race_database,
        f"{RACERS}:buy",
        [[chain, "tea", "7.00", [key(racer, number) for number in range(4)]] for racer in range(PROCESSES)],
    )
    books = run(race_database, f"{RACERS}:account")
    assert total(answers) == {"ok": 7, "mandate_exceeded": PROCESSES * 4 - 7}  # floor(50 / 7)
    assert (books["spent"], sum(books["charges"]), sum(books["captured"])) == ([4_900], 4_900, 4_900)
    assert (books["refunds"], books["unsettled"], books["chain"]) == ([], [], None)


@pytest.mark.parametrize("item", ["tea", "lost"])
def test_the_same_call_of_many_processes_is_paid_once(race_database: Database, env: Any, item: str) -> None:
    chain = chain_of(spending="USD:10.00/100.00")
    answers = race(
        race_database, f"{RACERS}:buy", [[chain, item, "10.00", [key(1)]] for _ in range(PROCESSES)]
    )
    books = run(race_database, f"{RACERS}:account")
    assert total(answers) == {"ok": PROCESSES}
    assert (books["charges"], books["captured"], books["spent"], books["uses"]) == (
        [1_000],
        [1_000],
        [1_000],
        [1],
    )


def test_a_one_time_grant_is_paid_with_once(race_database: Database, env: Any) -> None:
    chain = chain_of(spending="USD:10.00/100.00", one_time=True)
    answers = race(
        race_database, f"{RACERS}:buy", [[chain, "tea", "10.00", [key(racer)]] for racer in range(PROCESSES)]
    )
    books = run(race_database, f"{RACERS}:account")
    assert total(answers) == {"ok": 1, "grant_used": PROCESSES - 1}
    assert (books["charges"], books["captured"], books["given"], books["uses"]) == ([1_000], [1_000], [], [1])


@pytest.mark.parametrize("is_outside", [False, True], ids=["ledger", "provider"])
def test_refunds_of_60_of_a_charge_of_100_are_one(
    race_database: Database, env: Any, is_outside: bool
) -> None:
    chain = chain_of(spending="USD:100.00/100.00")
    if is_outside:
        run(race_database, f"{RACERS}:buy", chain, "tea", "100.00", [key(1)])
    else:
        run(race_database, "tests.ledger.racers:charge", chain, 0, 1, "100.00", ["pay"])
    receipt = run(race_database, f"{RACERS}:only_receipt")
    answers = race(race_database, f"{RACERS}:give", [[receipt, 6_000, 2]] * PROCESSES)
    books = run(race_database, f"{RACERS}:account")
    assert total(answers) == {"done": 1, "refund_exceeds_charge": 2 * PROCESSES - 1}
    assert (books["refunds"], books["spent"], books["chain"]) == ([6_000], [4_000], None)
    assert books["given"] == ([6_000] if is_outside else [])


def test_a_sweep_and_the_call_itself_never_both_have_a_payment(race_database: Database, env: Any) -> None:
    chain = chain_of(spending="USD:10.00/100.00", expires_in=86_400)
    assert run(race_database, f"{RACERS}:begin", chain, "lost", key(1)) == "payment_unknown"
    answers = race(
        race_database,
        f"{RACERS}:sweep_or_retry",
        [[number, chain, key(1), 3 * 3_600] for number in range(PROCESSES)],
    )
    run(race_database, f"{RACERS}:sweep", 6 * 3_600, 3)
    books = run(race_database, f"{RACERS}:account")
    assert [answer for answer in answers[::2] if answer != {"ok": 1}] == []
    assert sum(books["captured"]) - sum(books["given"]) == 1_000 == books["spent"][0]
    assert sum(books["charges"]) - sum(books["refunds"]) == 1_000
    assert (books["charges"], books["refunds"]) == (books["captured"], books["given"])
    assert (books["uses"], books["unsettled"], books["chain"]) == ([1], [], None)
