"""Waiting for SQLite: for the right to write, and not for the disk where nothing would be lost."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from django.db import ConnectionHandler, DataError, OperationalError, connection, connections
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.sqlite3.base import DatabaseWrapper
from django.test.utils import CaptureQueriesContext

from agentweb.access import database
from agentweb.access.database import begun, not_awaiting_the_disk, patiently, waiting_for_locks
from agentweb.access.models import Nonce
from agentweb.access.rows import insert_if_absent
from agentweb.wire.clock import now_datetime

pytestmark = pytest.mark.django_db


@contextmanager
def sqlite(path: Path, journal: str, synchronous: str) -> Iterator[BaseDatabaseWrapper]:
    options = {"init_command": f"PRAGMA journal_mode={journal};PRAGMA synchronous={synchronous};"}
    settings: dict[str, Any] = ConnectionHandler().configure_settings(
        {"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": str(path), "OPTIONS": options}}
    )
    made = DatabaseWrapper(ConnectionHandler(settings).settings["default"], alias="other")
    try:
        yield made
    finally:
        made.close()


def level(made: BaseDatabaseWrapper) -> int:
    with made.cursor() as cursor:
        cursor.execute("PRAGMA synchronous")
        return int(cursor.fetchone()[0])


@pytest.mark.parametrize(
    ("journal", "synchronous", "inside", "outside"),
    [
        ("WAL", "FULL", 1, 2),
        ("WAL", "EXTRA", 1, 3),
        ("WAL", "NORMAL", 1, 1),
        ("WAL", "OFF", 0, 0),
        ("DELETE", "FULL", 2, 2),
        ("DELETE", "NORMAL", 1, 1),
    ],
)
def test_only_in_wal_mode_and_only_for_the_block_the_disk_is_not_waited_for(
    tmp_path: Path, journal: str, synchronous: str, inside: int, outside: int
) -> None:
    with sqlite(tmp_path / "db.sqlite3", journal, synchronous) as made:
        with not_awaiting_the_disk(made):
            assert level(made) == inside
        assert level(made) == outside
        with pytest.raises(LookupError), not_awaiting_the_disk(made):
            raise LookupError
        assert level(made) == outside


def test_inside_a_transaction_everything_stays_as_it_is(tmp_path: Path) -> None:
    with sqlite(tmp_path / "db.sqlite3", "WAL", "FULL") as made:
        made.set_autocommit(False)
        made.in_atomic_block = True
        with not_awaiting_the_disk(made):
            assert level(made) == 2
        made.in_atomic_block = False


@pytest.mark.django_db(transaction=True)
def test_a_begin_that_got_no_turn_is_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    really = database.transaction.atomic
    locked = sqlite3.OperationalError("database is locked")
    locked.sqlite_errorname = "SQLITE_BUSY"
    failures = [1, 1]

    @contextmanager
    def busy(**given: Any) -> Iterator[None]:
        if failures:
            failures.pop()
            raise OperationalError(str(locked)) from locked
        with really(**given):
            yield

    monkeypatch.setattr(database.transaction, "atomic", busy)
    ran = []

    def work() -> str:
        with begun():
            ran.append(1)
        return "done"

    assert (patiently(work), ran, failures) == ("done", [1], [])


@pytest.mark.django_db(transaction=True)
def test_a_transaction_begins_with_a_write_where_begin_takes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def statements() -> list[str]:
        with CaptureQueriesContext(connection) as captured, begun():
            pass
        return [query["sql"].split()[0] for query in captured.captured_queries]

    lazy = ["DELETE"] if connection.vendor == "sqlite" else []
    assert [each for each in statements() if each not in {"BEGIN", "COMMIT"}] == lazy
    if connection.vendor == "sqlite":
        monkeypatch.setattr(connections["default"], "transaction_mode", "IMMEDIATE")
    assert [each for each in statements() if each not in {"BEGIN", "COMMIT"}] == []


@contextmanager
def one_transaction() -> Iterator[Any]:
    """What psycopg has open, in a transaction that waits a second for locks."""
    if connection.vendor != "postgresql":
        pytest.skip("Others say BEGIN themselves, and have time-outs of their own.")
    with begun(), waiting_for_locks(connection, 1):
        yield connection.connection


def answer(sql: str) -> Any:
    with connection.cursor() as cursor:
        cursor.execute(sql)
        return cursor.fetchone()[0]


@pytest.mark.django_db(transaction=True)
def test_postgresql_is_told_of_the_transaction_with_its_first_statement() -> None:
    with one_transaction() as raw:
        assert answer("SHOW lock_timeout") == "1s"
        # So psycopg has sent no BEGIN of its own.
        assert raw.autocommit
        assert raw.info.transaction_status == raw.info.transaction_status.INTRANS
        insert_if_absent([Nonce(key="k", nonce="n", expires_at=now_datetime())])
    assert raw.info.transaction_status == raw.info.transaction_status.IDLE
    assert Nonce.objects.count() == 1
    assert answer("SHOW lock_timeout") == "0"


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("first", ["SELECT 1", "SELECT 1 / 0"], ids=["good", "failing"])
def test_what_began_with_its_first_statement_is_rolled_back_whole(first: str) -> None:
    def work() -> None:
        with one_transaction():
            answer(first)
            insert_if_absent([Nonce(key="k", nonce="n", expires_at=now_datetime())])
            raise LookupError

    with pytest.raises((LookupError, DataError)):
        work()
    assert not Nonce.objects.exists()
    with one_transaction():
        assert answer("SELECT 1") == 1


@pytest.mark.django_db(transaction=True)
def test_an_isolation_level_of_the_sites_holds() -> None:
    with one_transaction() as raw:
        raw.isolation_level = 3
        assert answer("SHOW transaction_isolation") == "repeatable read"
    raw.isolation_level = None
