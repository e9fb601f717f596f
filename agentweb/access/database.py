"""What the ORM does not say about the database: whether an INSERT won, and whether a failure will pass.

The database decides (RELIABILITY section 5): unique constraints and row counts, never a look before the write.
"""

from __future__ import annotations

from typing import Final

from django.db import DatabaseError, InterfaceError, OperationalError, connections, models, router
from django.db.models.constants import OnConflict
from django.db.models.sql import InsertQuery

# PostgreSQL: serialization failure, deadlock, lock not available, shutting down, cannot connect now, too many
# connections; class 08 is "connection exception".
_PASSING_SQLSTATES: Final = frozenset({"40001", "40P01", "55P03", "57P01", "57P02", "57P03", "53300"})


def insert_or_ignore(row: models.Model) -> bool:
    """``INSERT … ON CONFLICT DO NOTHING``: True when this call wrote the row, False when another was there first.

    One statement, and it does not poison a surrounding transaction. ``bulk_create(ignore_conflicts=True)``
    writes the same but keeps the verdict to itself.
    """
    model = type(row)
    connection = connections[router.db_for_write(model)]
    fields = [field for field in model._meta.concrete_fields if not isinstance(field, models.AutoField)]
    query = InsertQuery(model, on_conflict=OnConflict.IGNORE)
    query.insert_values(fields, [row])
    [(sql, params)] = query.get_compiler(connection=connection).as_sql()
    with connection.cursor() as cursor:
        cursor.execute(sql, params)
        return bool(cursor.rowcount == 1)


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
