"""What each field of DRF takes, exactly; drf-spectacular says of several more or less than they accept.

A field's own class decides. A subclass is taken as what it inherits from, which holds for one that only adds to
the check. A class that reads something else says so with ``@extend_schema_field`` of drf-spectacular.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from django.core import validators
from rest_framework import serializers
from rest_framework.fields import _UnvalidatedField

from agentweb.catalog.drf.choices import choice_schema, related_schema
from agentweb.catalog.drf.moments import moment_schema
from agentweb.catalog.drf.numbers import number_schema
from agentweb.catalog.drf.texts import text_schema
from agentweb.catalog.schema_shapes import MAX_ROWS
from agentweb.catalog.type_schemas import SourceError

Field = serializers.Field[Any, Any, Any, Any]
Schema = dict[str, Any]

_ANYTHING: Final = ["object", "array", "string", "number", "boolean"]


def field_schema(field: Field, of: Callable[[Field], Schema]) -> Schema | None:
    """The schema of a field that is neither overwritten nor a serializer, without its words and without null.

    ``of`` gives the whole schema of a field inside it. None for a class that DRF itself does not have. Raises
    SourceError for what JSON cannot carry.
    """
    match field:
        case serializers.FileField():
            raise SourceError("it is a file, which the JSON of a call cannot carry")
        case serializers.ManyRelatedField():
            return _many_related(field)
        case serializers.PrimaryKeyRelatedField() if field.pk_field is not None:
            return of(field.pk_field)
        case serializers.RelatedField():
            return related_schema(field)
        case serializers.ChoiceField():
            return choice_schema(field)
        case serializers.UUIDField():
            return {"type": "string", "format": "uuid"}
        case serializers.CharField():
            schema = text_schema(field)
            if is_secret(field):
                # What it is for counts more than what it looks like; the serializer checks that all the same.
                schema.setdefault("format", "password")
            return schema
        case serializers.IntegerField() | serializers.FloatField() | serializers.DecimalField():
            return number_schema(field)
        case serializers.BooleanField():
            return {"type": "boolean"}
        case (
            serializers.DateField()
            | serializers.DateTimeField()
            | serializers.TimeField()
            | serializers.DurationField()
        ):
            return moment_schema(field)
        case serializers.ListField():
            return _sized({"type": "array", **_inside("items", field, of)}, field, "Items")
        case serializers.DictField():
            return _sized(
                {"type": "object", **_inside("additionalProperties", field, of)}, field, "Properties"
            )
        case serializers.JSONField():
            if field.binary:
                return {"type": "string", "contentMediaType": "application/json"}
            return {} if field.allow_null else {"type": list(_ANYTHING)}
        case _UnvalidatedField():
            return {}
    return None


def is_secret(field: Field) -> bool:
    """Whether a person types it unseen."""
    return field.style.get("input_type") == "password"


def _inside(word: str, field: Any, of: Callable[[Field], Schema]) -> Schema:
    child = of(field.child)
    return {word: child} if child else {}


def _many_related(field: serializers.ManyRelatedField) -> Schema:
    child = related_schema(field.child_relation)
    relation: Any = field.child_relation
    if isinstance(relation, serializers.PrimaryKeyRelatedField) and relation.pk_field is not None:
        child = field_schema(relation.pk_field, lambda each: field_schema(each, lambda _: {}) or {})
    items = {"items": child} if child else {}
    sizes = {"uniqueItems": True, "maxItems": MAX_ROWS, **({} if field.allow_empty else {"minItems": 1})}
    return {"type": "array", **items, **sizes}


def sized_list(schema: Schema, field: Any) -> Schema:
    """The array of a serializer with ``many=True``, with its lengths."""
    least = max(field.min_length or 0, 0 if field.allow_empty else 1)
    if least:
        schema["minItems"] = least
    if field.max_length is not None:
        schema["maxItems"] = field.max_length
    return schema


def _sized(schema: Schema, field: Any, what: str) -> Schema:
    """``minItems`` and ``maxItems``, or the same of properties."""
    least, most = (0 if field.allow_empty else 1), None
    for validator in field.validators:
        match validator:
            case validators.MinLengthValidator(limit_value=int(limit)):
                least = max(least, limit)
            case validators.MaxLengthValidator(limit_value=int(limit)):
                most = limit if most is None else min(most, limit)
    if least:
        schema[f"min{what}"] = least
    if most is not None:
        schema[f"max{what}"] = most
    return schema
