"""What each field of DRF gives out, where drf-spectacular says otherwise.

An answer is what the row holds, which may be older than the rules for new input: so types, choices and sure formats
are said, and no bounds, lengths or patterns.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.conf import settings
from rest_framework import ISO_8601, serializers
from rest_framework.settings import api_settings

from agentweb.catalog.drf.choices import choice_schema

Field = serializers.Field[Any, Any, Any, Any]
Schema = dict[str, Any]


def field_schema(field: Field, of: Callable[[Field], Schema]) -> Schema | None:
    """The schema of a field that is neither overwritten nor a serializer, without its words and without null.

    None leaves it to drf-spectacular.
    """
    match field:
        case serializers.ManyRelatedField():
            return {"type": "array", "items": of(field.child_relation)}
        case serializers.FilePathField():
            return {"type": "string"}
        case serializers.MultipleChoiceField():
            return {"type": "array", "items": choice_schema(field)["items"]}
        case serializers.ChoiceField():
            return choice_schema(field)
        case serializers.IntegerField() if _is_written_as_text(field):
            return {"type": "string"}
        case serializers.IntegerField():
            return {"type": "integer"}
        case serializers.FloatField():
            return {"type": "number"}
        case serializers.DecimalField():
            as_text = getattr(field, "coerce_to_string", api_settings.COERCE_DECIMAL_TO_STRING)
            return {"type": "string" if as_text else "number"}
        case serializers.DateTimeField():
            return _moment(field, api_settings.DATETIME_FORMAT, "date-time" if settings.USE_TZ else None)
        case serializers.DateField():
            return _moment(field, api_settings.DATE_FORMAT, "date")
        case serializers.UUIDField() if field.uuid_format != "hex_verbose":
            return {"type": "integer" if field.uuid_format == "int" else "string"}
        case serializers.UUIDField():
            return {"type": "string", "format": "uuid"}
        case serializers.HyperlinkedRelatedField():
            return {"type": "string"}
        case serializers.ReadOnlyField() if not hasattr(getattr(field.parent, "Meta", None), "model"):
            return {}
        case serializers.CharField() | serializers.TimeField() | serializers.DurationField():
            return {"type": "string"}
        case serializers.ListField():
            return {"type": "array", "items": of(field.child)}
        case serializers.DictField():
            return {"type": "object", "additionalProperties": of(field.child)}
        case serializers.JSONField():
            return {}
        case serializers.FileField():
            return {"type": ["string", "null"]}
    return None


def _is_written_as_text(field: Any) -> bool:
    """Whether this is a BigIntegerField, which DRF has since 3.17, that gives texts."""
    kind = getattr(serializers, "BigIntegerField", None)
    if kind is None or not isinstance(field, kind):
        return False
    return bool(getattr(field, "coerce_to_string", api_settings.COERCE_BIGINT_TO_STRING))


def _moment(field: Any, default: str | None, form: str | None) -> Schema:
    written = getattr(field, "format", default)
    is_iso = written is None or written.lower() == ISO_8601
    return {"type": "string", **({"format": form} if is_iso and form is not None else {})}
