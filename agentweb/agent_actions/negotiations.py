"""Bargaining over the wire (AGENT_ACTIONS section 6); answers where the site has a negotiator, else nothing is here.

::

    POST <negotiation>       {"terms", "price", "currency", "note"?}
    POST <negotiation>/<id>  {"offer", "note"?} or {"accept": <round>} or {"reject": true}
    GET  <negotiation>/<id>
"""

from __future__ import annotations

from typing import Any, Final

from django.http import HttpResponse
from rest_framework.request import Request

from agentweb.access.authorization import require_scopes
from agentweb.agent_actions.noted import NotedView
from agentweb.http import bodies
from agentweb.http.headers import is_preflight
from agentweb.http.request_members import Members, Note
from agentweb.http.views import json_response
from agentweb.negotiation import moves, negotiator
from agentweb.negotiation.answers import MAX_NOTE
from agentweb.negotiation.negotiator import Context
from agentweb.wire.agreements import normal_terms
from agentweb.wire.errors import Code, InputError, RequestError
from agentweb.wire.json_writing import dumps
from agentweb.wire.strict_json import Json, loads

NAME: Final = "negotiation"
"""What the audit log calls it, where calls have the name of their action."""


class _BargainingView(NotedView):
    noted_as = NAME

    def check_route(self) -> None:
        if not negotiator.is_set() and not is_preflight(self.http_request):
            raise RequestError(Code.NOT_FOUND, "This site does not bargain.")
        super().check_route()

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        super().initial(request, *args, **kwargs)
        if self.http_request.method != "OPTIONS":
            require_scopes(self.caller, [], what="Negotiating")

    def context(self) -> Context:
        return Context(self.caller, self.request_id, self.http_request)


class NegotiationsView(_BargainingView):
    """``POST``: the first offer."""

    def post(self, request: Request, **captured: Any) -> HttpResponse:
        sent = loads(self.body(), max_bytes=bodies.limit())
        return self.noted(sent, lambda: self._begin(sent))

    def _begin(self, sent: Json) -> dict[str, Any]:
        members = Members(sent, ("terms", "price", "currency", "note"))
        terms = members.read("terms", _terms, is_required=True)
        price = members.read("price", _anything, is_required=True)
        currency = members.read("currency", _text, is_required=True)
        note = members.read("note", _note)
        members.refuse_problems()
        minor = moves.read_price(price, currency or "", field="price")
        self.allowances.append(moves.take_turn(self.caller))
        return moves.begin(
            self.context(),
            site=self.site,
            terms=terms or {},
            price=minor,
            currency=currency or "",
            note=note or "",
        )


class NegotiationView(_BargainingView):
    """``GET``: how it stands. ``POST``: the next offer, or the end."""

    def get(self, request: Request, *, negotiation_id: str, **captured: Any) -> HttpResponse:
        return json_response(dumps(moves.shown(moves.find(self.caller, negotiation_id, site=self.site))))

    def post(self, request: Request, *, negotiation_id: str, **captured: Any) -> HttpResponse:
        sent = loads(self.body(), max_bytes=bodies.limit())
        return self.noted(sent, lambda: self._move(negotiation_id, sent))

    def _move(self, ident: str, sent: Json) -> dict[str, Any]:
        members = Members(sent, ("offer", "accept", "reject", "note"))
        price = members.read("offer", _anything)
        made = members.read("accept", _round)
        members.read("reject", _true)
        note = members.read("note", _note)
        members.refuse_problems()
        named = {"offer", "accept", "reject"} & set(sent)  # type: ignore[arg-type]
        if len(named) != 1:
            raise InputError(
                [
                    {
                        "pointer": "",
                        "field": "body",
                        "code": "shape",
                        "message": 'Send one of these: {"offer": "85.00"}, {"accept": 1}, {"reject": true}.',
                        "in": "request",
                    }
                ]
            )
        if "accept" in named:
            return moves.accept(self.caller, ident, made or 0, site=self.site)
        if "reject" in named:
            return moves.reject(self.caller, ident, site=self.site)
        moves.find(self.caller, ident, site=self.site)  # what is not there costs nothing
        self.allowances.append(moves.take_turn(self.caller))
        return moves.offer(self.context(), ident, site=self.site, price=price, note=note or "")


def _terms(value: Json, note: Note) -> dict[str, Any]:
    try:
        return normal_terms(value)
    except ValueError as error:
        note((), "terms", str(error))
        return {}


def _anything(value: Json, note: Note) -> Json:
    return value


def _text(value: Json, note: Note) -> str:
    if not isinstance(value, str):
        note((), "type", "currency is an active ISO 4217 code, such as USD.")
        return ""
    return value


def _note(value: Json, note: Note) -> str:
    if not isinstance(value, str) or len(value) > MAX_NOTE or "\0" in value:
        note((), "format", f"note is a text of at most {MAX_NOTE} characters.")
        return ""
    return value


def _round(value: Json, note: Note) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        note((), "type", "accept is the number of the round whose price you accept.")
        return 0
    return value


def _true(value: Json, note: Note) -> None:
    if value is not True:
        note((), "const", "reject is true; leave it out otherwise.")
