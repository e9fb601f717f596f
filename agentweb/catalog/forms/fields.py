"""One form field as JSON Schema 2020-12."""

from __future__ import annotations

import html
from collections.abc import Iterable
from typing import Any, Final

from django import forms
from django.core.validators import EMPTY_VALUES
from django.forms.utils import pretty_name
from django.utils.html import strip_tags

from agentweb.catalog.forms.choices import choice_schema, key_legend, legend
from agentweb.catalog.forms.numbers import number_schema
from agentweb.catalog.forms.texts import moment_schema, text_schema
from agentweb.catalog.schema_sources import SourceError

_MAX_DESCRIPTION: Final = 1_000
_NOTHING: Final = [value for value in EMPTY_VALUES if value != ()]


def is_file(field: forms.Field) -> bool:
    """Whether the value is a file, or the path of one on the server: nothing that an agent can send as JSON."""
    return isinstance(field, (forms.FileField, forms.FilePathField))


def is_secret(field: forms.Field) -> bool:
    """Whether a person types it unseen."""
    return isinstance(field.widget, forms.PasswordInput)


def field_schema(name: str, field: forms.Field, more: Iterable[Any] = ()) -> dict[str, Any]:
    """The schema of what a field takes, with its words. ``more`` are validators of the model's field.

    Raises SourceError for what JSON cannot carry. Makes no query.
    """
    words: dict[str, Any] = {}
    label = _said(field.label)
    if label and label != pretty_name(name):
        words["title"] = label
    parts = [_said(field.help_text), legend(field), key_legend(field)]
    description = " ".join(part for part in parts if part)
    if description:
        words["description"] = description[:_MAX_DESCRIPTION]
    schema = _asserted(field, tuple(more))
    if is_secret(field):
        schema.setdefault("format", "password")
        schema["writeOnly"] = True
    return {**schema, **words}


def _asserted(field: forms.Field, more: tuple[Any, ...] = ()) -> dict[str, Any]:
    if is_file(field):
        raise SourceError("it takes a file, which cannot travel in JSON")
    found = number_schema(field, more) or choice_schema(field) or moment_schema(field)
    if found is not None:
        return found
    match field:
        case forms.NullBooleanField():
            return {"type": ["boolean", "null"]}
        case forms.BooleanField():
            # A box that has to be ticked: Django's meaning of a required BooleanField.
            return {"type": "boolean", "const": True} if field.required else {"type": "boolean"}
        case forms.JSONField():
            return {"not": {"enum": list(_NOTHING)}} if field.required else {}
        case forms.ComboField():
            return _all_of(field)
        case forms.MultiValueField():
            return _parts(field)
    return text_schema(field, more)


def _all_of(field: forms.ComboField) -> dict[str, Any]:
    """A text that every field takes; of fields that take no text, the form knows more."""
    parts = [_asserted(each) for each in field.fields if not is_file(each)]
    texts = [part for part in parts if part.get("type") == "string" and part != {"type": "string"}]
    schema = text_schema(field)
    return {**schema, "allOf": [*schema.get("allOf", ()), *texts]} if texts else schema


def _parts(field: forms.MultiValueField) -> dict[str, Any]:
    """The values of its fields, in their order; null for one that is left empty."""
    items: list[dict[str, Any]] = []
    least = 0
    for position, each in enumerate(field.fields, start=1):
        is_wanted = field.required if field.require_all_fields else each.required
        schema = _asserted(each)
        if is_wanted:
            least = position
            if schema.get("type") == "string" and "format" not in schema:
                schema.setdefault("minLength", 1)
        else:
            schema = {"anyOf": [schema, {"type": "null"}]}
        items.append(schema)
    limits = {"minItems": least} if least else {}
    return {"type": "array", "prefixItems": items, "items": False, **limits}


def _said(text: Any) -> str:
    """A label or a help text without its HTML, in one line; a lazy translation in the site's language."""
    return " ".join(html.unescape(strip_tags(str(text))).split()) if text else ""
