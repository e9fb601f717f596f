"""Form fields with choices: written out where they are known without asking anybody, else only their type."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final, cast

from django import forms
from django.db import models
from django.utils.choices import CallableChoiceIterator

from agentweb.catalog.schema_shapes import MAX_CHOICES, MAX_ROWS

_MAX_LEGEND: Final = 500
"""Characters of all labels together; longer legends are left out."""

_TEXT: Final = {"type": "string"}


def choice_schema(field: forms.Field) -> dict[str, Any] | None:
    """The schema of a field with choices; None for another field. Makes no query."""
    match field:
        case forms.ModelMultipleChoiceField():
            return {**_list_of(_key_schema(field), field), "uniqueItems": True, "maxItems": MAX_ROWS}
        case forms.ModelChoiceField():
            return _key_schema(field)
        case forms.MultipleChoiceField():
            return _list_of(_one_of(field), field)
        case forms.ChoiceField():
            return _one_of(field)
    return None


def legend(field: forms.Field) -> str:
    """What the choices mean, when their labels say more than their values: ``1: Low, 2: High.``"""
    if not isinstance(field, forms.ChoiceField) or isinstance(field, forms.ModelChoiceField):
        return ""
    pairs = [(str(value), str(label)) for value, label in _pairs(field)]
    if all(label.casefold() == value.casefold().replace("_", " ") for value, label in pairs):
        return ""
    text = ", ".join(f"{value}: {label}" for value, label in pairs) + "."
    return text if len(text) <= _MAX_LEGEND else ""


def _one_of(field: forms.ChoiceField) -> dict[str, Any]:
    if _is_asked_later(field):
        return {**_TEXT, "minLength": 1} if field.required else dict(_TEXT)
    values = [value for value, _label in _pairs(field)]
    if len(values) > MAX_CHOICES:
        return {**_TEXT, "minLength": 1} if all(isinstance(value, str) for value in values) else {}
    return {"enum": values} if values else {"not": {}}


def _is_asked_later(field: forms.ChoiceField) -> bool:
    """Whether a function gives the choices: it may ask the database, and answer otherwise tomorrow."""
    return isinstance(field.choices, CallableChoiceIterator)


def _pairs(field: forms.ChoiceField) -> list[tuple[Any, Any]]:
    """(value as JSON, label) of every choice, groups opened, without the empty one."""
    if _is_asked_later(field):
        return []
    found = {
        str(value): (_as_json(value), label) for value, label in _opened(cast(Iterable[Any], field.choices))
    }
    found.pop("", None)
    return list(found.values())


def _opened(choices: Iterable[Any]) -> Iterator[tuple[Any, Any]]:
    for value, label in choices:
        if isinstance(label, (list, tuple)):
            yield from _opened(label)
        elif value is not None:
            yield value, label


def _as_json(value: Any) -> Any:
    return value if type(value) in {str, int, bool} else str(value)


def _list_of(item: dict[str, Any], field: forms.Field) -> dict[str, Any]:
    return {"type": "array", "items": item, **({"minItems": 1} if field.required else {})}


def _key_schema(field: forms.ModelChoiceField[Any]) -> dict[str, Any]:
    """The type of the key by which a row is chosen; which rows there are, only the form knows."""
    queryset = field.queryset
    if queryset is None:
        return {"type": ["integer", "string"]}
    model = queryset.model
    name = field.to_field_name
    return key_type(model._meta.get_field(name) if name and name != "pk" else model._meta.pk)


def key_type(found: Any) -> dict[str, Any]:
    """The schema of a model's field that is a key, or of what it refers to."""
    while found.remote_field is not None:
        found = found.target_field
    match found:
        case models.AutoField() | models.IntegerField():
            return {"type": "integer"}
        case models.UUIDField():
            return {"type": "string", "format": "uuid"}
    return {**_TEXT, "minLength": 1}


def key_legend(field: forms.Field) -> str:
    """Which rows are chosen from: ``The id of a product.``; empty for a field that chooses none."""
    if not isinstance(field, forms.ModelChoiceField) or field.queryset is None:
        return ""
    meta = field.queryset.model._meta
    name = field.to_field_name or meta.pk.name
    what = (
        meta.verbose_name_plural if isinstance(field, forms.ModelMultipleChoiceField) else meta.verbose_name
    )
    return f"By {name}: {what}."
