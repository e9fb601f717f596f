"""How the messenger says what went wrong: the one shape of all rooms, with what is particular under ``details``."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any, Final

from agentweb.wire.errors import AgentError, Code

_OWN_CODES: Final[dict[str, str]] = {
    Code.PAYLOAD_TOO_LARGE: Code.TOO_LARGE,
    Code.UNAVAILABLE: Code.OVERLOADED,
}
_SCHEME: Final = {"WWW-Authenticate": "AIM"}


def told(error: AgentError) -> AgentError:
    """The error as the messenger's clients know it: its own codes, and one member for all that is particular.

    ``{"code", "message", "field"?, "retry_after"?, "problems"?, "details"?, "request_id"}``. Every 503 says when to
    come again, every 401 names the scheme.
    """
    members = dict(error.extra)
    given: dict[str, Any] = members.pop("details", {})
    details = {**members, **given}
    extra: dict[str, Any] = {"details": details} if details else {}
    retry_after = error.retry_after
    if retry_after is None and error.status == HTTPStatus.SERVICE_UNAVAILABLE:
        retry_after = 1
    return AgentError(
        _OWN_CODES.get(error.code, error.code),
        error.message,
        status=error.status,
        field=error.field,
        retry_after=retry_after,
        problems=error.problems,
        headers={**error.headers, **(_SCHEME if error.status == HTTPStatus.UNAUTHORIZED else {})},
        **extra,
    )
