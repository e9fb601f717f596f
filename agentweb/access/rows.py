"""How rows of authority are written: the verdict is a row count, and a failing store is a refusal."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from django.db import DEFAULT_DB_ALIAS, connections, router
from django.db import Error as DatabaseFailure
from django.db.models import AutoField, Model, QuerySet

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
    if not rows:
        return 0
    model = type(rows[0])
    connection = connections[router.db_for_write(model) or DEFAULT_DB_ALIAS]
    fields = [field for field in model._meta.concrete_fields if not isinstance(field, AutoField)]
    quote = connection.ops.quote_name
    columns = ", ".join(quote(str(field.column)) for field in fields)
    one = f"({', '.join(['%s'] * len(fields))})"
    values = [
        field.get_db_prep_save(field.pre_save(row, True), connection=connection)
        for row in rows
        for field in fields
    ]
    with connection.cursor() as cursor:
        cursor.execute(
            # Names come from the models, values are parameters. DO NOTHING is one text for both engines;
            # SQLite's OR IGNORE would also swallow a broken CHECK.
            f"INSERT INTO {quote(model._meta.db_table)} ({columns}) "  # noqa: S608
            f"VALUES {', '.join([one] * len(rows))} ON CONFLICT DO NOTHING",
            values,
        )
        return int(cursor.rowcount)


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
