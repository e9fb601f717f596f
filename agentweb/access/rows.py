"""How rows of authority are written: the verdict is a row count, and a failing store is a refusal."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Any

from django.db import DEFAULT_DB_ALIAS, connections, router
from django.db import Error as DatabaseFailure
from django.db.models import AutoField, CharField, Model, QuerySet, TextField

from agentweb.access.models import Nonce
from agentweb.wire.errors import Code, ServerError

logger = logging.getLogger("agentweb.access")


def database() -> str:
    """Alias of the database that holds the rows of authority."""
    return router.db_for_write(Nonce) or DEFAULT_DB_ALIAS


def insert_if_absent(rows: Sequence[Model]) -> int:
    """Insert rows of one model in one statement, leaving out those that collide; how many were new.

    Works inside a transaction (nothing is raised that would break it) and waits for a concurrent insert of
    the same row, so of two racing callers exactly one is told that its row was new. ``bulk_create`` with
    ``ignore_conflicts`` gives no such verdict.
    """
    # One text for both engines; SQLite's OR IGNORE would also swallow a broken CHECK.
    return _insert(rows, " ON CONFLICT DO NOTHING") if rows else 0


def insert(rows: Sequence[Model]) -> None:
    """Insert rows of one model in one statement; they learn no key, and no signal tells of them."""
    if rows:
        _insert(rows, "")


def update(model: type[Model], values: Mapping[str, Any], where: Mapping[str, Any]) -> int:
    """Set columns in the rows whose columns equal ``where``; how many rows there were. No signal tells of it."""
    alias = router.db_for_write(model) or DEFAULT_DB_ALIAS
    connection = connections[alias]
    field: Callable[[str], Any] = model._meta.get_field
    given = [
        field(name).get_db_prep_save(value, connection) for name, value in (*values.items(), *where.items())
    ]
    with connection.cursor() as cursor:
        cursor.execute(_update_text(model, alias, tuple(values), tuple(where)), given)
        return int(cursor.rowcount)


def _insert(rows: Sequence[Model], ending: str) -> int:
    model = type(rows[0])
    alias = router.db_for_write(model) or DEFAULT_DB_ALIAS
    connection = connections[alias]
    fields, head, one = _insert_text(model, alias)
    values = [
        value if is_text and type(value) is str else field.get_db_prep_save(value, connection)
        for row in rows
        for field, is_text in fields
        for value in (field.pre_save(row, True),)
    ]
    with connection.cursor() as cursor:
        cursor.execute(f"{head}{', '.join([one] * len(rows))}{ending}", values)
        return int(cursor.rowcount)


# Written out and kept: for the rows of every call, composing a statement anew costs many times what running it does.
# Names come from the models, values are parameters.
@cache
def _insert_text(model: type[Model], alias: str) -> tuple[list[tuple[Any, bool]], str, str]:
    """The fields, and whether a text needs no preparing for them; the statement's beginning; what stands for a row."""
    quote = connections[alias].ops.quote_name
    fields = [field for field in model._meta.concrete_fields if not isinstance(field, AutoField)]
    columns = ", ".join(quote(str(field.column)) for field in fields)
    one = f"({', '.join(['%s'] * len(fields))})"
    kinds = [(field, type(field) in {CharField, TextField}) for field in fields]
    return kinds, f"INSERT INTO {quote(model._meta.db_table)} ({columns}) VALUES ", one  # noqa: S608


@cache
def _update_text(model: type[Model], alias: str, changed: tuple[str, ...], where: tuple[str, ...]) -> str:
    quote = connections[alias].ops.quote_name

    field: Callable[[str], Any] = model._meta.get_field

    def equal(names: tuple[str, ...]) -> list[str]:
        return [f"{quote(field(name).column)} = %s" for name in names]

    return f"UPDATE {quote(model._meta.db_table)} SET {', '.join(equal(changed))} WHERE {' AND '.join(equal(where))}"  # noqa: S608


def delete_in_batches(rows: QuerySet[Model], size: int = 1_000) -> int:
    """Delete the rows of a query, ``size`` in each statement and transaction; how many were deleted.

    Short transactions keep other writers going (RELIABILITY section 4). The query's condition is looked at
    again by the deleting statement, so a row that was renewed in between stays.
    """
    deleted = 0
    while found := list(rows.values_list("pk", flat=True)[:size]):
        deleted += rows.filter(pk__in=found).delete()[0]
        if len(found) < size:
            break
    return deleted


@contextmanager
def refusing_when_the_store_fails() -> Iterator[None]:
    """Answer 503 ``unavailable`` when the database fails: what cannot be checked is never accepted."""
    try:
        yield
    except DatabaseFailure as failure:
        logger.exception("The database failed while a caller was being checked; the call was refused.")
        raise ServerError(
            Code.UNAVAILABLE,
            "The site cannot check calls at the moment; repeat the call.",
            retry_after=1,
            debug=f"The database failed while the caller was being checked: {failure}",
        ) from failure
