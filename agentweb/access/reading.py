"""Rows that are read with every call, by statements that the ORM composed once.

Composing one anew costs many times what running it does, and its text depends on the model and a small number only.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, Generic, TypeVar

from django.db import connections
from django.db.models import Model, QuerySet

_M = TypeVar("_M", bound=Model)
_Converter = Callable[[Any, Any, Any], Any]


def by_keys(model: type[_M], keys: Sequence[Any], *, alias: str) -> list[_M]:
    """The rows with these primary keys, in no order, of the database ``alias``; what there is none of is left out."""
    connection = connections[alias]
    sql, maker = _statement(model, alias)
    prepare = model._meta.pk.get_db_prep_value
    with connection.cursor() as cursor:
        cursor.execute(
            f"{sql} IN ({', '.join(['%s'] * len(keys))})", [prepare(key, connection) for key in keys]
        )
        return [maker.make(row) for row in cursor.fetchall()]


class Maker(Generic[_M]):
    """Makes instances of a model, as the ORM does, from what the database gave for all its columns in their order.

    ``compiler`` is the statement's, already compiled; the columns are the last that it selects.
    """

    def __init__(self, model: type[_M], compiler: Any, alias: str) -> None:
        self._model = model
        self._alias = alias
        self._names = [str(field.attname) for field in model._meta.concrete_fields]
        columns = [selected for selected, _, _ in compiler.select][-len(self._names) :]
        # What a value goes through, by its place, with the expression that the converters want to see.
        self._converters: list[tuple[int, Any, list[_Converter]]] = [
            (at, expression, list(found))
            for at, (found, expression) in compiler.get_converters(columns).items()
        ]

    def make(self, columns: Sequence[Any]) -> _M:
        values = list(columns)
        connection = connections[self._alias]
        for at, expression, converters in self._converters:
            for convert in converters:
                values[at] = convert(values[at], expression, connection)
        return self._model.from_db(self._alias, self._names, values)


@cache
def _statement(model: type[_M], alias: str) -> tuple[str, Maker[_M]]:
    # Without a manager: one may leave rows out, today these and tomorrow others.
    compiler = QuerySet(model, using=alias).order_by().query.get_compiler(using=alias)
    sql, _ = compiler.as_sql()
    key, _ = compiler.compile(model._meta.pk.get_col(model._meta.db_table))
    return f"{sql} WHERE {key}", Maker(model, compiler, alias)
