"""Eight processes at one shelf and at one cart, on SQLite and on PostgreSQL."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from tests.demo.shopping import demo_environment
from tests.support.races import KINDS, Database, fresh_database, race

PROCESSES = 8
SLUG = "cordless-drill-12v"


class Store:
    """The shop's database of one race."""

    def __init__(self, database: Database, folder: Path) -> None:
        self.database = database
        books = {"AGENTWEB_TEST_PAYMENTS": str(folder / "payments.sqlite3")}
        self.environment = demo_environment(_where(database)) | books

    def race(self, what: str, arguments: list[list[Any]]) -> list[Any]:
        return race(self.database, f"tests.demo.racers:{what}", arguments, env=self.environment)

    def run(self, what: str, *arguments: Any) -> Any:
        return self.race(what, [list(arguments)])[0]


def _where(database: Database) -> str:
    if database.kind == "sqlite":
        return database.name
    user, password = os.environ.get("PGUSER", "postgres"), os.environ.get("PGPASSWORD", "")
    host, port = os.environ.get("PGHOST", "127.0.0.1"), os.environ.get("PGPORT", "5432")
    return f"postgresql://{quote(user)}:{quote(password)}@{host}:{port}/{database.name}"


@pytest.fixture(params=KINDS)
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    with fresh_database(request.param, tmp_path) as database:
        yield Store(database, tmp_path)


def test_the_last_ten_are_sold_to_ten_of_twenty_four_buyers(store: Store) -> None:
    store.run("prepare", SLUG, 10)
    outcomes: Counter[str] = Counter()
    for answers in store.race("buy", [[SLUG, 3]] * PROCESSES):
        outcomes.update(answers)
    assert outcomes == {"sold": 10, "out_of_stock": 14}
    books = store.run("books", SLUG)
    assert (books["stock"], books["orders"], books["sold"], books["running"]) == (0, 10, 10, 0)
    assert books["open_payments"] == 0
    assert books["totals"] == books["receipts"] == books["spent"] == 10 * 8900


def test_one_cart_is_ordered_once_by_eight_processes(store: Store) -> None:
    store.run("prepare", SLUG, 10)
    cart = store.run("fill_one_cart")
    answers = Counter(store.race("order_that_cart", [[cart]] * PROCESSES))
    assert answers == {"sold": 1, "cart_already_ordered": PROCESSES - 1}
    books = store.run("books", "basil-seeds")
    assert (books["orders"], books["sold"], books["spent"]) == (1, 2, 480)


def test_nothing_added_during_an_order_is_lost_or_doubled(store: Store) -> None:
    store.run("prepare", SLUG, 10)
    cart = store.run("fill_one_cart")
    cart["price"] = "100.00"
    answers = store.race("mixed", [[cart, number == 0] for number in range(PROCESSES)])
    assert Counter(answers) == {"added": PROCESSES - 1, "sold": 1}
    books = store.run("books", "basil-seeds")
    assert books["sold"] + books["in_open_carts"] == 2 + PROCESSES - 1
    assert books["totals"] == books["spent"] == books["sold"] * 240


def test_an_order_that_eight_processes_cancel_is_paid_back_once(store: Store) -> None:
    store.run("prepare", "basil-seeds", 10)
    order = store.run("place_an_order")
    assert store.race("cancel_that_order", [[order]] * PROCESSES) == ["cancelled"] * PROCESSES
    assert len(store.run("refund_of", order)) == 1
    assert store.run("books", "basil-seeds")["stock"] == 10


def test_of_eight_decisions_about_one_request_one_counts(store: Store) -> None:
    store.run("prepare", "basil-seeds", 10)
    order = store.run("place_an_order")
    store.run("cancel_that_order", order)
    [ident] = store.run("refund_of", order)
    answers = Counter(store.race("decide_about", [[ident, number % 2 == 0] for number in range(PROCESSES)]))
    assert answers.pop("request_decided") == PROCESSES - 1
    assert answers == {store.run("status_of", ident): 1}
