"""A serializer as the source of an action's input, and as the shape of its answer.

The published schema validates first; then the serializer itself, with its validators, its ``validate`` methods and
what it asks the database, has the last word on every call. The site's class is never changed.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from typing import Any

from django.db.models import Manager, QuerySet
from rest_framework import serializers
from rest_framework.utils.serializer_helpers import ReturnDict, ReturnList

from agentweb.catalog.drf.data import as_data
from agentweb.catalog.drf.problems import input_error
from agentweb.catalog.drf.requests import context_of
from agentweb.catalog.drf.serializer_schemas import instance_of, schema_of_serializer
from agentweb.catalog.schema_secrets import without_secrets
from agentweb.catalog.schema_sources import Output, Source
from agentweb.wire.strict_json import Json

Path = tuple[str, ...]


def serializer_source(given: Any) -> Source:
    """The source of a serializer class, or of an instance with ``many=True`` or ``partial=True``.

    The handler gets ``validated_data``; ``ctx.serializer`` is the valid serializer. An invalid one is
    ``invalid_input`` with all its errors. Raises SourceError.
    """
    schema = schema_of_serializer(given)

    def to_python(value: Json, ctx: Any) -> Any:
        serializer = _made(given, data=value, context=context_of(ctx, value))
        serializer.initial_data = as_data(serializer, value)
        if not serializer.is_valid():
            raise without_secrets(input_error(serializer.errors), value, schema)
        if ctx is not None:
            ctx.serializer = serializer
        return serializer.validated_data

    return Source(schema, to_python, floats=frozenset(_floats(instance_of(given), ())))


def serializer_output(given: Any) -> Output:
    """What the handler returns (a row, rows, a dict), as the serializer writes it: its fields and nothing else.

    None stays None. Rows and lists become lists, also when ``given`` is a class. Raises SourceError.
    """
    schema = schema_of_serializer(given, for_output=True)

    def represent(result: Any, ctx: Any) -> Any:
        if result is None:
            return None
        if isinstance(result, (ReturnDict, ReturnList)) and _writes(result.serializer, given):
            # Written by this very serializer, which could not read it again; the handler may have added to it.
            return _readable(result.serializer, result)
        is_many = isinstance(result, (list, tuple, QuerySet, Manager))
        more = {"many": True} if is_many and isinstance(given, type) else {}
        return _made(given, instance=result, context=context_of(ctx), **more).data

    return Output(schema, represent)


def _writes(serializer: Any, given: Any) -> bool:
    return type(getattr(serializer, "child", serializer)) is given


def _readable(field: Any, data: Any) -> Any:
    """The data without members that are no readable fields, at every depth that the fields describe."""
    if isinstance(field, serializers.ListSerializer) and isinstance(data, list):
        return [_readable(field.child, item) for item in data]
    if isinstance(field, serializers.Serializer) and isinstance(data, dict):
        return {
            name: _readable(each, data[name])
            for name, each in field.fields.items()
            if name in data and not each.write_only
        }
    return data


def _made(given: Any, **more: Any) -> Any:
    """A serializer for one call. Like DRF's own copies, one of an instance is made of what that was made of."""
    if isinstance(given, type):
        return given(**more)
    arguments = {
        name: value if name == "validators" else copy.deepcopy(value)
        for name, value in given._kwargs.items()
        if name not in more
    }
    return type(given)(*given._args, **arguments, **more)


def _floats(serializer: Any, path: Path) -> Iterator[Path]:
    """Where the handler gets floats: what has no exact cents and cannot be charged."""
    fields: Mapping[str, Any] = getattr(serializer, "fields", {})
    for name, field in fields.items():
        if isinstance(field, serializers.FloatField):
            yield (*path, name)
        elif isinstance(field, serializers.Serializer) and type(field) is not type(serializer):
            yield from _floats(field, (*path, name))
