"""Serializer fields whose value is a date, a time or a duration: what JSON Schema says of them.

Where a field reads ISO 8601, that is what the schema asks for, and a moment with its offset, whatever else the
field reads: one way is enough, and it is never ambiguous. A field with formats of its own gets a pattern for them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import timedelta
from typing import Any, Final

from rest_framework import ISO_8601, serializers
from rest_framework.settings import api_settings

_NO_YEAR_0: Final = "^(?!0000)"
_MOMENT: Final = r"^(?!0000).{10}T.{6}(?!60)[^z]*$"
"""Of RFC 3339 without what Python does not read: the year 0, the second 60, small letters."""

_TIME: Final = r"^(?:[01]\d|2[0-3]):[0-5]\d(?::[0-5]\d(?:\.\d{1,6})?)?$"
_DURATION: Final = (
    r"^(?:-?\d{1,8} )?-?(?:(?:\d{1,8}:)?\d{1,8}:)?\d{1,8}(?:\.\d{1,6})?$"
    r"|^[-+]?P(?=\d|T\d)(?:\d{1,8}D)?(?:T(?=\d)(?:\d{1,8}H)?(?:\d{1,8}M)?(?:\d{1,8}(?:\.\d{1,6})?S)?)?$"
)
"""As DRF writes it, or in ISO 8601; eight digits, because more would not fit into a column."""

_DIRECTIVES: Final = {
    "d": r"(?:0?[1-9]|[12]\d|3[01])",
    "m": r"(?:0?[1-9]|1[0-2])",
    "Y": r"(?!0000)\d{4}",
    "y": r"\d{2}",
    "H": r"(?:[01]?\d|2[0-3])",
    "I": r"(?:0?[1-9]|1[0-2])",
    "M": r"[0-5]?\d",
    "S": r"[0-5]?\d",
    "f": r"\d{1,6}",
    "p": r"[AaPp][Mm]",
    "b": r"(?:[Jj]an|[Ff]eb|[Mm]ar|[Aa]pr|[Mm]ay|[Jj]un|[Jj]ul|[Aa]ug|[Ss]ep|[Oo]ct|[Nn]ov|[Dd]ec)",
    "z": r"(?:Z|[-+](?:[01]\d|2[0-3]):?[0-5]\d)",
    "%": "%",
}
_PIECE: Final = re.compile(r"%(.)|(\s+)|([^%\s]+)", re.DOTALL)


def moment_schema(field: serializers.Field[Any, Any, Any, Any]) -> dict[str, Any]:
    """The schema of a DateField, DateTimeField, TimeField or DurationField."""
    match field:
        case serializers.DateTimeField():
            iso: dict[str, Any] = {"format": "date-time", "pattern": _MOMENT}
            return _read_by(_formats(field, api_settings.DATETIME_INPUT_FORMATS), iso)
        case serializers.DateField():
            iso = {"format": "date", "pattern": _NO_YEAR_0}
            return _read_by(_formats(field, api_settings.DATE_INPUT_FORMATS), iso)
        case serializers.TimeField():
            iso = {"pattern": _TIME, "examples": ["09:30"]}
            return _read_by(_formats(field, api_settings.TIME_INPUT_FORMATS), iso)
        case serializers.DurationField():
            limits = _limits_said(field.min_value, field.max_value)
            return {"type": "string", **limits, "pattern": _DURATION, "examples": ["P1DT2H"]}
    raise TypeError(type(field).__name__)


def _formats(field: Any, default: Iterable[str]) -> list[str]:
    return list(getattr(field, "input_formats", default))


def _read_by(formats: list[str], iso: dict[str, Any]) -> dict[str, Any]:
    if any(each.lower() == ISO_8601 for each in formats):
        return {"type": "string", **iso}
    patterns = [_pattern_of(each) for each in formats]
    schema: dict[str, Any] = {"type": "string", "description": f"Written as {' or '.join(formats)}."}
    known = [pattern for pattern in patterns if pattern is not None]
    if known and len(known) == len(patterns):
        schema["pattern"] = "|".join(f"^{pattern}$" for pattern in known)
    return schema


def _pattern_of(form: str) -> str | None:
    """A pattern for what ``strptime`` reads by this format; None when it depends on the site's language."""
    parts: list[str] = []
    for directive, blanks, text in _PIECE.findall(form):
        if directive and directive not in _DIRECTIVES:
            return None
        parts.append(_DIRECTIVES[directive] if directive else r"\s+" if blanks else _escaped(text))
    return "".join(parts)


def _escaped(text: str) -> str:
    return re.sub(r"([.*+?^${}()|\[\]\\/])", r"\\\1", text)


def _limits_said(least: timedelta | None, most: timedelta | None) -> dict[str, str]:
    """JSON Schema cannot compare durations, so people's words have to do."""
    said = [
        f"{word} {limit}" for word, limit in (("at least", least), ("at most", most)) if limit is not None
    ]
    return {"description": f"{' and '.join(said)}.".capitalize()} if said else {}
