"""What people say of a field: title, description, default."""

from __future__ import annotations

from typing import Any, Final

from rest_framework import serializers
from rest_framework.fields import empty

from agentweb.catalog.declaring import first_paragraph, text_of
from agentweb.catalog.drf.choices import legend
from agentweb.catalog.drf.input_fields import is_secret
from agentweb.catalog.type_scalars import NotJson, as_json
from agentweb.wire.schema import SchemaError, compile_schema

_RELATED: Final = (serializers.RelatedField, serializers.ManyRelatedField, serializers.ModelField)


def described(schema: dict[str, Any], field: Any, *, with_default: bool) -> dict[str, Any]:
    """The schema with the field's label, help text, meaning of its choices and default, where they say something."""
    found: dict[str, Any] = {}
    label, name = text_of(field.label) or "", field.field_name or ""
    if label and label.casefold() != name.replace("_", " ").strip().casefold():
        found["title"] = label
    said = [text_of(field.help_text) or "", legend(field)]
    if any(said):
        found["description"] = " ".join(each for each in said if each)
    if with_default and field.write_only and is_secret(field):
        found["writeOnly"] = True
    result = {**schema, **found}
    if with_default:
        default = _default(schema, field)
        if default is not empty:
            result["default"] = default
    return result


def documented(serializer: type) -> str:
    """The first paragraph of the class's own docstring."""
    return first_paragraph(serializer) if serializer.__dict__.get("__doc__") else ""


def _default(schema: dict[str, Any], field: Any) -> Any:
    """The default, if it is known beforehand, has a JSON form and is one that the field takes; else ``empty``."""
    if isinstance(field, _RELATED) or field.default is empty or callable(field.default):
        return empty
    try:
        value = as_json(field.default)
        fits = "$ref" in schema or compile_schema(schema).is_valid(value)
    except (NotJson, SchemaError):
        return empty
    return value if fits else empty
