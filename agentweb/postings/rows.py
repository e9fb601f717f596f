"""Writing rows of an index: hundreds at a time, in one order, so that two who write wait for each other and no more."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from django.db import connections, router
from django.db.models import Model

ROWS: Final = 240
"""Keys of one statement."""
_VALUES: Final = 960
"""SQLite takes a thousand."""


def database_of(model: type[Model]) -> str:
    """Alias of the database that the model is written to."""
    return router.db_for_write(model) or "default"


def write_rows(
    model: type[Model], columns: Sequence[str], rows: Sequence[tuple[Any, ...]], ending: str = ""
) -> None:
    """Insert rows; ``ending`` says what becomes of those that are there already."""
    # Written out: hundreds of rows each time, for which the models would cost more than the database does.
    connection = connections[database_of(model)]
    quote = connection.ops.quote_name
    names = ", ".join(quote(column) for column in columns)
    one = f"({', '.join(['%s'] * len(columns))})"
    size = max(1, _VALUES // len(columns))
    with connection.cursor() as cursor:
        for start in range(0, len(rows), size):
            some = rows[start : start + size]
            cursor.execute(
                f"INSERT INTO {quote(model._meta.db_table)} ({names}) VALUES {', '.join([one] * len(some))}{ending}",  # noqa: S608
                [value for row in some for value in row],
            )


def add_counts(model: type[Model], column: str, counts: Mapping[int, int]) -> None:
    """Add to how many have each term, ``column`` of a table with the key ``term``.

    Written last in a transaction and in the order of the terms: nobody waits for whom it keeps waiting.
    """
    quote = connections[database_of(model)].ops.quote_name
    table, name = quote(model._meta.db_table), quote(column)
    write_rows(
        model,
        ("term", column),
        [(term, count) for term, count in sorted(counts.items()) if count],
        f" ON CONFLICT (term) DO UPDATE SET {name} = {table}.{name} + excluded.{name}",
    )
