"""Taking grants and keys back over the wire, and the public list of what was (AGENT_ACTIONS section 5)."""

from __future__ import annotations

from typing import Any, Final

from django.http import HttpResponse
from rest_framework.request import Request

from agentweb.access import revocation_log, revocation_requests
from agentweb.agent_actions.members import problem
from agentweb.agent_actions.paging import MAX_CURSOR, number
from agentweb.http import bodies
from agentweb.http.request_members import unknown_members
from agentweb.http.views import AgentView, json_response
from agentweb.wire.errors import AuthenticationError, Code, InputError
from agentweb.wire.grant_shape import GRANT_ID
from agentweb.wire.json_writing import dumps
from agentweb.wire.signing import parse_public_key
from agentweb.wire.strict_json import Json, loads

DEFAULT_PAGE: Final = 100
MAX_REASON: Final = 200

_MEMBERS: Final = ("grant", "key", "reason")


class RevocationsView(AgentView):
    """``POST {"grant" or "key", "reason"?}``: take it back. ``GET ?after=&limit=``: what was, open to everyone."""

    def get(self, request: Request, **captured: Any) -> HttpResponse:
        after = number(self, "after", Code.INVALID_CURSOR, default=0, low=0, high=MAX_CURSOR)
        high = revocation_log.MAX_PAGE
        limit = number(self, "limit", Code.INVALID_PARAMETER, default=DEFAULT_PAGE, low=1, high=high)
        items, next_cursor = revocation_log.page(after=after, limit=limit)
        return json_response(dumps({"items": items, "next_cursor": next_cursor}))

    def post(self, request: Request, **captured: Any) -> HttpResponse:
        if self.caller.is_anonymous:
            raise AuthenticationError(
                Code.GRANT_REQUIRED,
                "Sign the request with the key that issued or holds the grant, or send the session's token.",
            )
        sent = _read(loads(self.body(), max_bytes=bodies.limit()))
        if "grant" in sent:
            revocation_requests.revoke_grant(self.caller, sent["grant"], sent.get("reason", ""))
        else:
            revocation_requests.revoke_key(self.caller, sent["key"], sent.get("reason", ""))
        return json_response(dumps({"revoked": True}))


class RevocationsHeadView(AgentView):
    """``GET``: ``{"type", "site", "seq", "hash", "at", "kid", "sig"}``, open to everyone."""

    def get(self, request: Request, **captured: Any) -> HttpResponse:
        return json_response(dumps(revocation_log.signed_head(self.site)))


def _read(sent: Json) -> dict[str, str]:
    """The members of a revocation; InputError with everything that is wrong."""
    if not isinstance(sent, dict):
        raise InputError(
            [problem("", "type", 'The body is {"grant": …} or {"key": …}, and may have a reason.')]
        )
    problems = unknown_members(sent, _MEMBERS)
    if ("grant" in sent) == ("key" in sent):
        problems.append(problem("", "shape", "Name one thing to revoke: a grant, or a key."))
    if "grant" in sent and not (isinstance(sent["grant"], str) and GRANT_ID.fullmatch(sent["grant"])):
        problems.append(problem("grant", "format", "grant is the id of one: gr_ and 22 characters."))
    if "key" in sent and not _is_key(sent["key"]):
        problems.append(problem("key", "format", "key is a public key: ed25519: and 43 characters."))
    reason = sent.get("reason", "")
    if not isinstance(reason, str) or len(reason) > MAX_REASON or "\0" in reason:
        problems.append(problem("reason", "format", f"reason is a text of at most {MAX_REASON} characters."))
    if problems:
        raise InputError(problems)
    return {name: str(value) for name, value in sent.items()}


def _is_key(value: Json) -> bool:
    try:
        parse_public_key(value)  # type: ignore[arg-type]
    except ValueError:
        return False
    return True
