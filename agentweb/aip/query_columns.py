"""Which columns of a ``values()`` or ``values_list()`` have their value from a secret, under whichever name.

A queryset may call a password what it likes: ``values(h=F("password"))``, ``Concat``, ``Substr``, a subquery or a
relation. So it is the query that is asked: from which fields of which models each of its columns is made.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from functools import lru_cache
from typing import Any, Final

from django import forms
from django.contrib.auth.base_user import AbstractBaseUser
from django.core.exceptions import FieldError
from django.db.models import Exists, Func, QuerySet, When
from django.db.models.expressions import Col, ColPairs, RawSQL
from django.db.models.fields.json import KeyTransform
from django.db.models.lookups import Lookup
from django.db.models.query import ModelIterable
from django.db.models.sql import Query

from agentweb.invoke.redaction import is_sensitive

_WORD: Final = re.compile(r"\w+")


def secret_columns(queryset: QuerySet[Any]) -> list[tuple[str, bool]]:
    """(name, is it made from a secret) of each column in the order of the rows; none where the rows are models."""
    if issubclass(queryset._iterable_class, ModelIterable):
        return []
    return _columns(queryset.query)


def is_secret_field(field: Any) -> bool:
    """Whether what a model's field holds is never shown."""
    return is_sensitive(field.name) or is_secret_by_type(field)


@lru_cache(maxsize=4_096)
def is_secret_by_type(field: Any) -> bool:
    """Whether a field is one for secrets whatever its name is: by its model, its form field, or what it is made of."""
    if field.name == "password" and issubclass(field.model, AbstractBaseUser):
        return True
    # A field of the site's own may have no form field, in whatever way it says so.
    with suppress(Exception):
        if isinstance(field.formfield().widget, forms.PasswordInput):
            return True
    # A foreign key holds what the field holds to which it leads.
    return any(is_secret_field(each) for each in _sources_of(field) if each is not field)


def _sources_of(field: Any) -> Iterator[Any]:
    with suppress(FieldError, AttributeError):
        if field.remote_field is not None:
            yield field.target_field
        yield from getattr(field, "referenced_fields", ())


def _columns(query: Query) -> list[tuple[str, bool]]:
    found = list(_own_columns(query))
    for other in query.combined_queries:
        # A union has its names from the first, and at each place what any of them has there.
        theirs = [is_secret for _name, is_secret in _own_columns(other)]
        if len(theirs) == len(found):
            found = [(name, mine or its) for (name, mine), its in zip(found, theirs, strict=True)]
    return found


def _own_columns(query: Query) -> Iterator[tuple[str, bool]]:
    selected: Any = getattr(query, "selected", None)
    named = dict(zip(query.values_select, query.select, strict=False))
    if selected:
        for name, what in selected.items():
            if isinstance(what, int):
                yield name, _holds_secret(query.select[what])
            elif isinstance(what, str):
                yield name, _holds_secret(query.annotation_select[what])
            else:
                yield name, _holds_secret(what)
        return
    for name, (sql, _params) in query.extra_select.items():
        yield name, _names_secret(sql)
    for name in query.values_select:
        yield name, _holds_secret(named[name])
    for name, expression in query.annotation_select.items():
        yield name, _holds_secret(expression)


def _holds_secret(expression: Any) -> bool:
    """Whether the value is made from one. What is only compared with a secret is true or false.

    What calls itself so (``output_field=BooleanField()``) may still be the secret: only lookups are believed.
    """
    if isinstance(expression, Query):
        return any(is_secret for _name, is_secret in _columns(expression))
    if isinstance(expression, (Exists, Lookup)):
        return False
    if isinstance(expression, Col):
        return is_secret_field(expression.target)
    if isinstance(expression, ColPairs):
        return any(map(is_secret_field, expression.targets))
    if isinstance(expression, When):
        return _holds_secret(expression.result)
    written = (expression.key_name,) if isinstance(expression, KeyTransform) else _sql_of(expression)
    if any(_names_secret(str(text)) for text in written):
        return True
    return any(_holds_secret(source) for source in expression.get_source_expressions() if source is not None)


def _sql_of(expression: Any) -> Iterator[str]:
    if isinstance(expression, RawSQL):
        yield expression.sql
    elif isinstance(expression, Func):
        yield from (
            text for text in (expression.template, *expression.extra.values()) if isinstance(text, str)
        )


def _names_secret(sql: str) -> bool:
    return any(map(is_sensitive, _WORD.findall(sql)))
