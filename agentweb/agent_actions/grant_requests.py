"""An agent asks a person for a grant (AGENT_ACTIONS 2.1); answers with GRANT_REQUESTS, else nothing is here.

::

    POST   <grants>                {"scopes", "mandate"?, "expires_in", "reason"} -> 202, what to show to the person
    GET    <grants>/requests/<id>  202 until the person has decided, then 200 with the grant
    DELETE <grants>/requests/<id>  nobody is asked any more

Each is signed by the key that the grant is for. The person decides where programs ask for sessions too.
"""

from __future__ import annotations

from typing import Any, Final

from django.http import HttpResponse
from django.urls import reverse
from rest_framework.request import Request

from agentweb import conf
from agentweb.access import grants, pairing
from agentweb.access.pairing import Wanted
from agentweb.agent_actions.noted import NotedView
from agentweb.http import bodies
from agentweb.http.addresses import address_of
from agentweb.http.headers import is_preflight
from agentweb.http.request_members import Members, Note
from agentweb.http.views import json_response
from agentweb.http.wanted import read_mandate, read_scopes
from agentweb.wire.errors import AuthenticationError, Code, RequestError
from agentweb.wire.grant_shape import MAX_NOTE
from agentweb.wire.grants import encode_chain
from agentweb.wire.json_writing import dumps
from agentweb.wire.strict_json import Json, loads

NAME: Final = "grant-request"
"""What the audit log calls it, where calls have the name of their action."""
INTERVAL_SECONDS: Final = 5
"""How often an agent that waits may ask."""

_MEMBERS: Final = ("scopes", "mandate", "expires_in", "reason")


class _AskingView(NotedView):
    noted_as = NAME

    def check_route(self) -> None:
        if not conf.get("GRANT_REQUESTS") and not is_preflight(self.http_request):
            raise RequestError(Code.NOT_FOUND, "Agents do not ask for grants at this site.")
        super().check_route()

    def key(self) -> str:
        """The key that signed. A session's token signs nothing, so nobody could use the grant."""
        if self.caller.agent_key is None:
            raise AuthenticationError(
                Code.GRANT_REQUIRED,
                "Sign the request with your key, sent as Agent-Key: the grant will be for that key.",
                headers={"WWW-Authenticate": "AgentGrant"},
            )
        return self.caller.agent_key


class GrantRequestsView(_AskingView):
    """``POST``: begin to wait for a person's word."""

    def post(self, request: Request, **captured: Any) -> HttpResponse:
        key = self.key()
        sent = loads(self.body(), max_bytes=bodies.limit())
        return self.noted(sent, lambda: self._begin(sent, key), done=202)

    def _begin(self, sent: Json, key: str) -> dict[str, Any]:
        wanted, reason = read(sent)
        started = pairing.start(
            subject=key, reason=reason, wanted=wanted, address=address_of(self.http_request)
        )
        page = self.origin + reverse("agentweb:connect")
        return {
            "request_id": started.id,
            "user_code": started.code,
            "approve_url": f"{page}?code={started.code}",
            "retry_after": INTERVAL_SECONDS,
            "expires": int(started.expires_at.timestamp()),
        }


class GrantRequestView(_AskingView):
    """``GET``: how it stands, and the grant. ``DELETE``: taken back, the second time as well as the first."""

    def get(self, request: Request, *, grant_request_id: str, **captured: Any) -> HttpResponse:
        found = pairing.look(grant_request_id, subject=self.key())
        body: dict[str, Json] = {"request_id": found.id}
        if found.chain is None:
            if found.allowance is not None:
                self.allowances.append(found.allowance)
            body |= {
                "state": "pending",
                "retry_after": INTERVAL_SECONDS,
                "expires": int(found.expires_at.timestamp()),
            }
            answer = json_response(dumps(body), status=202)
            answer["Retry-After"] = str(INTERVAL_SECONDS)
            return answer
        documents = [grant.document for grant in found.chain]
        body |= {"state": "approved", "grant": documents[-1], "header": encode_chain(documents)}
        return json_response(dumps(body))

    def delete(self, request: Request, *, grant_request_id: str, **captured: Any) -> HttpResponse:
        key = self.key()

        def work() -> dict[str, Any]:
            pairing.take_back(grant_request_id, subject=key)
            return {"request_id": grant_request_id, "state": "cancelled"}

        return self.noted({"request_id": grant_request_id}, work, done=200)


def read(sent: Json) -> tuple[Wanted, str]:
    """The members of a request: what is wanted, and what for. InputError with every problem."""
    members = Members(sent, _MEMBERS)
    scopes = members.read("scopes", read_scopes, is_required=True)
    mandate = members.read("mandate", read_mandate)
    expires_in = members.read("expires_in", _expires_in, is_required=True)
    reason = members.read("reason", _reason, is_required=True)
    members.refuse_problems()
    return Wanted(scopes=scopes, mandate=mandate, expires_in=expires_in), str(reason)


def _expires_in(value: Json, note: Note) -> int:
    longest = grants.max_life()
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= longest:
        note((), "range", f"expires_in is a whole number of seconds from 1 to {longest}.")
        return 0
    return value


def _reason(value: Json, note: Note) -> str:
    if not isinstance(value, str) or len(value) > MAX_NOTE or not value.strip() or not value.isprintable():
        note((), "format", f"reason is one line of at most {MAX_NOTE} characters, which the person reads.")
        return ""
    return value.strip()
