"""Whether a failure of the database will pass by itself, so that the same call may be repeated."""

from __future__ import annotations

from typing import Final

from django.db import DatabaseError, InterfaceError, OperationalError

# PostgreSQL: serialization failure, deadlock, lock not available, shutting down, cannot connect now, too many
# connections; class 08 is "connection exception".
_PASSING_SQLSTATES: Final = frozenset({"40001", "40P01", "55P03", "57P01", "57P02", "57P03", "53300"})


def is_passing(error: DatabaseError | InterfaceError) -> bool:
    """Whether the same call may succeed in a moment: a lock, a deadlock, a lost or refused connection."""
    if isinstance(error, InterfaceError):
        return True
    if not isinstance(error, OperationalError):
        return False
    cause = error.__cause__
    name = getattr(cause, "sqlite_errorname", None)
    if name is not None:
        return str(name).startswith(("SQLITE_BUSY", "SQLITE_LOCKED"))
    state = getattr(cause, "sqlstate", None)
    return state is None or state in _PASSING_SQLSTATES or str(state).startswith("08")
