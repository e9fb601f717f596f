"""Sessions over the wire: a program asks a person for one, looks at it, gives it up (AIP section 5).

::

    POST   /__aim/sessions           {"client_name", "scopes"?, "mandate"?, "pages"?} -> 201, a token that waits
    GET    /__aim/sessions/current   what the token is good for; 401 session_pending until the person agreed
    DELETE /__aim/sessions/current   gives it up, also while it waits; the second time as well as the first
"""

from __future__ import annotations

from typing import Any, Final

from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from rest_framework.request import Request

from agentweb import conf
from agentweb.access import callers, mandates, pairing, sessions, tokens
from agentweb.access.pairing import NO_SCOPE, Wanted
from agentweb.aip.addresses import is_path, named_page
from agentweb.catalog.page_paths import canonical
from agentweb.http import authentication, bodies
from agentweb.http.addresses import address_of
from agentweb.http.request_members import Members, Note
from agentweb.http.views import AgentView, json_response
from agentweb.http.wanted import read_mandate, read_scopes_or_none
from agentweb.wire.errors import AuthenticationError, Code
from agentweb.wire.grants import GrantDocument
from agentweb.wire.json_writing import dumps
from agentweb.wire.money import format_amount
from agentweb.wire.strict_json import Json, loads
from agentweb.wire.visible import visible

MAX_PAGES: Final = 20
MAX_PATH: Final = 200

_MEMBERS: Final = ("client_name", "scopes", "mandate", "pages")
_OVER: Final = frozenset({Code.SESSION_EXPIRED, Code.SESSION_REVOKED, Code.SESSION_DENIED})


class SessionsView(AgentView):
    """``POST``: begin to wait for a person's word."""

    def post(self, request: Request, **captured: Any) -> HttpResponse:
        client_name, wanted = read(loads(self.body(), max_bytes=bodies.limit()))
        started = pairing.start(client_name=client_name, wanted=wanted, address=address_of(self.http_request))
        page = self.origin + reverse("agentweb:connect")
        body: dict[str, Json] = {
            "token": started.token,
            "session_id": started.id,
            "user_code": started.code,
            "verification_url": page,
            "verification_url_complete": f"{page}?code={started.code}",
            "expires_in": conf.get("PAIRING_MINUTES") * 60,
            "interval": tokens.INTERVAL_SECONDS,
        }
        return json_response(dumps(body), status=201)


class CurrentSessionView(AgentView):
    """``GET`` and ``DELETE`` the session whose token the request shows."""

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        self._refused: AuthenticationError | None = None
        try:
            super().initial(request, *args, **kwargs)
        except AuthenticationError as refusal:
            # What has ended can be given up again, and what waits before it has begun.
            if self.http_request.method != "DELETE" or refusal.code not in {*_OVER, Code.SESSION_PENDING}:
                raise
            self._refused = refusal

    def get(self, request: Request, **captured: Any) -> HttpResponse:
        grant = self._grant()
        body: dict[str, Json] = {
            "session_id": _ident(grant),
            "state": "active",
            "scopes": [scope for scope in grant.scopes if scope != NO_SCOPE],
            "mandate": _mandate(grant),
            "expires_at": grant.expires,
            "user": _name(self.caller.user) if self.caller.user_id is not None else None,
        }
        return json_response(dumps(body))

    def delete(self, request: Request, **captured: Any) -> HttpResponse:
        if self._refused is None:
            sessions.revoke(_ident(self._grant()), "given up by its holder")
        elif self._refused.code == Code.SESSION_PENDING:
            token = authentication.bearer_token(self.http_request) or ""
            if not pairing.cancel(token):
                # The person was faster: what they have just agreed to is given up.
                sessions.revoke_by_token(token, "given up by its holder")
        return json_response(dumps({"ended": True}))

    def _grant(self) -> GrantDocument:
        if self.caller.kind != callers.SESSION or self.caller.grant is None:
            raise session_required(self.http_request, self.origin)
        return self.caller.grant


def session_required(request: HttpRequest, origin: str) -> AuthenticationError:
    """401 for what needs a session: where to get one."""
    return AuthenticationError(
        Code.SESSION_REQUIRED,
        "Send a session's token as Authorization: Bearer. POST to sessions_url to ask for one; a person agrees at "
        "connect_url.",
        headers={"WWW-Authenticate": "Bearer"},
        sessions_url=origin + reverse("agentweb:sessions"),
        connect_url=origin + reverse("agentweb:connect"),
    )


def read(sent: Json) -> tuple[str, Wanted]:
    """The members of a request for a session: the program's name and what it wants. InputError with every problem."""
    members = Members(sent, _MEMBERS)
    name = members.read("client_name", _client_name, is_required=True)
    scopes = members.read("scopes", read_scopes_or_none)
    mandate = members.read("mandate", read_mandate)
    pages = members.read("pages", _pages)
    members.refuse_problems()
    return str(name), Wanted(scopes=scopes, mandate=mandate, pages=pages or ())


def _client_name(value: Json, note: Note) -> str:
    if not isinstance(value, str) or not value.strip():
        note((), "format", "client_name is what people know your program by; it is never empty.")
        return ""
    for each in sessions.check_client_name(value):
        note((), each["code"], each["message"])
    return value.strip()


def _pages(value: Json, note: Note) -> tuple[str, ...]:
    """Paths of pages below the prefix of the site, decoded, whether they were sent so or as manifests have them."""
    if not isinstance(value, list) or len(value) > MAX_PAGES:
        note((), "count", f"pages is a list of at most {MAX_PAGES} paths of pages.")
        return ()
    paths: list[str] = []
    for place, path in enumerate(value):
        if not isinstance(path, str) or len(path) > MAX_PATH or not is_path(path):
            note((place,), "format", f"A page is its path, such as /cart, of at most {MAX_PATH} characters.")
            continue
        found = named_page(path)
        paths.append(path if found is None else canonical(found[2]))
    return tuple(dict.fromkeys(paths))


def _ident(grant: GrantDocument) -> str:
    return grant.subject.removeprefix(sessions.SUBJECT_PREFIX)


def _mandate(grant: GrantDocument) -> Json:
    if grant.mandate is None:
        return None
    currency, per_tx, total = grant.mandate.currency, grant.mandate.per_tx, grant.mandate.total
    spent = mandates.spent_of([grant.id]).get(grant.id, 0)
    return {
        "currency": currency,
        "per_tx": format_amount(per_tx, currency),
        "total": format_amount(total, currency),
        "spent": format_amount(spent, currency),
        "left": format_amount(max(0, total - spent), currency),
    }


def _name(user: Any) -> str:
    full_name = getattr(user, "get_full_name", None)
    return visible((full_name() if full_name is not None else "") or user.get_username())
