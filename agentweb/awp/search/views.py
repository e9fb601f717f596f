"""``GET /awp/search?q=&limit=&cursor=``: the pages and actions that fit a query."""

from __future__ import annotations

from typing import Any, Final

from django.http import HttpResponse
from rest_framework.request import Request

from agentweb.awp import languages
from agentweb.awp.search.finding import MAX_QUERY, search
from agentweb.awp.views import AwpView
from agentweb.http import queries
from agentweb.http.views import json_response
from agentweb.wire.json_writing import dumps
from agentweb.wire.schema import compile_schema

DEFAULT_LIMIT: Final = 10
MAX_LIMIT: Final = 50

QUERY: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {
        "q": {
            "type": "string",
            "minLength": 1,
            "maxLength": MAX_QUERY,
            "pattern": r"\S",
            "description": "What is looked for, in a few words.",
        },
        "limit": {"type": "integer", "minimum": 1, "maximum": MAX_LIMIT, "default": DEFAULT_LIMIT},
        "cursor": {"type": "string", "description": "next_cursor of the page before, as it came."},
    },
    "required": ["q"],
    "additionalProperties": False,
}
"""The query string, as JSON Schema."""
_QUERY: Final = compile_schema(QUERY)


class SearchView(AwpView):
    """Answers what the caller may know of, and counts against their limit."""

    def get(self, request: Request, **captured: Any) -> HttpResponse:
        readable = self.languages
        pairs = [pair for pair in self.query_pairs if pair[0] != languages.PARAMETER]
        asked = queries.typed(pairs, _QUERY)
        found = search(
            asked["q"],
            self.caller,
            self.place,
            languages=readable,
            limit=asked.get("limit", DEFAULT_LIMIT),
            cursor=asked.get("cursor"),
        )
        response = json_response(dumps(found))
        if languages.are_several():
            response["Vary"] = "Agent-Grant, Agent-Key, Authorization, Accept-Language"
            response["Content-Language"] = readable[0]
        return response
