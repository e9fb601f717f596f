"""Form fields whose value is a number: their bounds, steps and digits in JSON Schema."""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal, InvalidOperation
from typing import Any

from django import forms
from django.core import validators


def number_schema(field: forms.Field, more: Iterable[Any] = ()) -> dict[str, Any] | None:
    """The schema of an IntegerField, FloatField or DecimalField; None for another field.

    ``more`` are validators of the model's field. A limit that is a function is left to the form.
    """
    if not isinstance(field, forms.IntegerField):  # FloatField and DecimalField are kinds of it
        return None
    is_whole = not isinstance(field, (forms.FloatField, forms.DecimalField))
    least: list[Decimal] = []
    most: list[Decimal] = []
    steps: list[Decimal] = []
    for validator in (*field.validators, *more):
        match validator:
            case validators.MinValueValidator():
                least += _exact(validator.limit_value)
            case validators.MaxValueValidator():
                most += _exact(validator.limit_value)
            case validators.StepValueValidator():
                steps += _step(validator)
            case validators.DecimalValidator():
                _add_digits(validator, least, most, steps)
    schema: dict[str, Any] = {"type": "integer" if is_whole else "number"}
    if least:
        schema["minimum"] = _plain(max(least))
    if most:
        schema["maximum"] = _plain(min(most))
    steps = [step for step in dict.fromkeys(steps) if not (is_whole and step == 1)]
    if len(steps) == 1:
        schema["multipleOf"] = _plain(steps[0])
    elif steps:
        schema["allOf"] = [{"multipleOf": _plain(step)} for step in steps]
    return schema


def _exact(limit: Any) -> list[Decimal]:
    if callable(limit):
        return []
    try:
        number = Decimal(str(limit))
    except InvalidOperation:
        return []
    return [number] if number.is_finite() else []


def _step(validator: validators.StepValueValidator) -> list[Decimal]:
    """The step, when it begins at a multiple of itself; JSON Schema knows no other beginning."""
    found = _exact(validator.limit_value)
    offset = _exact(validator.offset or 0)
    return found if found and found[0] > 0 and offset and offset[0] % found[0] == 0 else []


def _add_digits(
    validator: validators.DecimalValidator, least: list[Decimal], most: list[Decimal], steps: list[Decimal]
) -> None:
    places, digits = validator.decimal_places, validator.max_digits
    if places is not None:
        steps.append(Decimal(1).scaleb(-places))
    if digits is not None:
        # All nines: the number of digits alone is none of JSON Schema's words.
        edge = Decimal(f"0{'9' * (digits - (places or 0))}.{'9' * (places or 0)}")
        least.append(edge.copy_negate())
        most.append(edge)


def _plain(number: Decimal) -> int | Decimal:
    whole = int(number)
    if number == whole:
        return whole
    # Not by normalize(), which rounds to the context's digits.
    return Decimal(format(number, "f").rstrip("0"))
