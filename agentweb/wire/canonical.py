"""Canonical JSON (RFC 8785), the text under every signature, digest and fingerprint."""

from __future__ import annotations

import hashlib
import json
from decimal import Decimal
from typing import Any, Final

import rfc8785

from agentweb.wire.json_types import MAX_SAFE_INTEGER, Json

try:
    import orjson
except ImportError:  # the extra "fast" is not installed
    orjson = None  # type: ignore[assignment]

_FAST_DEPTH: Final = 100


class CanonicalError(ValueError):
    """The value has no canonical form: not JSON, not Unicode, not a double, or nested too deep."""


def canonicalize(value: Json) -> bytes:
    """The RFC 8785 form of ``value``; a Decimal counts as its nearest double.

    Raises CanonicalError for NaN and infinities, integers beyond ±(2^53-1), lone surrogates, member names
    that are not strings, other types, cycles and excessive depth.
    """
    try:
        if _is_plain(value, _FAST_DEPTH):
            return _dump_plain(value)
        return rfc8785.dumps(_with_doubles(value))
    except RecursionError:
        raise CanonicalError("The value nests too deep for a canonical form, or contains itself.") from None
    except ValueError as error:
        raise CanonicalError(f"The value has no canonical form: {error}.") from None


def digest(value: Json) -> str:
    """``"sha256:"`` and the lower-case hex SHA-256 of the canonical form."""
    return "sha256:" + hashlib.sha256(canonicalize(value)).hexdigest()


def _is_plain(value: Any, depth: int) -> bool:
    """Is a general JSON encoder that sorts by code point certain to write the canonical form?

    With ASCII names, code points sort like UTF-16 (RFC 8785 3.2.3), and the text of a safe integer or of a
    fraction of middling size is the same everywhere (3.2.2.3). Exact types, because an encoder may treat a
    subclass in its own way.
    """
    kind = type(value)
    if kind is str or kind is bool or value is None:
        return True
    if kind is int:
        return bool(-MAX_SAFE_INTEGER <= value <= MAX_SAFE_INTEGER)
    if kind is Decimal:
        double = float(value)
        return _is_plain_fraction(double) or (double.is_integer() and abs(double) <= MAX_SAFE_INTEGER)
    if kind is float:
        return _is_plain_fraction(value)
    if not depth:
        return False
    depth -= 1
    if kind is dict:
        for key, item in value.items():
            if type(key) is not str or not key.isascii():
                return False
            if type(item) is not str and not _is_plain(item, depth):
                return False
        return True
    if kind is list:
        return all(type(item) is str or _is_plain(item, depth) for item in value)
    return False


def _is_plain_fraction(double: float) -> bool:
    # Shorter or longer ones are written with an exponent, by Python from 1e-5 and 1e16, by ECMAScript later.
    return 1e-4 <= abs(double) < 1e16 and not double.is_integer()


def _plain_double(value: Any) -> int | float:
    """The number for a Decimal that ``_is_plain`` let pass; everything else never reaches an encoder's hook."""
    double = float(value)
    return int(double) if double.is_integer() else double


_ENCODER: Final = json.JSONEncoder(
    sort_keys=True,
    separators=(",", ":"),
    ensure_ascii=False,
    allow_nan=False,
    check_circular=False,
    default=_plain_double,
)


def _dump_plain(value: Any) -> bytes:
    if orjson is not None:
        try:
            return orjson.dumps(value, default=_plain_double, option=orjson.OPT_SORT_KEYS)
        except TypeError as error:  # orjson's own error, for lone surrogates
            raise ValueError(str(error)) from None
    return _ENCODER.encode(value).encode("utf-8")


def _with_doubles(value: Any) -> Any:
    """The same value with every Decimal replaced by its nearest double."""
    if isinstance(value, Decimal):
        return float(value)
    if isinstance(value, dict):
        return {key: _with_doubles(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_with_doubles(item) for item in value]
    return value
