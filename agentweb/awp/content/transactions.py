"""The connections of this thread as they were before the site's own code had them.

A view may begin a transaction and never end it. What is written after that would never be there for anybody, and the
next request closes a connection that Django holds to be in the middle of something.
"""

from __future__ import annotations

from contextlib import suppress

from django.db import DatabaseError, connections
from django.db.backends.base.base import BaseDatabaseWrapper

Depths = dict[str, tuple[bool, int]]
"""By connection: whether it was in a transaction, and in how many within that."""


def depths() -> Depths:
    return {each.alias: _depth(each) for each in connections.all(initialized_only=True)}


def leave_as_found(before: Depths) -> bool:
    """Whether every connection is as it was; one that is not is given up, and the next use of it opens another one.

    A connection that was in a transaction before, as in a test, is nobody's to give up: what was begun in it since is
    rolled back.
    """
    is_as_found = True
    for connection in connections.all(initialized_only=True):
        was, now = before.get(connection.alias, (False, 0)), _depth(connection)
        if now == was:
            continue
        is_as_found = False
        if was[0] and connection.in_atomic_block and now[1] > was[1]:
            while len(connection.savepoint_ids) > was[1]:
                sid = connection.savepoint_ids.pop()
                if sid is not None and connection.connection is not None:
                    connection.savepoint_rollback(sid)
                    connection.savepoint_commit(sid)
                connection.atomic_blocks.pop()
            connection.needs_rollback = False
        else:
            _give_up(connection)
    return is_as_found


def _give_up(connection: BaseDatabaseWrapper) -> None:
    # As it is after connecting; else Django would hold on to it until the end of the transaction.
    connection.in_atomic_block, connection.closed_in_transaction = False, False
    connection.savepoint_ids, connection.atomic_blocks, connection.run_on_commit = [], [], []
    connection.needs_rollback, connection.commit_on_exit = False, True
    with suppress(DatabaseError):
        # SQLite's in memory cannot be closed without losing it.
        connection.rollback()
        connection.set_autocommit(connection.settings_dict["AUTOCOMMIT"])
    connection.close()


def _depth(connection: BaseDatabaseWrapper) -> tuple[bool, int]:
    is_by_hand = (
        connection.connection is not None
        and not connection.autocommit
        and bool(connection.settings_dict["AUTOCOMMIT"])
    )
    return connection.in_atomic_block or is_by_hand, len(connection.savepoint_ids)
