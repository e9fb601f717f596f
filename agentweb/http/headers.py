"""Headers that every answer of ours carries, and the documents that may be cached.

CORS is ``*`` without credentials: any page may call, and no cookie of its visitor comes along (AWP section 1).
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.utils.http import parse_etags

from agentweb import conf
from agentweb.access import limits
from agentweb.access.limits import Allowance
from agentweb.wire.encoding import b64url

JSON: Final = "application/json; charset=utf-8"
EXPOSED: Final = (
    "Retry-After, RateLimit, RateLimit-Policy, X-Request-Id, ETag, Idempotent-Replayed, WWW-Authenticate, "
    "Link, X-AWP-Version"
)
ALLOWED: Final = (
    "Authorization, Content-Type, Last-Event-ID, Idempotency-Key, Signature, Signature-Input, Content-Digest, "
    "Agent-Grant, Agent-Key, If-None-Match"
)
PREFLIGHT_METHODS: Final = "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS"
PREFLIGHT_MAX_AGE: Final = 86_400
"""Seconds for which a browser may remember a preflight; it says the same for every path, so it cannot go stale."""


def allow_every_origin(request: HttpRequest, response: HttpResponse) -> None:
    """Open the answer to every page. django-cors-headers, where installed, is kept from replacing this.

    Its middleware runs after the view and would put the site's own origins and credentials here.
    """
    response["Access-Control-Allow-Origin"] = "*"
    response["Access-Control-Expose-Headers"] = EXPOSED
    request._cors_enabled = False  # type: ignore[attr-defined]  # what CorsMiddleware looks at on the way out


def tell_limits(response: HttpResponse, allowances: Sequence[Allowance]) -> None:
    """Say what the limits that counted this request have left; a refusal has said already which one was empty.

    Where a limit of the site's own refused (a view's throttle, a handler), ours have room and are not what counts.
    """
    if response.status_code == 429 and "RateLimit" not in response:
        wait = response.headers.get("Retry-After", "")
        response["RateLimit"] = f'"site";r=0;t={wait if wait.isdigit() else 1}'
    elif "RateLimit" not in response:
        for name, value in limits.headers_of(*allowances).items():
            response[name] = value


def is_preflight(request: HttpRequest) -> bool:
    return request.method == "OPTIONS" and "HTTP_ACCESS_CONTROL_REQUEST_METHOD" in request.META


def preflight(methods: str = PREFLIGHT_METHODS) -> HttpResponse:
    """204 for the question of a browser, the same for every path, so that it tells nothing of what is there. A room
    where every path has the same ``methods`` may say them."""
    response = no_content()
    response["Access-Control-Allow-Methods"] = methods
    response["Access-Control-Allow-Headers"] = ALLOWED
    response["Access-Control-Max-Age"] = str(PREFLIGHT_MAX_AGE)
    return response


def no_content() -> HttpResponse:
    """204, which has no content and so no type of it."""
    response = HttpResponse(status=204)
    del response["Content-Type"]
    return response


@dataclass(frozen=True)
class Document:
    """Bytes that many callers get, with their strong entity tag: the digest of the content."""

    content: bytes
    media_type: str = JSON

    @cached_property
    def etag(self) -> str:
        return f'"{b64url(hashlib.sha256(self.content).digest())}"'


def answer_document(
    request: HttpRequest,
    document: Document,
    *,
    is_public: bool,
    max_age: int | None = None,
    language: str | None = None,
    by_caller: bool = True,
) -> HttpResponse:
    """The document, or 304 when the caller has it already (RFC 9110 13.1.2: weak comparison).

    ``is_public``: whether everyone gets these bytes, so that shared caches may keep them for ``max_age`` seconds,
    MANIFEST_MAX_AGE when it is None. ``language``: that of a document that is there in several, by Accept-Language;
    None for one that is the same for all. ``by_caller``: whoever says who they are may get another document under the
    same URL.
    """
    if _has_it(request, document.etag):
        response = HttpResponse(status=304, content_type=document.media_type)
    else:
        response = HttpResponse(document.content, content_type=document.media_type)
    response["ETag"] = document.etag
    vary = ["Agent-Grant", "Agent-Key", "Authorization"] if by_caller else []
    if language is not None:
        response["Content-Language"] = language
        vary.append("Accept-Language")
    elif settings.USE_I18N:
        # Of the document, which is one for all; LocaleMiddleware would name the reader's.
        response["Content-Language"] = settings.LANGUAGE_CODE
    if vary:
        response["Vary"] = ", ".join(vary)
    if is_public:
        seconds = conf.get("MANIFEST_MAX_AGE") if max_age is None else max_age
        response["Cache-Control"] = f"public, max-age={seconds}"
    return response


def _has_it(request: HttpRequest, etag: str) -> bool:
    condition = request.META.get("HTTP_IF_NONE_MATCH")
    if not condition:
        return False
    tags = parse_etags(condition)
    return tags == ["*"] or etag in [tag.removeprefix("W/") for tag in tags]
