"""The caller's receipts, the signed end of the chain, and a check for any receipt (AGENT_ACTIONS section 4)."""

from __future__ import annotations

from typing import Any, Final

from django.http import HttpResponse
from rest_framework.request import Request

from agentweb.agent_actions.paging import MAX_CURSOR, number
from agentweb.http import bodies
from agentweb.http.views import AgentView, json_response
from agentweb.ledger import receipts
from agentweb.wire.errors import AuthenticationError, Code, InputError
from agentweb.wire.json_writing import dumps
from agentweb.wire.strict_json import loads

DEFAULT_PAGE: Final = 50
MAX_PAGE: Final = 100


class ReceiptsView(AgentView):
    """``GET ?after=&limit=``: the caller's own receipts, oldest first, ``{"items", "next_cursor"}``."""

    def get(self, request: Request, **captured: Any) -> HttpResponse:
        _require_key(self)
        after = number(self, "after", Code.INVALID_CURSOR, default=0, low=0, high=MAX_CURSOR)
        limit = number(self, "limit", Code.INVALID_PARAMETER, default=DEFAULT_PAGE, low=1, high=MAX_PAGE)
        items, next_cursor = receipts.page(self.caller, site=self.site, after=after, limit=limit)
        return json_response(dumps({"items": items, "next_cursor": next_cursor}))


class ReceiptView(AgentView):
    """``GET``: one of the caller's own receipts; anybody else's is 404."""

    def get(self, request: Request, *, receipt_id: str, **captured: Any) -> HttpResponse:
        _require_key(self)
        return json_response(dumps(receipts.find(self.caller, receipt_id, site=self.site)))


class ReceiptsHeadView(AgentView):
    """``GET``: ``{"type", "site", "seq", "hash", "at", "kid", "sig"}``, open to everyone."""

    def get(self, request: Request, **captured: Any) -> HttpResponse:
        return json_response(dumps(receipts.signed_head(self.site)))


class VerifyReceiptView(AgentView):
    """``POST {"receipt": …}``: whether it is this site's and stands in its log, open to everyone."""

    def post(self, request: Request, **captured: Any) -> HttpResponse:
        sent = loads(self.body(), max_bytes=bodies.limit())
        if not isinstance(sent, dict) or sent.keys() != {"receipt"}:
            raise InputError(
                [
                    {
                        "pointer": "",
                        "field": "body",
                        "code": "shape",
                        "message": 'The body is {"receipt": the receipt as it was issued} and nothing else.',
                        "in": "request",
                    }
                ]
            )
        return json_response(dumps(receipts.verify(sent["receipt"])))


def _require_key(view: AgentView) -> None:
    if view.caller.is_anonymous:
        raise AuthenticationError(
            Code.GRANT_REQUIRED,
            "Sign the request with the key whose receipts you want, under its grant or alone.",
        )
