"""Serializer fields whose value is a text: what JSON Schema says of them.

DRF takes white space off both ends of a text before it looks at it. The schema says what must be left then; only
``maxLength``, formats and patterns look at the text as it was sent.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, Final

from django.core import validators
from rest_framework import serializers

from agentweb.catalog.forms.patterns import ecma_pattern
from agentweb.wire.schema.patterns import compile_pattern

_MAILBOX: Final = r'^[^"\[]+@(?:localhost|[^@\[]+\.(?:[A-Za-z]{2,63}|[Xx][Nn]--[A-Za-z0-9]{1,59}))$'
_LONGEST_MAILBOX: Final = 254
"""By the format; a wider limit says nothing."""

_BYTE: Final = r"(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)"
_HOST: Final = (
    rf"(?:localhost|(?:{_BYTE}\.){{3}}{_BYTE}|(?:(?!-)[A-Za-z\d-]{{1,63}}(?<!-)\.)+[A-Za-z]{{2,63}})"
)
"""Without user and password, and within the 200 characters that a pattern of another site may have."""
_LONGEST_URL: Final = 2_048
_LONGEST_IPV6: Final = 39

_BLANKS: Final = ("", " ", "  ", "\t", "\n")


def text_schema(field: serializers.CharField) -> dict[str, Any]:
    """The schema of a CharField and its kinds, with its length, pattern and format."""
    if isinstance(field, serializers.IPAddressField):
        return _or_blank(_address(field), field)
    schema: dict[str, Any] = {"type": "string"}
    patterns: list[str] = []
    least, most = (0 if field.allow_blank else 1), None
    for validator in field.validators:
        match validator:
            case validators.MinLengthValidator(limit_value=int(limit)):
                least = max(least, limit)
            case validators.MaxLengthValidator(limit_value=int(limit)):
                most = limit if most is None else min(most, limit)
            case validators.URLValidator():
                schema["format"] = "uri"
                patterns.append(_url_pattern(validator.schemes))
                most = _LONGEST_URL if most is None else min(most, _LONGEST_URL)
            case validators.EmailValidator():
                schema["format"] = "email"
                patterns.append(_MAILBOX)
            case validators.RegexValidator(inverse_match=False):
                found = ecma_pattern(re.compile(validator.regex))
                if found is not None:
                    patterns.append(found)
    if most is not None and not (schema.get("format") == "email" and most >= _LONGEST_MAILBOX):
        schema["maxLength"] = most
    if "format" in schema:
        return _or_blank(_with_patterns(schema, patterns), field)
    if field.allow_blank:
        return _blank_or_more(schema, patterns, least, field)
    schema["minLength"] = least
    if field.trim_whitespace and not any(map(_refuses_blanks, patterns)):
        patterns.append(_left_after_trimming(least))
    return _with_patterns(schema, list(dict.fromkeys(patterns)))


def _blank_or_more(
    schema: dict[str, Any], patterns: list[str], least: int, field: serializers.CharField
) -> dict[str, Any]:
    """A blank text is taken without a look at the rules for others."""
    blank = r"^\s*$" if field.trim_whitespace else "^$"
    if least > 1:
        patterns = [
            *patterns,
            _left_after_trimming(least) if field.trim_whitespace else rf"^[\s\S]{{{least},}}$",
        ]
    return _with_patterns(schema, [f"{blank}|{pattern}" for pattern in dict.fromkeys(patterns)])


def _or_blank(schema: dict[str, Any], field: serializers.CharField) -> dict[str, Any]:
    if not field.allow_blank:
        return schema
    rules = {word: value for word, value in schema.items() if word != "type"}
    return {"type": "string", "anyOf": [rules, {"maxLength": 0}]}


def _refuses_blanks(pattern: str) -> bool:
    """Whether a pattern takes no text that is nothing but white space, so that no second one need say so."""
    return not any(compile_pattern(pattern).matches(text) for text in _BLANKS)


def _left_after_trimming(least: int) -> str:
    """A pattern for a text that has ``least`` characters still when the white space around it is taken away."""
    return r"\S" if least == 1 else rf"\S[\s\S]{{{least - 2},}}\S"


def _with_patterns(schema: dict[str, Any], patterns: list[str]) -> dict[str, Any]:
    if patterns:
        schema["pattern"] = patterns[0]
    if patterns[1:]:
        schema["allOf"] = [{"pattern": pattern} for pattern in patterns[1:]]
    return schema


def _url_pattern(schemes: Iterable[str]) -> str:
    listed = "|".join(re.escape(scheme).replace(r"\-", "-") for scheme in schemes)
    if listed == "http|https|ftp|ftps":
        listed = "https?|ftps?"
    return rf"^(?:{listed})://{_HOST}(?::\d{{1,5}})?(?:[/?#]|$)"


def _address(field: serializers.IPAddressField) -> dict[str, Any]:
    version_4 = {"format": "ipv4"}
    version_6 = {"format": "ipv6", "maxLength": _LONGEST_IPV6}
    if field.protocol == "ipv4":
        return {"type": "string", **version_4}
    if field.protocol == "ipv6":
        return {"type": "string", **version_6}
    return {"type": "string", "anyOf": [version_4, version_6]}
