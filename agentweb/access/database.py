"""Waiting for the database: which failures pass by themselves, and how long a first write waits for its turn.

SQLite lets one writer in at a time and does not queue the others: under load some wait past its time-out. A write
that opens a transaction has done nothing yet, so trying it again is safe, and no caller needs to know.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any, Final, TypeVar

from django.db import DatabaseError, InterfaceError, OperationalError, connection, transaction
from django.db.backends.base.base import BaseDatabaseWrapper

from agentweb.access.models import Nonce

_T = TypeVar("_T")

PATIENCE_SECONDS: Final = 15.0
"""How long ``patiently`` goes on trying, beside the database's own time-out of each try."""

# PostgreSQL: serialization failure, deadlock, lock not available, shutting down, cannot connect now, too many
# connections; class 08 is "connection exception".
_PASSING_SQLSTATES: Final = frozenset({"40001", "40P01", "55P03", "57P01", "57P02", "57P03", "53300"})

# Modes in which BEGIN itself takes nothing yet; None is DEFERRED.
_LAZY: Final = frozenset({None, "DEFERRED"})
_NORMAL: Final = 1


class NotBegun(Exception):
    """The first write of a transaction got no turn; nothing was done."""


def is_passing(error: DatabaseError | InterfaceError) -> bool:
    """Whether the same call may succeed in a moment: a lock, a deadlock, a lost or refused connection."""
    if isinstance(error, InterfaceError):
        return True
    if not isinstance(error, OperationalError):
        return False
    if is_locked(error):
        return True
    cause = error.__cause__
    if getattr(cause, "sqlite_errorname", None) is not None:
        return False
    state = getattr(cause, "sqlstate", None)
    return state is None or state in _PASSING_SQLSTATES or str(state).startswith("08")


def is_locked(error: BaseException) -> bool:
    """SQLite had another writer for longer than its time-out."""
    name = getattr(error.__cause__, "sqlite_errorname", None)
    return name is not None and str(name).startswith(("SQLITE_BUSY", "SQLITE_LOCKED"))


@contextmanager
def first_write() -> Iterator[None]:
    """Mark the statement that opens a transaction, so that ``patiently`` may try the transaction again."""
    try:
        yield
    except OperationalError as error:
        if is_locked(error):
            raise NotBegun from error
        raise


@contextmanager
def begun(write: Callable[[], object] | None = None) -> Iterator[None]:
    """A transaction of its own for the block, for ``patiently``; ``write`` is its first statement.

    SQLite refuses at once the first write of a transaction that has read before, however long it could wait. So the
    right to write is taken first: by BEGIN where the site has ``"transaction_mode": "IMMEDIATE"``, else by ``write``,
    or one that changes nothing.
    """
    with ExitStack() as stack:
        with first_write():
            stack.enter_context(transaction.atomic(durable=True))
            if write is not None:
                write()
            elif connection.vendor == "sqlite" and getattr(connection, "transaction_mode", None) in _LAZY:
                table = connection.ops.quote_name(Nonce._meta.db_table)
                with connection.cursor() as cursor:
                    cursor.execute(f"DELETE FROM {table} WHERE 0")  # noqa: S608
        yield


@contextmanager
def waiting_for_locks(connection: BaseDatabaseWrapper, seconds: float) -> Iterator[None]:
    """Around the statements of a transaction: none of them waits longer than this for a lock, or fails (55P03).

    PostgreSQL waits for ever otherwise, and threads that wait answer nobody. It is told together with the first
    statement, and so is that the transaction begins: at no way there and back of its own. Others have time-outs that
    are the site's to set.
    """
    if connection.vendor != "postgresql":
        yield
        return
    tell = f"SET LOCAL lock_timeout = {int(seconds * 1000)}"
    is_told = False

    def execute(run: Callable[..., Any], sql: str, params: Any, many: bool, context: dict[str, Any]) -> Any:
        nonlocal is_told
        if is_told:
            return run(sql, params, many, context)
        is_told = True
        if many or not takes_several(connection):
            run(tell, None, False, context)
            return run(sql, params, many, context)
        before = ["BEGIN", tell] if _leaves_begin_to_us(connection) else [tell]
        done = run("; ".join([*before, sql]), params, many, context)
        for _ in before:
            context["cursor"].nextset()
        return done

    with connection.execute_wrapper(execute):
        yield


def _leaves_begin_to_us(connection: BaseDatabaseWrapper) -> bool:
    """Have psycopg not say BEGIN, which it does before the first statement and waits for; whether it would have, and
    without an isolation level or other options of the site's. Commits and rollbacks look at the connection itself."""
    raw = connection.connection
    options = (raw.isolation_level, raw.read_only, raw.deferrable)
    if raw.info.transaction_status != raw.info.transaction_status.IDLE or options != (None, None, None):
        return False
    with connection.wrap_database_errors:
        # Until the end of the transaction, when Django sets it anyway.
        raw.autocommit = True
    return True


def takes_several(connection: BaseDatabaseWrapper) -> bool:
    """Whether one text may hold several statements, each with its rows: with psycopg 3, where Django writes the values
    into the text, as it does unless it is told otherwise."""
    if connection.vendor != "postgresql" or connection.settings_dict["OPTIONS"].get("server_side_binding"):
        return False
    from django.db.backends.postgresql.psycopg_any import is_psycopg3  # noqa: PLC0415 - needs its driver

    return bool(is_psycopg3)


@contextmanager
def not_awaiting_the_disk(connection: BaseDatabaseWrapper) -> Iterator[None]:
    """For one statement with a commit of its own, whose loss in a power cut harms nobody. Only SQLite can tell.

    With synchronous=FULL it waits at every commit until the disk has it, which costs more than the rest of a small
    call. In WAL mode, NORMAL leaves that to the next commit that waits, whoever's; to all processes the row is there
    at once, and the database stays whole (sqlite.org/pragma.html#pragma_synchronous).
    """
    if connection.vendor != "sqlite" or connection.in_atomic_block:
        yield
        return
    connection.ensure_connection()
    with connection.wrap_database_errors:
        execute = connection.connection.execute
        [level] = execute("PRAGMA synchronous").fetchone()
        is_wal = level > _NORMAL and execute("PRAGMA journal_mode").fetchone() == ("wal",)
        if is_wal:
            execute(f"PRAGMA synchronous={_NORMAL}")
    try:
        yield
    finally:
        if is_wal:
            with connection.wrap_database_errors:
                execute(f"PRAGMA synchronous={level}")


def patiently(transaction: Callable[[], _T]) -> _T:
    """Run a transaction whose first write is marked; while that gets no turn, try again.

    Raises the database's own error when the patience is used up.
    """
    deadline = time.monotonic() + PATIENCE_SECONDS
    while True:
        try:
            return transaction()
        except NotBegun as not_begun:
            if time.monotonic() > deadline and not_begun.__cause__ is not None:
                raise not_begun.__cause__ from None
            # Apart from one another, or the same writers meet again.
            time.sleep(random.uniform(0.005, 0.05))  # noqa: S311 - not a secret


def write_patiently(write: Callable[[], _T]) -> _T:
    """``patiently`` for one write outside any transaction."""

    def marked() -> _T:
        with first_write():
            return write()

    return patiently(marked)
