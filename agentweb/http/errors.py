"""Every failure becomes an AgentError, and every AgentError one JSON answer.

Whatever was not meant for the caller becomes 500 with a request id; the reason goes to the log ``agentweb.http``
under the same id, with its traceback, also under DEBUG.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from http import HTTPStatus
from types import MappingProxyType
from typing import Any, Final

from django.core.exceptions import BadRequest, PermissionDenied, RequestDataTooBig, SuspiciousOperation
from django.db import DatabaseError, InterfaceError
from django.http import Http404, HttpRequest, HttpResponse, UnreadablePostError
from django.http.multipartparser import MultiPartParserError
from rest_framework import exceptions as drf

from agentweb.access.database import is_passing
from agentweb.http import bodies
from agentweb.http.headers import JSON
from agentweb.wire.errors import (
    AgentError,
    AuthenticationError,
    AuthorizationError,
    Code,
    RequestError,
    ServerError,
)
from agentweb.wire.json_writing import dumps
from agentweb.wire.visible import visible

logger = logging.getLogger("agentweb.http")

PROBLEM_JSON: Final = "application/problem+json"


def as_agent_error(error: Exception, request_id: str) -> AgentError:
    """What the caller may know of an exception. What it may not know is logged here."""
    if isinstance(error, AgentError):
        if error.debug:
            level = logging.ERROR if error.status >= 500 else logging.INFO
            logger.log(level, "%s %s: %s", request_id, error.code, visible(error.debug))
        return error
    known = _known(error)
    if known is not None:
        return known
    if isinstance(error, (DatabaseError, InterfaceError)) and is_passing(error):
        logger.warning("%s: %s", request_id, visible(str(error)), exc_info=error)
        return ServerError(Code.UNAVAILABLE, "The site is busy. Send the same request again.", retry_after=1)
    logger.error("%s crashed", request_id, exc_info=error)
    return _internal()


def error_response(
    error: AgentError,
    request: HttpRequest,
    request_id: str,
    beside: Mapping[str, Any] = MappingProxyType({}),
) -> HttpResponse:
    """The answer of AGENT_ACTIONS section 7; as RFC 9457 problem details where the caller asks for them.

    ``beside`` are members that a protocol wants before ``error``.
    """
    body: dict[str, Any] = {**beside, "error": error.as_dict(request_id)}
    media_type = JSON
    if _wants_problem_details(request.META.get("HTTP_ACCEPT", "")):
        media_type = PROBLEM_JSON
        # "about:blank": what the problem is, says error.code; the title is then the status's own (RFC 9457 4.2.1).
        details = {"type": "about:blank", "title": _phrase(error.status), "status": error.status}
        body = {**details, "detail": error.message, **body}
    try:
        content = dumps(body)
    except ValueError:
        logger.exception("%s: the members of the error %s are not JSON", request_id, error.code)
        if error.status == HTTPStatus.INTERNAL_SERVER_ERROR:
            raise
        return error_response(_internal(), request, request_id, beside)
    response = HttpResponse(content, status=error.status, content_type=media_type)
    for name, value in error.headers.items():
        response[name] = value
    if error.status == HTTPStatus.UNAUTHORIZED:
        # RFC 9110 11.6.1: a 401 names the scheme.
        response.headers.setdefault("WWW-Authenticate", "AgentGrant")
    return response


def last_resort(request_id: str, beside: Mapping[str, Any] = MappingProxyType({})) -> HttpResponse:
    """The answer when answering itself failed."""
    body = {**beside, "error": _internal().as_dict(request_id)}
    return HttpResponse(dumps(body), status=500, content_type=JSON)


def _internal() -> ServerError:
    return ServerError(
        Code.INTERNAL,
        "The site failed to answer; nothing is known to be wrong with the request. Report the request id.",
    )


def _known(error: Exception) -> AgentError | None:
    """Exceptions of Django and DRF that speak about the request."""
    match error:
        case Http404() | drf.NotFound():
            return RequestError(Code.NOT_FOUND, "Nothing is here.")
        case PermissionDenied() | drf.PermissionDenied():
            return AuthorizationError(Code.NOT_ALLOWED, "The site does not allow this to the caller.")
        case RequestDataTooBig():
            return bodies.too_large(bodies.limit())
        case UnreadablePostError():
            return RequestError(Code.MALFORMED_JSON, "The body could not be read to its end; send it again.")
        case MultiPartParserError() | BadRequest():
            # What Django says of a body when somebody asks its request for form data.
            return RequestError(
                Code.MALFORMED_JSON, "The body is not what its Content-Type says.", field="body"
            )
        case SuspiciousOperation():
            return RequestError(Code.INVALID_PARAMETER, "The request's headers or target are not acceptable.")
        case drf.Throttled():
            return RequestError(
                Code.RATE_LIMITED,
                "Too many requests; wait as long as retry_after says.",
                retry_after=getattr(error, "wait", None) or 1,
            )
        case drf.NotAuthenticated() | drf.AuthenticationFailed():
            return AuthenticationError(Code.GRANT_REQUIRED, "Sign the request under a grant of this site.")
        case drf.MethodNotAllowed():
            return RequestError(Code.METHOD_NOT_ALLOWED, "This method is not answered here.")
        case drf.ParseError():
            return RequestError(Code.MALFORMED_JSON, "The body is not JSON.")
        case drf.UnsupportedMediaType():
            return RequestError(
                Code.UNSUPPORTED_MEDIA_TYPE, "Send the body as JSON in UTF-8.", accepted=[bodies.MEDIA_TYPE]
            )
        case drf.NotAcceptable():
            return RequestError(Code.NOT_ACCEPTABLE, "Answers are JSON.")
    return None


def _wants_problem_details(accept: str) -> bool:
    """Whether problem details are named, and no less welcome than plain JSON (RFC 9110 12.5.1)."""
    if PROBLEM_JSON not in accept.lower():
        return False
    welcome = {"application/json": 0.0, PROBLEM_JSON: 0.0}
    for part in accept.lower().split(",")[:50]:
        media_type, *parameters = [piece.strip() for piece in part.split(";")]
        if media_type in welcome:
            welcome[media_type] = max(welcome[media_type], _quality(parameters))
    return 0 < welcome[PROBLEM_JSON] >= welcome["application/json"]


def _quality(parameters: list[str]) -> float:
    for parameter in parameters:
        name, _, value = parameter.partition("=")
        if name.strip() == "q":
            try:
                return min(max(float(value), 0.0), 1.0)
            except ValueError:
                return 0.0
    return 1.0


def _phrase(status: int) -> str:
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return "Error"
