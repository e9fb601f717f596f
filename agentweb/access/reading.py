"""Rows by their primary keys, read with every call: by statements that the ORM composed once.

Composing one anew costs many times what running it does, and its text depends on the model and a small number only.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, NamedTuple, TypeVar

from django.db import connections
from django.db.models import Model, QuerySet

_M = TypeVar("_M", bound=Model)
_Converter = Callable[[Any, Any, Any], Any]


def by_keys(model: type[_M], keys: Sequence[Any], *, alias: str) -> list[_M]:
    """The rows with these primary keys, in no order, of the database ``alias``; what there is none of is left out."""
    connection = connections[alias]
    statement = _statement(model, alias)
    prepare = model._meta.pk.get_db_prep_value
    with connection.cursor() as cursor:
        cursor.execute(
            f"{statement.sql} IN ({', '.join(['%s'] * len(keys))})",
            [prepare(key, connection) for key in keys],
        )
        found = cursor.fetchall()
    return [model.from_db(alias, statement.names, _converted(statement, row, connection)) for row in found]


class _Statement(NamedTuple):
    """``converters``: what the database's values go through, by their places, each with its expression."""

    sql: str
    names: list[str]
    converters: list[tuple[int, Any, list[_Converter]]]


@cache
def _statement(model: type[Model], alias: str) -> _Statement:
    # Without a manager: one may leave rows out, today these and tomorrow others.
    compiler = QuerySet(model, using=alias).order_by().query.get_compiler(using=alias)
    sql, _ = compiler.as_sql()
    key, _ = compiler.compile(model._meta.pk.get_col(model._meta.db_table))
    converters = compiler.get_converters([selected for selected, _, _ in compiler.select])
    return _Statement(
        f"{sql} WHERE {key}",
        [str(field.attname) for field in model._meta.concrete_fields],
        [(at, expression, list(found)) for at, (found, expression) in converters.items()],
    )


def _converted(statement: _Statement, row: Sequence[Any], connection: Any) -> list[Any]:
    values = list(row)
    for at, expression, converters in statement.converters:
        for convert in converters:
            values[at] = convert(values[at], expression, connection)
    return values
