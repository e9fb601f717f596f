"""The one life of a request, for every room.

::

    route              405, before anything is read
    announced body     413, 411, 415 from the headers alone
    query              400 for a token in the URL
    caller             signature and grant, or an unsigned caller within the limit of its address
    the room           get(), post(), …
    whatever happened  one JSON envelope, one set of headers

It is DRF's lifecycle with every policy set here, so a site's REST_FRAMEWORK settings change nothing.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any, ClassVar

from django.db import connections, transaction
from django.http import HttpRequest, HttpResponse
from rest_framework.negotiation import DefaultContentNegotiation
from rest_framework.request import Request
from rest_framework.views import APIView

from agentweb import conf
from agentweb.access import callers
from agentweb.access.callers import Caller
from agentweb.access.limits import Allowance
from agentweb.http import answers, authentication, bodies, headers, queries
from agentweb.http.errors import as_agent_error, error_response, last_resort
from agentweb.http.mount import path_of
from agentweb.http.target import origin_of, site_of, target_of
from agentweb.wire.encoding import random_id
from agentweb.wire.errors import AgentError, Code, RequestError

logger = logging.getLogger("agentweb.http")

_NOBODY_YET = callers.anonymous("")
"""Who calls, before anybody has looked: a guard that is asked so early sees AnonymousUser."""


class AgentView(APIView):
    """Base of every view of the rooms: a subclass has ``get``, ``post`` … that return an HttpResponse of JSON.

    What they find: ``caller``, ``site`` (``host[:port]``), ``origin``, ``target`` (raw path and query),
    ``request_id`` (``rq_…``), ``http_request`` (Django's) and ``body()``. They raise AgentErrors. Limits that a room
    itself applies it adds to ``allowances``, which the answer's headers tell.
    """

    authentication_classes = ()
    content_negotiation_class = DefaultContentNegotiation
    metadata_class = None
    parser_classes = ()
    permission_classes = ()
    renderer_classes = ()
    schema = None  # the site's own OpenAPI document is not about us
    throttle_classes = ()
    versioning_class = None

    limits_anonymous: ClassVar[bool] = True
    """Whether an unsigned request counts against its address. Public documents say False."""

    reads_json: ClassVar[bool] = True
    """Whether a body of any other type is refused before it is read."""

    beside_error: ClassVar[Mapping[str, Any]] = MappingProxyType({})
    """Members that stand beside ``error``, where a protocol has such."""

    @classmethod
    def as_view(cls, **initkwargs: Any) -> Any:
        view = super().as_view(**initkwargs)
        # What commits, and when, is decided below; ATOMIC_REQUESTS would undo used nonces and kept answers.
        for alias in connections:
            view = transaction.non_atomic_requests(using=alias)(view)
        return view

    def initialize_request(self, request: HttpRequest, *args: Any, **kwargs: Any) -> Request:
        self.http_request = request
        self.request_id = random_id("rq_")
        self.caller = _NOBODY_YET
        self.allowances: list[Allowance] = []
        self._body: bytes | None = None
        self._body_length = 0
        return super().initialize_request(request, *args, **kwargs)

    @property
    def default_response_headers(self) -> dict[str, str]:
        return {}

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        """Every check that comes before the room's own work, in the order of the module's table."""
        self.target = target_of(self.http_request)
        self.check_route()
        if self.http_request.method == "OPTIONS":
            return
        self._body_length = bodies.announced_length(
            self.http_request, self.max_body_bytes(), is_json=self.reads_json
        )
        self.query_pairs = queries.pairs_of(self.target.query)
        queries.refuse_tokens(self.query_pairs)
        refuse_nul(kwargs.values())
        self.origin = origin_of(self.http_request)
        self.site = site_of(self.origin)
        self.caller = self.identify()
        if self.caller.allowance is not None:
            self.allowances.append(self.caller.allowance)
        authentication.act_as(self.http_request, self.caller)

    def identify(self) -> Caller:
        """Who is calling. A room whose protocol says it in a way of its own does that here."""
        return authentication.identify(
            self.http_request,
            target=self.target,
            site=self.site,
            has_body=self._body_length > 0,
            read_body=self.body,
            limit_anonymous=self.limits_anonymous,
        )

    def max_body_bytes(self) -> int:
        """Largest body that is read here."""
        return bodies.limit()

    def check_route(self) -> None:
        """Refuse a method that is not answered here."""
        if self.http_request.method not in self.allowed_methods:
            raise method_not_allowed(self.allowed_methods)

    def body(self) -> bytes:
        """The request's raw bytes, read once."""
        if self._body is None:
            self._body = bodies.read(self.http_request, self._body_length)
        return self._body

    def options(self, request: Request, *args: Any, **kwargs: Any) -> HttpResponse:  # type: ignore[override]
        if headers.is_preflight(self.http_request):
            return headers.preflight()
        response = headers.no_content()
        response["Allow"] = ", ".join(self.allowed_methods)
        return response

    def handle_exception(self, exc: Exception) -> HttpResponse:  # type: ignore[override]
        """Any exception as JSON. DEBUG does not matter: a traceback is for the log."""
        try:
            error = self.told(self._with_grants_url(as_agent_error(exc, self.request_id)))
            return error_response(error, self.http_request, self.request_id, self.beside_error)
        except Exception:
            logger.exception("%s: the error could not be answered", self.request_id)
            return last_resort(self.request_id, self.beside_error)

    def _with_grants_url(self, error: AgentError) -> AgentError:
        if error.code == Code.GRANT_REQUIRED and conf.get("GRANT_REQUESTS"):
            path = path_of("grants")
            if path is not None:
                error.extra.setdefault("grants_url", origin_of(self.http_request) + path)
        return error

    def told(self, error: AgentError) -> AgentError:
        """The error as the clients of a room know it. A room whose protocol words it in its own way does that here."""
        return error

    def finalize_response(  # type: ignore[override]
        self, request: Request, response: HttpResponse, *args: Any, **kwargs: Any
    ) -> HttpResponse:
        response["X-Request-Id"] = self.request_id
        headers.allow_every_origin(self.http_request, response)
        headers.tell_limits(response, self.allowances)
        response.headers.setdefault("Cache-Control", "no-store")
        if self.http_request.method == "HEAD":
            # Not every server drops the content of an answer to HEAD.
            response["Content-Length"] = str(len(response.content))
            response.content = b""
        answers.announce(self, response)
        return response


class NothingHere(AgentView):
    """404 in JSON, for what lies under a name of ours and is nothing."""

    limits_anonymous = False

    def check_route(self) -> None:
        if not headers.is_preflight(self.http_request):
            raise RequestError(Code.NOT_FOUND, "Nothing is here.")


def refuse_nul(captured: Iterable[Any]) -> None:
    """PostgreSQL refuses NUL in a text; so does every part of a request, the path too."""
    if any("\0" in value for value in captured if isinstance(value, str)):
        raise RequestError(
            Code.INVALID_UNICODE, "The path has a NUL character (%00), which no text here may hold."
        )


def method_not_allowed(allowed: list[str]) -> RequestError:
    return RequestError(
        Code.METHOD_NOT_ALLOWED,
        f"This address answers {', '.join(allowed)}.",
        headers={"Allow": ", ".join(allowed)},
        allow=allowed,
    )


def json_response(content: bytes, *, status: int = 200) -> HttpResponse:
    return HttpResponse(content, status=status, content_type=headers.JSON)
