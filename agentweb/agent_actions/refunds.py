"""Asking for money back, and how it stands (AGENT_ACTIONS section 4)."""

from __future__ import annotations

from decimal import Decimal
from typing import Any, Final

from django.http import HttpResponse
from rest_framework.request import Request

from agentweb.agent_actions.members import problem
from agentweb.agent_actions.mount import REFUNDS
from agentweb.http import bodies
from agentweb.http.request_members import unknown_members
from agentweb.http.views import AgentView, json_response
from agentweb.invoke import refunding
from agentweb.invoke.door import REPLAYED_HEADER
from agentweb.invoke.refunding import Wanted
from agentweb.ledger import refunds
from agentweb.wire.errors import AuthenticationError, Code, InputError
from agentweb.wire.json_writing import dumps
from agentweb.wire.strict_json import Json, loads

_MEMBERS: Final = ("receipt", "amount", "reason")


class RefundsView(AgentView):
    """``POST {"receipt", "amount"?, "reason"}`` with an Idempotency-Key: 200 when it was given, 202 when it waits."""

    def post(self, request: Request, **captured: Any) -> HttpResponse:
        _require_key(self)
        answered = refunding.ask(
            self.caller,
            _read(loads(self.body(), max_bytes=bodies.limit())),
            site=self.site,
            request_id=self.request_id,
            key=self.http_request.META.get("HTTP_IDEMPOTENCY_KEY"),
            path=f"/{REFUNDS}",
        )
        response = json_response(answered.body, status=answered.status)
        if answered.is_replayed:
            response[REPLAYED_HEADER] = "true"
        return response


class RefundView(AgentView):
    """``GET``: how a refund stands, for those who may read its receipt; anybody else's is 404."""

    def get(self, request: Request, *, refund_id: str, **captured: Any) -> HttpResponse:
        _require_key(self)
        refund = refunding.find(self.caller, refund_id, site=self.site)
        return json_response(dumps({"refund": refunds.as_document(refund)}))


def _require_key(view: AgentView) -> None:
    if view.caller.is_anonymous:
        raise AuthenticationError(
            Code.GRANT_REQUIRED, "Sign the request with the key that paid, under its grant or alone."
        )


def _read(sent: Json) -> Wanted:
    """The members of a request; InputError with everything that is wrong."""
    if not isinstance(sent, dict):
        raise InputError(
            [problem("", "type", 'The body is {"receipt": …, "reason": …}, and may have an amount.')]
        )
    problems = unknown_members(sent, _MEMBERS)
    receipt, reason, amount = sent.get("receipt"), sent.get("reason"), sent.get("amount")
    if not isinstance(receipt, str) or len(receipt) > 64:
        problems.append(problem("receipt", "format", "receipt is the id of one: rc_ and 22 characters."))
    if not isinstance(reason, str) or not 0 < len(reason) <= refunds.MAX_REASON or "\0" in reason:
        problems.append(
            problem("reason", "format", f"reason is a text of 1 to {refunds.MAX_REASON} characters.")
        )
    if "amount" in sent and (isinstance(amount, bool) or not isinstance(amount, (int, str, Decimal))):
        problems.append(problem("amount", "type", 'amount is a text such as "19.99", or a number.'))
    if problems:
        raise InputError(problems)
    return Wanted(receipt=str(receipt), amount=amount, reason=str(reason))  # type: ignore[arg-type]
