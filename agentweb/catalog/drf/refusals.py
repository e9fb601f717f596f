"""DRF's own ways to say no, as refusals: what a serializer or a view raises, a handler may let through."""

from __future__ import annotations

from rest_framework import exceptions

from agentweb.catalog.drf.codes import code_of_status, own_code
from agentweb.catalog.drf.problems import input_error
from agentweb.wire.errors import AgentError, AuthorizationError, Code, RequestError


def refusal_of(error: exceptions.APIException) -> AgentError | None:
    """What the caller learns of it; None for the site's own failures (5xx), which tell nothing."""
    if not 400 <= error.status_code < 500:
        return None
    words = str(error.detail) if isinstance(error.detail, str) else ""
    match error:
        case exceptions.ValidationError():
            return input_error(error.detail)
        case (
            exceptions.NotAuthenticated() | exceptions.AuthenticationFailed() | exceptions.PermissionDenied()
        ):
            return AuthorizationError(Code.NOT_ALLOWED, words)
        case exceptions.NotFound():
            return RequestError(Code.NOT_FOUND, words)
        case exceptions.Throttled():
            return RequestError(Code.RATE_LIMITED, words, retry_after=getattr(error, "wait", None) or 1)
    code = own_code(error.get_codes()) or code_of_status(error.status_code)
    return AgentError(code, words, status=error.status_code)
