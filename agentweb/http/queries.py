"""Query strings: strict reading, and no secrets in them."""

from __future__ import annotations

from typing import Any, Final
from urllib.parse import parse_qsl

from agentweb.wire.errors import Code, InputError, RequestError
from agentweb.wire.schema import CompiledSchema

MAX_FIELDS: Final = 200
SECRET_NAMES: Final = frozenset({"token", "access_token", "session_token"})


def pairs_of(query: str) -> list[tuple[str, str]]:
    """The names and values of a raw query string in their order, repeated names kept.

    Raises invalid_unicode for text that is not UTF-8 or holds NUL, invalid_parameter for too many values.
    """
    if not query:
        return []
    if query.count("&") >= MAX_FIELDS:
        raise RequestError(
            Code.INVALID_PARAMETER,
            f"The query string has more than {MAX_FIELDS} values; send fewer.",
            field="query",
            limit=MAX_FIELDS,
        )
    try:
        # The environment's text is the bytes of the wire, one character each (PEP 3333).
        raw = query.encode("latin-1").decode("utf-8")
        pairs = parse_qsl(raw, keep_blank_values=True, errors="strict")
    except ValueError as error:
        raise _not_unicode() from error
    if any("\0" in name or "\0" in value for name, value in pairs):
        raise _not_unicode()
    return pairs


def refuse_tokens(pairs: list[tuple[str, str]]) -> None:
    """A secret in a URL stands in logs, histories and referrers, so it is refused instead of used."""
    for name, _ in pairs:
        if name in SECRET_NAMES:
            raise RequestError(
                Code.TOKEN_IN_URL,
                f"Do not put {name} into the URL: sign the request, or send the token in a header. "
                "Treat this token as disclosed.",
                field=name,
            )


def typed(pairs: list[tuple[str, str]], schema: CompiledSchema) -> dict[str, Any]:
    """The query string as typed values. Raises invalid_parameter (400) with every problem."""
    values, problems = schema.coerce_strings(pairs)
    try:
        schema.check(values, also=problems)
    except InputError as error:
        listed = [{**each, "in": "query"} for each in error.problems or ()]
        raise InputError(
            listed,
            f"The query string has {len(listed)} problem{'s' if len(listed) > 1 else ''}; correct every entry of "
            "problems and ask again.",
            code=Code.INVALID_PARAMETER,
        ) from None
    return values


def _not_unicode() -> RequestError:
    return RequestError(
        Code.INVALID_UNICODE,
        "The query string must be percent-encoded UTF-8 without the character NUL.",
        field="query",
    )
