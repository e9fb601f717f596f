"""A handler's return value becomes the bytes that are sent: plain JSON, nothing secret, within the limit.

Dates, times, UUIDs, enums, dataclasses, tuples and lazy texts are converted; a model instance or any other
object is the handler's mistake, reported to the site's log with the place and the type, never to the caller.
"""

from __future__ import annotations

import dataclasses
import logging
from collections.abc import Callable, Iterable
from datetime import date, datetime, time
from decimal import Decimal
from enum import Enum
from typing import Any, Final
from uuid import UUID

from django.utils.functional import Promise

from agentweb import conf
from agentweb.invoke.redaction import redact
from agentweb.wire import strict_json
from agentweb.wire.schema import CompiledSchema
from agentweb.wire.visible import text_of, visible

logger = logging.getLogger("agentweb.invoke")

MAX_NAMES: Final = 20
MAX_NAME: Final = 100
"""Names, and characters of one, in a line of the log."""

_AS_THEY_ARE: Final = frozenset({str, int, float, bool, type(None)})
"""Of exactly these types nearly every member is."""


class ResultError(ValueError):
    """The handler returned what cannot be an answer; the text is for the site's log."""


def encode(value: Any, call: str, output: CompiledSchema | None = None) -> bytes:
    """The body for ``value``; raises ResultError. ``call`` names the call in the log: ``Call.label``.

    One that does not fit ``output``, the schema that the action declared, is logged and sent all the same: the work
    is done, and agents read an answer more tolerantly than its author wrote the schema.
    """
    try:
        checked = published(value, call)
        body = strict_json.dumps(checked)
    except (ValueError, RecursionError) as error:
        raise ResultError(f"The result of {call} is not plain JSON: {text_of(error)}") from error
    if output is not None:
        _check_output(checked, call, output)
    limit: int = conf.get("MAX_RESULT_BYTES")
    if len(body) > limit:
        raise ResultError(
            f"The result of {call} has {len(body)} bytes; AGENTWEB['MAX_RESULT_BYTES'] is {limit}."
        )
    return body


def _check_output(value: Any, call: str, output: CompiledSchema) -> None:
    problems, is_cut = output.problems(value)
    if problems:
        logger.error(
            "The result of %s does not fit its declared output: %s%s",
            call,
            ", ".join(
                f"{visible(problem['pointer']) or 'the whole'} ({problem['code']})" for problem in problems
            ),
            " and more" if is_cut else "",
        )


def published(value: Any, call: str) -> Any:
    """The value as plain JSON without its secret members, of a result or of a refusal.

    Raises ResultError or, for what JSON cannot hold, ValueError.
    """
    converted = plain(value)
    strict_json.check_value(converted)
    checked, removed = redact(converted)
    if removed:
        logger.warning("The answer of %s had secrets; removed: %s", call, listed(removed))
    return checked


def listed(names: Iterable[str]) -> str:
    """Names of members for one line of the log. Whoever chose them may have put a line into one."""
    shown = [visible(name[:MAX_NAME]) for name in sorted(set(names))]
    more = f" and {len(shown) - MAX_NAMES} more" if len(shown) > MAX_NAMES else ""
    return ", ".join(shown[:MAX_NAMES]) + more


def plain(value: Any, other: Callable[[Any], Any] | None = None) -> Any:
    """The value with dates, UUIDs, enums, dataclasses, tuples and lazy texts converted.

    ``other`` converts one step of what is left, and may raise as this does. Raises ResultError.
    """
    if value is None or (isinstance(value, (bool, int, float, Decimal)) and not isinstance(value, Enum)):
        # Not -0.0, which TOON cannot say; to JSON it is the same number.
        return 0.0 if isinstance(value, float) and value == 0 else value
    if isinstance(value, Enum):
        return plain(value.value, other)
    if isinstance(value, str):
        return str(value)
    if isinstance(value, dict):
        return {_name(name): plain(member, other) for name, member in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item, other) for item in value]
    if isinstance(value, (datetime, date, time)):
        return value.isoformat().removesuffix("+00:00") + "Z" if _is_utc(value) else value.isoformat()
    if isinstance(value, (UUID, Promise)):
        return str(value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {item.name: plain(getattr(value, item.name), other) for item in dataclasses.fields(value)}
    if other is not None:
        return plain(other(value), other)
    raise ResultError(f"a {type(value).__module__}.{type(value).__qualname__} cannot be sent")


def _is_utc(value: date | time) -> bool:
    return isinstance(value, datetime) and value.tzinfo is not None and not value.utcoffset()


def _name(name: Any) -> str:
    if isinstance(name, Enum):
        name = name.value
    if not isinstance(name, str):
        raise ResultError(f"a member's name is a {type(name).__qualname__}, not a text")
    return str(name)
