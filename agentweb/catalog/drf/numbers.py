"""Serializer fields whose value is a number: their bounds and digits in JSON Schema."""

from __future__ import annotations

from decimal import Decimal, InvalidOperation
from typing import Any, Final

from django.core import validators
from rest_framework import serializers

from agentweb.wire.json_types import MAX_SAFE_INTEGER

_CONTEXT_DIGITS: Final = 28
"""Digits to which a DecimalField without ``max_digits`` can round; DRF fails on longer numbers."""


def number_schema(field: serializers.Field[Any, Any, Any, Any]) -> dict[str, Any]:
    """The schema of an IntegerField, FloatField or DecimalField.

    A DecimalField is a number, or the text that it gives out: only of a number can JSON Schema say the bounds, so of
    a text the serializer checks them. A limit that is a function is left to the serializer.
    """
    schema: dict[str, Any] = {"type": "integer" if isinstance(field, serializers.IntegerField) else "number"}
    least: list[Decimal] = []
    most: list[Decimal] = []
    steps: list[Decimal] = []
    for validator in field.validators:
        match validator:
            case validators.MinValueValidator():
                least += _exact(validator.limit_value)
            case validators.MaxValueValidator():
                most += _exact(validator.limit_value)
            case validators.StepValueValidator(offset=None):
                steps += [step for step in _exact(validator.limit_value) if step > 0]
    if least:
        schema["minimum"] = _plain(max(least))
    if most:
        schema["maximum"] = _plain(min(most))
    if isinstance(field, serializers.DecimalField) and _checks_digits(field):
        _add_digits(field, schema, steps)
    if len(steps) == 1:
        schema["multipleOf"] = _plain(steps[0])
    elif steps:
        schema["allOf"] = [{"multipleOf": _plain(step)} for step in steps]
    if isinstance(field, serializers.DecimalField):
        schema["type"] = ["number", "string"]
        schema["pattern"] = _text_of(field)
    return schema


def _text_of(field: serializers.DecimalField) -> str:
    """A decimal as text, with the digits that the field keeps."""
    places, digits = (field.decimal_places, field.max_digits) if _checks_digits(field) else (None, None)
    if digits is None and places is None:
        whole, digits = _CONTEXT_DIGITS, _CONTEXT_DIGITS
    else:
        whole = (_CONTEXT_DIGITS if digits is None else digits) - (places or 0)
    most = digits if places is None else places
    fraction = rf"(?:\.[0-9]{{1,{most}}})?" if most else ""
    more = rf"(?:0|[1-9][0-9]{{0,{whole - 1}}})" if whole > 1 else "[0-9]" if whole == 1 else "0"
    return f"^-?{more}{fraction}$"


def _checks_digits(field: serializers.DecimalField) -> bool:
    """A class may overwrite this check in order to take more."""
    return type(field).validate_precision is serializers.DecimalField.validate_precision


def _add_digits(field: serializers.DecimalField, schema: dict[str, Any], steps: list[Decimal]) -> None:
    places, digits = field.decimal_places, field.max_digits
    if places is not None:
        steps.append(Decimal(1).scaleb(-places))
    if digits is None and places is None:
        return
    whole = (_CONTEXT_DIGITS if digits is None else digits) - (places or 0)
    edge = Decimal(10) ** max(whole, 0)
    if digits is None:
        # Not a rule of the field but what DRF can bear, so it is never left out; a text may be longer.
        edge = min(edge, Decimal(MAX_SAFE_INTEGER))
    # All nines would be as right; a round number that is not reached is easier to read.
    if "maximum" not in schema or schema["maximum"] >= edge:
        schema.pop("maximum", None)
        schema["exclusiveMaximum"] = _plain(edge)
    if "minimum" not in schema or schema["minimum"] <= -edge:
        schema.pop("minimum", None)
        schema["exclusiveMinimum"] = _plain(-edge)


def _exact(limit: Any) -> list[Decimal]:
    if callable(limit):
        return []
    try:
        number = Decimal(str(limit))
    except InvalidOperation:
        return []
    return [number] if number.is_finite() else []


def _plain(number: Decimal) -> int | Decimal:
    whole = int(number)
    if number == whole:
        return whole
    # Not by normalize(), which rounds to the context's digits.
    return Decimal(format(number, "f").rstrip("0"))
