"""What every answer of the messenger has in common: who asks, how much is read, in which words it fails."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from types import MappingProxyType
from typing import Any, ClassVar, Final

from django.http import HttpRequest, HttpResponse
from django.utils.http import http_date
from rest_framework.request import Request

from agentweb.access import callers, failures, limits
from agentweb.access.callers import Caller
from agentweb.aim import authentication, errors, wakeups
from agentweb.aim.authentication import Admitted, Verified
from agentweb.aim.models import Agent
from agentweb.aim.operations import Operation
from agentweb.aim.policy import authorities, other_request_bytes
from agentweb.aim.splicing import dumps
from agentweb.http import queries
from agentweb.http.addresses import address_of, is_one_client
from agentweb.http.documents import Place
from agentweb.http.mount import mount_prefix
from agentweb.http.views import AgentView, json_response
from agentweb.wire.aim.envelope import parse_request
from agentweb.wire.clock import now
from agentweb.wire.errors import AgentError, AuthenticationError, Code, RequestError
from agentweb.wire.schema import CompiledSchema
from agentweb.wire.strict_json import Json

# Servers that give every answer a Date, whether it has one or not; with two, clients read neither.
_DATES_ITSELF: Final = "gunicorn"


class AimView(AgentView):
    """Base of the messenger's views.

    What they find beside the rest: ``agent``, who signed the request; None where nobody did, which only views with
    ``needs_signature = False`` see. A header that is there must hold everywhere: no signature is silently ignored.
    """

    needs_signature: ClassVar[bool] = True
    operations: ClassVar[Mapping[str, Operation]] = MappingProxyType({})
    """What ``/openapi.json`` says, by method."""

    key = ""
    """The key that signed the request."""
    _agent: Agent | None = None

    @property
    def agent(self) -> Agent:
        """Who signed the request."""
        if self._agent is None:
            raise self.signature_required()
        return self._agent

    @property
    def place(self) -> Place:
        return Place(self.origin, self.site, mount_prefix())

    def identify(self) -> Caller:
        address = address_of(self.http_request)
        header = self.http_request.META.get("HTTP_AUTHORIZATION")
        if header is None:
            if self.needs_signature:
                raise self.signature_required()
            allowance = limits.admit_anonymous(address) if self.limits_anonymous else None
            return callers.anonymous(address, allowance)
        with self.counting(address):
            admitted = self.admit(self.verify(header))
        self._agent, self.key = admitted.agent, admitted.key
        return callers.anonymous(address, admitted.allowance)

    def verify(self, header: str) -> Verified:
        """The signature holds, over this site and now."""
        query = f"?{self.target.query}" if self.target.query else ""
        return authentication.verify(
            header,
            method=str(self.http_request.method),
            target=self.target.path + query,
            authorities=authorities(self.site),
            read_body=self.body,
            check_key=self.check_key,
        )

    def check_key(self, key: str) -> object:
        """Judges a key before anything is done with it; what is wrong it raises."""
        return key

    def admit(self, verified: Verified) -> Admitted:
        return authentication.admit(verified)

    @contextmanager
    def counting(self, address: str) -> Iterator[None]:
        """Signatures that do not hold cost the site more than their sender: after many, the address has to wait."""
        with failures.counted(address, has_grant=True) if is_one_client(self.http_request) else nullcontext():
            yield

    def signature_required(self) -> AuthenticationError:
        return AuthenticationError(
            Code.AUTHORIZATION_REQUIRED,
            "Sign the request with the agent's key: Authorization: AIM, as /docs/authentication.md says.",
        )

    def max_body_bytes(self) -> int:
        return other_request_bytes()

    def json(self) -> Json:
        """The body as JSON; ``{}`` when there is none."""
        body = self.body()
        return parse_request(body) if body else {}

    def input(self, schema: CompiledSchema) -> dict[str, Any]:
        """The body, an object that fits. Raises invalid_input (422) with every problem."""
        document = self.json()
        schema.check(document)
        if not isinstance(document, dict):
            raise TypeError("The schema of a body is that of an object.")
        return document

    def query(self, schema: CompiledSchema) -> dict[str, Any]:
        """The query string as typed values. Raises invalid_parameter (400) with every problem."""
        return queries.typed(self.query_pairs, schema)

    def wake(self) -> None:
        """Tell those who wait for events that there may be some: after what wrote them is committed."""
        wakeups.notify()

    def told(self, error: AgentError) -> AgentError:
        return errors.told(error)

    def finalize_response(  # type: ignore[override]
        self, request: Request, response: HttpResponse, *args: Any, **kwargs: Any
    ) -> HttpResponse:
        response = super().finalize_response(request, response, *args, **kwargs)
        if "Date" not in response and not _server_dates(self.http_request):
            # Clients set their clocks by it.
            response["Date"] = http_date(now())
        return response


def answer(document: dict[str, Any], *, status: int = 200) -> HttpResponse:
    return json_response(dumps(document), status=status)


def not_found(message: str) -> RequestError:
    return RequestError(Code.NOT_FOUND, message)


def _server_dates(request: HttpRequest) -> bool:
    """Whether the server gives the answer a Date unasked; a second one would make both unreadable.

    Of the ASGI servers daphne alone sends none, and it is the one that does not say which version of the
    specification of HTTP it follows.
    """
    scope = getattr(request, "scope", None)
    if scope is None:
        return str(request.META.get("SERVER_SOFTWARE", "")).startswith(_DATES_ITSELF)
    return "spec_version" in scope.get("asgi", {})
