"""SIGKILL at every place of a payment at which a process waits or has just committed; then somebody else goes on.

Whoever comes back, the provider has taken the money once, there is one receipt of it, and the mandate is exact. If only
the sweep comes, everything is at its end, and both books say the same.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from agentweb.testing.payments import ENVIRONMENT
from agentweb.wire.grant_shape import grant_id
from tests.support.calls import chain_of
from tests.support.races import Database, run

RACERS = "tests.ledger.payment_racers"
PROVIDER = "tests.support.payments:Impatient"
PAYING = [
    ("agentweb.ledger.payments", "open_purse", "before"),
    ("agentweb.ledger.payments", "reserve", "before"),
    ("agentweb.ledger.payments", "reserve", "after"),
    ("agentweb.ledger.payments", "charge", "before"),
    (PROVIDER, "charge", "before"),
    (PROVIDER, "charge", "after"),
    ("agentweb.ledger.payments", "charge", "after"),
    ("agentweb.ledger.payments", "capture", "after"),
    ("agentweb.ledger.payments", "finish", "before"),
    ("agentweb.ledger.payments", "finish", "after"),
    ("agentweb.ledger.receipts", "append", "after"),
    ("agentweb.invoke.idempotency", "finish", "after"),
    ("agentweb.invoke.paying", "_carry_out", "before"),
]
REFUSING = [
    ("agentweb.ledger.payments", "charge", "after"),
    ("agentweb.ledger.payments", "capture", "after"),
    ("agentweb.ledger.payments", "give_back", "before"),
    ("agentweb.ledger.payments", "give_back", "after"),
    ("agentweb.invoke.idempotency", "finish", "after"),
    ("agentweb.ledger.refunds", "carry_out", "before"),
    (PROVIDER, "refund", "before"),
    (PROVIDER, "refund", "after"),
    ("agentweb.ledger.refunds", "_complete", "before"),
    ("agentweb.ledger.refunds", "_complete", "after"),
    ("agentweb.ledger.refunds", "carry_out", "after"),
]


def some(points: list[tuple[str, str, str]]) -> list[tuple[str, str, str]]:
    """All of them in the long run, a few otherwise."""
    return points if os.environ.get("AGENTWEB_LONG") == "1" else [*points[:-1:3], points[-1]]


@pytest.fixture
def database(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, race_database: Database) -> Database:
    monkeypatch.setenv(ENVIRONMENT, str(tmp_path / "provider.sqlite3"))
    run(race_database, f"{RACERS}:prepare")
    return race_database


def after(database: Database, case: str, point: tuple[str, str, str], then: str) -> dict[str, Any]:
    chain = chain_of(spending="USD:10.00/100.00", expires_in=86_400)
    told: dict[str, Any] = run(database, f"{RACERS}:crash", case, point, then, chain, grant_id(chain[0]))
    assert told["killed"], f"nobody came to {point}"
    assert told["books"]["chain"] is None
    assert told["books"]["unsettled"] == []
    return told


def test_a_call_that_comes_back_after_a_crash_has_paid_once(database: Database) -> None:
    for point in PAYING:
        told = after(database, "pays", point, "retry")
        books = told["books"]
        assert told["outcome"] == {"ok": 1}, point
        assert (books["charges"], books["captured"]) == ([1_000], [1_000]), point
        assert (books["refunds"], books["given"]) == ([], []), point
        assert (books["spent"], books["uses"]) == ([1_000], [1]), point


def test_a_call_that_does_not_come_back_after_a_crash_is_brought_to_an_end(database: Database) -> None:
    for point in some(PAYING):
        books = after(database, "pays", point, "sweep")["books"]
        net = sum(books["charges"]) - sum(books["refunds"])
        is_done = point in PAYING[-1:]  # it had committed
        assert net == (1_000 if is_done else 0), point
        assert (books["charges"], books["refunds"]) == (books["captured"], books["given"]), point
        assert sum(books["spent"]) == net, point
        assert sum(books["uses"]) == int(is_done), point


@pytest.mark.parametrize("then", ["retry", "sweep"])
def test_what_was_taken_for_nothing_goes_back_once_whatever_dies(database: Database, then: str) -> None:
    for point in REFUSING if then == "retry" else some(REFUSING):
        told = after(database, "refuses", point, then)
        books = told["books"]
        assert told["outcome"] == ({"closed": 1} if then == "retry" else None), point
        assert (books["charges"], books["refunds"]) == ([1_000], [1_000]), point
        assert (books["captured"], books["given"]) == ([1_000], [1_000]), point
        assert (books["spent"], books["uses"]) == ([0], [0]), point
