"""A handler's transaction is the door's: a handler that ends it by hand is stopped, or found out.

``cursor.execute("COMMIT")`` goes past Django, which believes itself inside ``atomic()`` until the end. What was done
so far would hold without its receipt, and what comes after would hold at once. Statements that pass through Django's
cursors are refused before they run. What goes past those (the driver's own connection, ``executescript`` of
SQLite) is noticed afterwards, when it cannot be undone any more: the call fails, and the log says why.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final

from django.db import DatabaseError, InterfaceError, OperationalError, connection, transaction

# Comments may stand before a statement (possessive: no text makes this slow). ROLLBACK TO goes to a savepoint and
# ends nothing.
_ENDS: Final = re.compile(
    r"(?:\s|;|--[^\n]*+|(?>/\*.*?\*/))*+"
    r"(?:COMMIT|END|ABORT|PREPARE\s+TRANSACTION|ROLLBACK(?!\s+(?:(?:WORK|TRANSACTION)\s+)?TO\b))\b",
    re.IGNORECASE | re.DOTALL,
)
_NO_SAVEPOINT: Final = "3B001"


class EndedByHand(RuntimeError):
    """The handler tried to end the transaction in which it runs."""


class Torn(RuntimeError):
    """The handler did end its transaction: a part of its work may hold."""


@contextmanager
def undivided(name: str) -> Iterator[None]:
    """For the block: raise EndedByHand for a statement that would end the transaction. ``name`` is the action's."""

    def refuse(execute: Callable[..., Any], sql: Any, params: Any, many: bool, context: Any) -> Any:
        if isinstance(sql, str) and _ENDS.match(sql):
            raise EndedByHand(
                f"{name} ran {sql.strip()[:40]!r}: a handler cannot end its transaction. What it does commits together "
                "with its receipt and its kept answer; leave the statement out."
            )
        return execute(sql, params, many, context)

    with connection.execute_wrapper(refuse):
        yield


@contextmanager
def inner(name: str) -> Iterator[None]:
    """A savepoint for the block. Raises Torn when the transaction that it belonged to is gone at its end."""
    try:
        with transaction.atomic():
            yield
    except OperationalError as error:
        if not _is_savepoint_lost(error):
            raise
        raise _torn(name) from error
    except (DatabaseError, InterfaceError):
        raise
    except Exception as error:
        # Set by Django when it could not go back to the savepoint.
        if not transaction.get_rollback():
            raise
        raise _torn(name) from error


def _torn(name: str) -> Torn:
    return Torn(
        f"{name} ended its transaction by hand, past Django's cursors. What it had done until then, charges too, or "
        "has done since, may hold without a receipt: compare the mandates with the receipts."
    )


def _is_savepoint_lost(error: OperationalError) -> bool:
    cause = error.__cause__
    return getattr(cause, "sqlstate", None) == _NO_SAVEPOINT or str(cause).startswith("no such savepoint")
