"""JSON as every room reads and writes it: strict in both directions.

``loads`` refuses, in this order and each with its own code::

    payload_too_large    more bytes than the cap (413)
    invalid_unicode      not UTF-8, or a byte order mark before it
    too_deep             brackets nested deeper than allowed, counted before parsing
    malformed_json       not JSON (RFC 8259)
    duplicate_key        a member name twice in one object
    malformed_json       NaN, Infinity, -Infinity
    number_out_of_range  a number that cannot be kept exactly or at all
    invalid_unicode      a lone surrogate, or NUL where it is not allowed

so a document with several faults always gets the same answer. Ordinary documents are parsed by the
standard library's C scanner with hooks that raise at once; only a refused document is read a second time,
slowly, to find the fault that comes first in the list.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from decimal import Decimal, DecimalException
from itertools import accumulate
from typing import Any, Final, Literal, NoReturn

import rfc8785

from agentweb.wire.errors import Code, RequestError
from agentweb.wire.json_types import MAX_EXPONENT, MAX_NUMBER_LENGTH, MAX_SAFE_INTEGER, Json
from agentweb.wire.json_values import check_value
from agentweb.wire.json_writing import dumps

__all__ = ["MAX_SAFE_INTEGER", "Json", "check_value", "dumps", "loads"]

_BOM: Final = b"\xef\xbb\xbf"
_SHOWN: Final = 64


def loads(
    data: bytes,
    *,
    max_bytes: int = 1_048_576,
    max_depth: int = 64,
    safe_integers: bool = False,
    allow_nul: bool = False,
    floats: Literal["decimal", "float"] = "decimal",
) -> Json:
    """The value of a JSON text in UTF-8.

    Integers are ``int``. Other numbers are exact ``Decimal`` of at most 40 characters and 10^±30, or with
    ``floats="float"`` the nearest finite double. With ``safe_integers`` (documents that are signed) an
    integer beyond ±(2^53-1) is refused unless it is written as RFC 8785 writes its double (a float then).
    Raises RequestError with the codes of the module's list; TypeError when ``data`` is not bytes.
    """
    if not isinstance(data, bytes):
        raise TypeError(f"loads() reads bytes, not {type(data).__name__}.")
    if len(data) > max_bytes:
        raise RequestError(
            Code.PAYLOAD_TOO_LARGE,
            f"The document has {len(data)} bytes; at most {max_bytes} are allowed. Send less at once.",
            limit=max_bytes,
        )
    text = _decode(data)
    if _depth_may_exceed(data, max_depth) and _depth(data) > max_depth:
        raise _too_deep(max_depth)
    # Sixteen digits in a row are the shortest integer that needs a closer look.
    hooked_integers = b"0000000000000000" in data.translate(_DIGITS_TO_ZERO)
    decoder = _DECODERS[floats, safe_integers if hooked_integers else None]
    try:
        value: Json = decoder.decode(text)
    except (_FaultError, ValueError):
        _explain(text, floats, safe_integers=safe_integers)
    except RecursionError:  # only where max_depth was raised beyond what the interpreter bears
        raise _too_deep(max_depth) from None
    _refuse_bad_escapes(data, allow_nul=allow_nul)
    return value


def _decode(data: bytes) -> str:
    if data.startswith(_BOM):
        raise RequestError(
            Code.INVALID_UNICODE, "The document begins with a byte order mark; send UTF-8 without one."
        )
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise RequestError(
            Code.INVALID_UNICODE,
            f"The document is not UTF-8: byte {error.start} cannot be read. Send JSON encoded as UTF-8.",
        ) from None


_ESCAPE_PAIR: Final = re.compile(rb"\\.", re.DOTALL)
_STRUCTURE: Final = b'[]{}"'
_NOT_STRUCTURE: Final = bytes(set(range(256)) - set(_STRUCTURE))
_STEPS: Final = bytes.maketrans(b"[{]}", b"\x01\x01\xff\xff")  # +1 and -1 as signed bytes
_DIGITS_TO_ZERO: Final = bytes.maketrans(b"123456789", b"000000000")


def _depth_may_exceed(data: bytes, limit: int) -> bool:
    return data.count(b"[") + data.count(b"{") > limit


def _depth(data: bytes) -> int:
    """How deep brackets nest outside strings. True up to the first syntax error, where parsing stops too."""
    if b"\\" in data:
        data = _ESCAPE_PAIR.sub(b"", data)
    structure = data.translate(None, _NOT_STRUCTURE)
    # Removing two neighbouring quotes leaves everything else on the same side, inside or outside of strings.
    structure = structure.replace(b'""', b"")
    if b'"' in structure:
        structure = b"".join(structure.split(b'"')[::2])
    return max(accumulate(memoryview(structure.translate(_STEPS)).cast("b")), default=0)


def _too_deep(limit: int) -> RequestError:
    return RequestError(
        Code.TOO_DEEP, f"The document nests deeper than {limit} levels; flatten it.", limit=limit
    )


class _FaultError(Exception):
    """Some rule is broken; which one comes first is found out by the second reading."""


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise _FaultError
    return members


def _no_constant(_name: str) -> NoReturn:
    raise _FaultError


def _to_decimal(text: str) -> Decimal:
    if len(text) > MAX_NUMBER_LENGTH:
        raise _FaultError
    try:
        number = Decimal(text)
    except DecimalException:  # an exponent beyond any Decimal
        raise _FaultError from None
    if not -MAX_EXPONENT <= number.adjusted() <= MAX_EXPONENT:
        raise _FaultError
    return number


def _to_float(text: str) -> float:
    number = float(text)
    if math.isinf(number):
        raise _FaultError
    return number


def _to_int(text: str) -> int:
    if len(text) > MAX_NUMBER_LENGTH:
        raise _FaultError
    return int(text)


def _to_safe_int(text: str) -> int | float:
    number = _to_int(text)
    if -MAX_SAFE_INTEGER <= number <= MAX_SAFE_INTEGER:
        return number
    double = float(number)
    if rfc8785.dumps(double) != text.encode("ascii"):
        raise _FaultError
    return double


_FLOAT_HOOKS: Final[dict[str, Callable[[str], Any]]] = {"decimal": _to_decimal, "float": _to_float}
# The key's second member: None when no integer is long enough to need a hook (int is then done in C).
_INT_HOOKS: Final[dict[bool | None, Callable[[str], Any]]] = {None: int, False: _to_int, True: _to_safe_int}
_DECODERS: Final = {
    (floats, integers): json.JSONDecoder(
        object_pairs_hook=_unique, parse_constant=_no_constant, parse_float=float_hook, parse_int=int_hook
    )
    for floats, float_hook in _FLOAT_HOOKS.items()
    for integers, int_hook in _INT_HOOKS.items()
}


def _explain(text: str, floats: str, *, safe_integers: bool) -> NoReturn:
    """Raise the RequestError for the first fault in the module's order."""
    duplicates: list[str] = []
    constants: list[str] = []
    numbers: list[str] = []

    def note_duplicate(pairs: list[tuple[str, Any]]) -> None:
        seen: set[str] = set()
        for key, _value in pairs:
            if key in seen and not duplicates:
                duplicates.append(key)
            seen.add(key)

    def note_number(hook: Callable[[str], Any]) -> Callable[[str], None]:
        def note(literal: str) -> None:
            try:
                hook(literal)
            except _FaultError:
                numbers.append(literal)

        return note

    decoder = json.JSONDecoder(
        object_pairs_hook=note_duplicate,
        parse_constant=constants.append,
        parse_float=note_number(_FLOAT_HOOKS[floats]),
        parse_int=note_number(_INT_HOOKS[safe_integers]),
    )
    try:
        decoder.decode(text)
    except json.JSONDecodeError as error:
        raise RequestError(
            Code.MALFORMED_JSON,
            f"The document is not JSON: {error.msg} (line {error.lineno}, column {error.colno}).",
        ) from None
    if duplicates:
        key = duplicates[0]
        shown = key if key.isprintable() and len(key) <= _SHOWN else None
        raise RequestError(
            Code.DUPLICATE_KEY,
            f"The member {_shown(key)} occurs twice in one object; send it once.",
            field=shown,
        )
    if constants:
        raise RequestError(
            Code.MALFORMED_JSON, f"{constants[0]} is not JSON; send a finite number, a string or null."
        )
    raise RequestError(Code.NUMBER_OUT_OF_RANGE, _number_message(numbers[0], floats, safe_integers))


def _number_message(literal: str, floats: str, safe_integers: bool) -> str:
    shown = literal if len(literal) <= _SHOWN else literal[:_SHOWN] + "…"
    if literal.lstrip("-").isdigit():
        if safe_integers:
            return (
                f"The integer {shown} is beyond ±{MAX_SAFE_INTEGER} and is not how its double is written; "
                "send it as a string."
            )
        return f"The integer {shown} has more than {MAX_NUMBER_LENGTH} characters; send it as a string."
    if floats == "float":
        return f"The number {shown} overflows a double; send a smaller one."
    return (
        f"The number {shown} is out of range: at most {MAX_NUMBER_LENGTH} characters, "
        f"between 1e-{MAX_EXPONENT} and 1e{MAX_EXPONENT}."
    )


def _shown(text: str) -> str:
    return ascii(text if len(text) <= _SHOWN else text[:_SHOWN] + "…")


_SURROGATE_ESCAPE: Final = re.compile(rb"\\u[dD][89a-fA-F]")
# Every escape except one that leaves half a surrogate pair; what it does not match keeps its backslash.
_SOUND_ESCAPE: Final = re.compile(
    rb"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|[^u]|u(?![dD][89a-fA-F]))"
)
_NUL_ESCAPE: Final = re.compile(rb"(?<!\\)(?:\\\\)*\\u0000")


def _refuse_bad_escapes(data: bytes, *, allow_nul: bool) -> None:
    """Look for escapes of lone surrogates and NUL in a text that is known to be JSON.

    Raw ones cannot occur: UTF-8 has no surrogates, and JSON has no raw control characters in strings.
    """
    if b"\\u" not in data:
        return
    if _SURROGATE_ESCAPE.search(data) and b"\\" in _SOUND_ESCAPE.sub(b"", data):
        raise RequestError(
            Code.INVALID_UNICODE,
            "A string holds half of a surrogate pair; write the whole character or leave it out.",
        )
    if not allow_nul and b"\\u0000" in data and _NUL_ESCAPE.search(data):
        raise RequestError(Code.INVALID_UNICODE, "A string holds the character NUL (\\u0000); leave it out.")
