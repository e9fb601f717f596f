"""``GET /agent-index/find`` and ``POST /agent-index/manifests``, open to everybody."""

from __future__ import annotations

from typing import Any, Final

from django.http import HttpResponse
from rest_framework.request import Request

from agentweb import conf
from agentweb.client.manifest import EFFECTS
from agentweb.http import bodies, queries
from agentweb.http.addresses import address_of
from agentweb.http.views import AgentView, json_response
from agentweb.index import submitting
from agentweb.index.finding import PER_SITE, Wanted, find
from agentweb.wire.errors import AgentError, Code, InputError, MoneyError, RequestError
from agentweb.wire.json_writing import dumps
from agentweb.wire.money import CURRENCIES, parse_amount
from agentweb.wire.schema import compile_schema
from agentweb.wire.strict_json import loads

MAX_QUERY: Final = 500
DEFAULT_LIMIT: Final = 10
MAX_LIMIT: Final = 50
MAX_URL: Final = 2_000

QUERY: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {
        "q": {
            "type": "string",
            "minLength": 1,
            "maxLength": MAX_QUERY,
            "pattern": r"\S",
            "description": "What is to be done, in a few words: buy printer paper.",
        },
        "effect": {"type": "string", "enum": list(EFFECTS)},
        "site": {"type": "string", "minLength": 1, "maxLength": 262, "description": "host or host:port"},
        "currency": {"type": "string", "enum": sorted(CURRENCIES)},
        "max_cost": {
            "type": "string",
            "maxLength": 40,
            "description": "The most that it may cost, in currency: 19.99.",
        },
        "per_site": {
            "type": "integer",
            "minimum": 1,
            "maximum": MAX_LIMIT,
            "description": f"Results of one site; {PER_SITE} unless given, and all where site is.",
        },
        "limit": {"type": "integer", "minimum": 1, "maximum": MAX_LIMIT, "default": DEFAULT_LIMIT},
        "cursor": {"type": "string", "description": "next_cursor of the page before, as it came."},
    },
    "required": ["q"],
    "dependentRequired": {"max_cost": ["currency"]},
    "additionalProperties": False,
}
"""The query string, as JSON Schema."""
_QUERY: Final = compile_schema(QUERY)

BODY: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {"url": {"type": "string", "minLength": 1, "maxLength": MAX_URL}},
    "required": ["url"],
    "additionalProperties": False,
}
_BODY: Final = compile_schema(BODY)


class FindView(AgentView):
    """Actions and flows of many sites that fit a query."""

    def get(self, request: Request, **captured: Any) -> HttpResponse:
        asked = queries.typed(self.query_pairs, _QUERY)
        found = find(_wanted(asked), limit=asked.get("limit", DEFAULT_LIMIT), cursor=asked.get("cursor"))
        return json_response(dumps(found))


class ManifestsView(AgentView):
    """Somebody names a site; its manifest is read from the site itself."""

    def post(self, request: Request, **captured: Any) -> HttpResponse:
        if not conf.get_in("INDEX", "SUBMISSIONS"):
            raise RequestError(Code.NOT_ALLOWED, "This index takes no sites from others.", status=403)
        sent = loads(self.body(), max_bytes=bodies.limit())
        try:
            _BODY.check(sent)
        except InputError as error:
            raise InputError([{**each, "in": "request"} for each in error.problems or ()]) from None
        self.allowances.append(submitting.admit(address_of(self.http_request)))
        status, body = submitting.submit(sent["url"])  # type: ignore[index, call-overload, arg-type]
        response = json_response(dumps(body), status=status)
        if "retry_after" in body:
            response["Retry-After"] = str(body["retry_after"])
        return response


def _wanted(asked: dict[str, Any]) -> Wanted:
    cost = asked.get("max_cost")
    site = asked.get("site")
    return Wanted(
        text=asked["q"],
        effect=asked.get("effect"),
        site=None if site is None else site.lower(),
        currency=asked.get("currency"),
        max_cost=None if cost is None else _amount(cost, asked["currency"]),
        per_site=asked.get("per_site", 0 if site else PER_SITE),
    )


def _amount(text: str, currency: str) -> int:
    try:
        return 0 if set(text) <= {"0", "."} and "0" in text else parse_amount(text, currency)
    except MoneyError as error:
        raise AgentError(
            Code.INVALID_PARAMETER, f"max_cost: {error.message}", status=400, field="max_cost"
        ) from None
