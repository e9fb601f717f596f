"""Serializer fields that choose: of a list that is written out, or of rows, of which only the key's type is known."""

from __future__ import annotations

from decimal import Decimal
from enum import Enum
from typing import Any, Final

from django.core.exceptions import FieldDoesNotExist
from django.db import models
from rest_framework import serializers

from agentweb.catalog.schema_shapes import MAX_CHOICES

_MAX_LEGEND: Final = 500
"""Characters of all labels together; longer legends are left out."""

_LINK: Final = r"^(?:https?://[A-Za-z0-9._:-]+)?/"


def choice_schema(field: serializers.ChoiceField) -> dict[str, Any]:
    """One of the choices, or a list of them; ``""`` among them when a blank is allowed."""
    values: list[Any] = []
    for value in field.choices:
        plain = _as_json(value)
        if plain is not None and plain not in values:
            values.append(plain)
    if field.allow_blank and "" not in values:
        values.append("")
    one: dict[str, Any] = {**_kinds(values), "enum": values} if values else {"not": {}}
    if len(values) > MAX_CHOICES:
        del one["enum"]
    if not isinstance(field, serializers.MultipleChoiceField):
        return one
    return {"type": "array", "items": one, **({} if field.allow_empty else {"minItems": 1})}


def legend(field: Any) -> str:
    """What the choices mean, when their labels say more than their values: ``1: Low, 2: High.``"""
    if not isinstance(field, serializers.ChoiceField):
        return ""
    pairs = [
        (str(_as_json(value)), str(label))
        for value, label in field.choices.items()
        if value not in {"", None}
    ]
    if all(label.casefold() == value.casefold().replace("_", " ") for value, label in pairs):
        return ""
    text = ", ".join(f"{value}: {label}" for value, label in pairs) + "."
    return text if len(text) <= _MAX_LEGEND else ""


def _as_json(value: Any) -> Any:
    while isinstance(value, Enum):
        value = value.value
    if value is None or isinstance(value, (bool, int, str)):
        return value
    # DRF compares texts, and the text of a decimal keeps zeros that a JSON number does not have.
    is_plain = isinstance(value, float) or (isinstance(value, Decimal) and str(value) == str(float(value)))
    return value if is_plain else str(value)


def _kinds(values: list[Any]) -> dict[str, Any]:
    """``type``, so that a whole number written 1.0 is read as 1."""
    names: dict[Any, str] = {
        str: "string",
        bool: "boolean",
        int: "integer",
        float: "number",
        Decimal: "number",
    }
    kinds = list(dict.fromkeys(names.get(type(value), "string") for value in values))
    return {"type": kinds[0] if len(kinds) == 1 else kinds}


def related_schema(field: serializers.RelatedField[Any, Any, Any]) -> dict[str, Any] | None:
    """The key by which a row is chosen; which rows there are, only the serializer knows. None for others."""
    match field:
        case serializers.PrimaryKeyRelatedField():
            return _key_schema(field, None)
        case serializers.SlugRelatedField():
            return _key_schema(field, field.slug_field)
        case serializers.HyperlinkedRelatedField():
            # Also a path alone, as DRF takes it; brackets, which a broken address may have, are left out.
            return {"type": "string", "format": "uri-reference", "pattern": _LINK}
    return None


def _key_schema(field: serializers.RelatedField[Any, Any, Any], name: str | None) -> dict[str, Any]:
    model = getattr(getattr(field, "queryset", None), "model", None)
    if model is None:
        return {"type": ["integer", "string"]}
    meta: Any = model._meta
    found: Any = meta.pk
    if name is not None and name != "pk":
        try:
            found = meta.get_field(name)
        except FieldDoesNotExist:
            found = None  # a way over several tables, or a property
    described = {"description": f"By {name or meta.pk.name}: {meta.verbose_name}."}
    while getattr(found, "remote_field", None) is not None:
        found = found.target_field
    match found:
        case models.IntegerField():
            return {"type": "integer", **described}
        case models.UUIDField():
            return {"type": "string", "format": "uuid", **described}
    return {"type": "string", "minLength": 1, **described}
