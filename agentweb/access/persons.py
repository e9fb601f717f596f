"""The person behind a caller, read with every call of a session: by one statement that the ORM composed once."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from django.contrib.auth import get_user_model
from django.db import connections
from django.db.models import Manager, Model, QuerySet

if TYPE_CHECKING:
    from django.contrib.auth.models import AbstractBaseUser

_Converter = Callable[[Any, Any, Any], Any]


def find(user_id: Any) -> AbstractBaseUser | None:
    """The user with this primary key as the default manager finds them, active or not; None for none."""
    model = get_user_model()
    manager = model._default_manager
    if not _is_plain(manager):
        found: AbstractBaseUser | None = manager.filter(pk=user_id).first()
        return found
    alias = manager.db
    connection = connections[alias]
    statement = _statement(model, alias)
    with connection.cursor() as cursor:
        cursor.execute(statement.sql, [model._meta.pk.get_db_prep_value(user_id, connection)])
        row = cursor.fetchone()
    if row is None:
        return None
    values = list(row)
    for at, expression, converters in statement.converters:
        for convert in converters:
            values[at] = convert(values[at], expression, connection)
    user: AbstractBaseUser = model.from_db(alias, statement.names, values)
    return user


class _Statement(NamedTuple):
    """``converters``: what the database's values go through, by their places, each with its expression."""

    sql: str
    names: list[str]
    converters: list[tuple[int, Any, list[_Converter]]]


def _is_plain(manager: Any) -> bool:
    """Whether what the manager finds depends on nothing but the table, so that its statement may be kept.

    One of the site's own may look at the current tenant, or at the time.
    """
    return type(manager).get_queryset is Manager.get_queryset and manager._queryset_class is QuerySet


# Composing it costs several times what running it does.
@cache
def _statement(model: type[Model], alias: str) -> _Statement:
    fields = model._meta.concrete_fields
    rows = model._default_manager.using(alias).order_by()
    compiler = rows.query.get_compiler(using=alias)
    sql, _ = compiler.as_sql()
    key = compiler.compile(model._meta.pk.get_col(model._meta.db_table))[0]
    converters = [
        (at, expression, list(found))
        for at, (found, expression) in compiler.get_converters(
            [selected for selected, _, _ in compiler.select]
        ).items()
    ]
    return _Statement(f"{sql} WHERE {key} = %s", [str(field.attname) for field in fields], converters)
