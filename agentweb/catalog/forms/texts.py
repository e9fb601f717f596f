"""Form fields whose value is a text: what JSON Schema says of them.

Where the form corrects a text before it looks at it (blanks around it, a web address without its scheme), the
schema asks for the corrected one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, Final

from django import forms
from django.core import validators

from agentweb.catalog.forms.patterns import ecma_pattern
from agentweb.wire.schema.patterns import compile_pattern

_HOST: Final = (
    r"(?:localhost|[0-9]{1,3}(?:\.[0-9]{1,3}){3}"
    r"|(?:[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?\.)+(?:xn--[A-Za-z0-9]{1,59}|[A-Za-z]{2,63}))"
)
_MAILBOX: Final = r'^[^"\[]+@(?:localhost|[^@\[]+\.(?:xn--[A-Za-z0-9]{1,59}|[A-Za-z]{2,63}))$'
_TIME: Final = r"^(?:[01][0-9]|2[0-3]):[0-5][0-9](?::[0-5][0-9](?:\.[0-9]{1,6})?)?$"
_DURATION: Final = (
    r"^[-+]?P(?=[0-9]|T[0-9])(?:[0-9]{1,8}D)?"
    r"(?:T(?=[0-9])(?:[0-9]{1,8}H)?(?:[0-9]{1,8}M)?(?:[0-9]{1,8}(?:\.[0-9]{1,6})?S)?)?$"
)
"""Eight digits: more would not fit into a column."""
_UNICODE_SLUG: Final = r"^[-\p{L}\p{N}_]+$"
NO_YEAR_0: Final = "^(?!0000)"
_LONGEST_MAILBOX: Final = 254
"""By the format; a wider limit says nothing."""


def text_schema(field: forms.Field, more: Iterable[Any] = ()) -> dict[str, Any]:
    """The schema of a CharField and its kinds. ``more`` are validators of the model's field."""
    schema: dict[str, Any] = {"type": "string"}
    patterns: list[str] = []
    match field:
        case forms.UUIDField():
            return {"type": "string", "format": "uuid"}
        case forms.GenericIPAddressField():
            return _address_schema(field)
        case forms.EmailField():
            schema["format"] = "email"
            patterns.append(_MAILBOX)
        case forms.URLField():
            schema["format"] = "uri"
            patterns.append(_url_pattern(field))
        case forms.SlugField(allow_unicode=True):
            patterns.append(_UNICODE_SLUG)
    least, most = 0, None
    for validator in (*field.validators, *more):
        match validator:
            case validators.MinLengthValidator(limit_value=int(limit)):
                least = max(least, limit)
            case validators.MaxLengthValidator(limit_value=int(limit)):
                most = limit if most is None else min(most, limit)
            case validators.URLValidator() | validators.EmailValidator():
                continue  # said by the format; of a plain CharField, the form says it
            case validators.RegexValidator(inverse_match=False, regex=re.Pattern() as regex):
                found = None if _is_unicode_slug(field, regex) else ecma_pattern(regex)
                if found is not None:
                    patterns.append(found)
    if field.required:
        least = max(least, 1)
    is_free = "format" not in schema
    if least and is_free:
        schema["minLength"] = least
    if most is not None and not (schema.get("format") == "email" and most >= _LONGEST_MAILBOX):
        schema["maxLength"] = most
    if least and is_free and getattr(field, "strip", False) and not any(map(_refuses_blanks, patterns)):
        patterns.append(_not_blank(least))
    return _with_patterns(schema, list(dict.fromkeys(patterns)))


def _is_unicode_slug(field: forms.Field, regex: Any) -> bool:
    return isinstance(field, forms.SlugField) and field.allow_unicode and regex.pattern == r"^[-\w]+\Z"


def _refuses_blanks(pattern: str) -> bool:
    """Whether a pattern takes no text with blanks around it, so that nothing is lost when they are taken away."""
    return not any(compile_pattern(pattern).matches(text) for text in ("  ", " a ", " 0 ", "-  "))


def _not_blank(least: int) -> str:
    """A pattern for a text that has ``least`` characters still when the blanks around it are taken away."""
    return r"\S" if least == 1 else rf"\S[\s\S]{{{least - 2},}}\S"


def _with_patterns(schema: dict[str, Any], patterns: list[str]) -> dict[str, Any]:
    if len(patterns) == 1:
        schema["pattern"] = patterns[0]
    elif patterns:
        schema["allOf"] = [{"pattern": pattern} for pattern in patterns]
    return schema


def _url_pattern(field: forms.URLField) -> str:
    schemes: list[str] = ["http", "https", "ftp", "ftps"]
    for validator in field.validators:
        if isinstance(validator, validators.URLValidator):
            schemes = list(validator.schemes)
    listed = "|".join(re.escape(scheme).replace(r"\-", "-") for scheme in schemes)
    return rf"^(?:{listed})://{_HOST}(?::[0-9]{{1,5}})?(?:[/?#]\S*)?$"


def _address_schema(field: forms.GenericIPAddressField) -> dict[str, Any]:
    checks = set(field.default_validators)
    if validators.validate_ipv4_address in checks:
        return {"type": "string", "format": "ipv4"}
    longest = {"maxLength": field.max_length} if field.max_length is not None else {}
    if validators.validate_ipv6_address in checks:
        return {"type": "string", "format": "ipv6", **longest}
    return {"type": "string", "anyOf": [{"format": "ipv4"}, {"format": "ipv6"}], **longest}


def moment_schema(field: forms.Field) -> dict[str, Any] | None:
    """The schema of a date, a time or a duration, in ISO 8601 whatever the site's own formats are; else None."""
    match field:
        case forms.DateTimeField() | forms.SplitDateTimeField():
            return {"type": "string", "format": "date-time", "pattern": NO_YEAR_0}
        case forms.DateField():
            return {"type": "string", "format": "date", "pattern": NO_YEAR_0}
        case forms.TimeField():
            return {"type": "string", "pattern": _TIME, "examples": ["09:30"]}
        case forms.DurationField():
            return {"type": "string", "format": "duration", "pattern": _DURATION, "examples": ["P1DT2H"]}
    return None
