"""An input as the data of a serializer: what DRF's own parser would have read of the same JSON.

A number with a fraction is a float there, so a JSONField can store it and a FloatField has its kind. Only where a
DecimalField reads it, as number or text, it stays the decimal that was sent, to the last digit.
"""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Any, Final

from rest_framework import serializers

from agentweb.wire.strict_json import Json

_DECIMAL: Final = re.compile(r"-?[0-9]{1,40}(?:\.[0-9]{1,40})?")


def as_data(field: Any, value: Json) -> Any:
    """A copy of ``value`` as ``field`` (a serializer, or a field in it) reads it."""
    match field:
        case serializers.DecimalField() if isinstance(value, (int, float, Decimal)) and not isinstance(
            value, bool
        ):
            return _decimal(value, field.decimal_places)
        case serializers.DecimalField() if isinstance(value, str) and _DECIMAL.fullmatch(value):
            return _decimal(Decimal(value), field.decimal_places)
        case serializers.ListSerializer() | serializers.ListField() if isinstance(value, list):
            return [as_data(field.child, item) for item in value]
        case serializers.DictField() if isinstance(value, dict):
            return {name: as_data(field.child, member) for name, member in value.items()}
        case serializers.Serializer() if isinstance(value, dict):
            return {name: as_data(field.fields.get(name), member) for name, member in value.items()}
    return _plain(value)


def _plain(value: Json) -> Any:
    if isinstance(value, Decimal):
        whole = int(value)
        return whole if value == whole else float(value)
    if isinstance(value, dict):
        return {name: _plain(member) for name, member in value.items()}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return value


def _decimal(value: int | float | Decimal, places: int | None) -> Decimal:
    """Without the zeros at its end, which a JSON number does not mean and DRF counts as decimal places.

    Nothing has no digits before the point, but DRF counts that of ``0``; of ``0.00`` it does not.
    """
    number = Decimal(repr(value)) if isinstance(value, float) else Decimal(value)
    if not number:
        return Decimal(0).scaleb(-(places or 0))
    whole = int(number)
    # Not by normalize(), which rounds to the context's digits.
    return Decimal(whole) if number == whole else Decimal(format(number, "f").rstrip("0"))
