"""``GET /awp/analytics.json?from=&to=``: the counts, for programs of the site's staff.

A cookie says nothing here, as everywhere. The caller is known by a grant or a session of a person who is staff and may
view the counts in the admin, and whoever was given that grant was given its scope with it: an agent that shops for a
member of staff reads nothing.
"""

from __future__ import annotations

from datetime import date
from typing import Any, Final

from django.http import HttpResponse
from rest_framework.request import Request

from agentweb.access.authorization import require_scopes
from agentweb.access.callers import Caller
from agentweb.awp.analytics import listening, reading
from agentweb.awp.views import AwpView
from agentweb.http import queries
from agentweb.http.views import json_response
from agentweb.wire.errors import AuthorizationError, Code, InputError, RequestError
from agentweb.wire.json_writing import dumps
from agentweb.wire.schema import compile_schema
from agentweb.wire.schema.problems import make_problem

SCOPE: Final = "analytics:read"
PERMISSION: Final = "agentweb.view_agentrequests"
DEFAULT_DAYS: Final = 30
MOST_DAYS: Final = 92

QUERY: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {
        "from": {
            "type": "string",
            "format": "date",
            "description": f"The first day in UTC; without it, that of the {DEFAULT_DAYS} days up to the last.",
        },
        "to": {
            "type": "string",
            "format": "date",
            "description": "The last day in UTC; without it, today.",
        },
    },
    "additionalProperties": False,
}
"""The query string, as JSON Schema."""
_QUERY: Final = compile_schema(QUERY)


class AnalyticsView(AwpView):
    """What was counted of some days, at most MOST_DAYS."""

    def get(self, request: Request, **captured: Any) -> HttpResponse:
        if not listening.is_on():
            raise RequestError(Code.NOT_FOUND, "This site does not count requests.")
        require_staff(self.caller)
        first, last = days_of(queries.typed(self.query_pairs, _QUERY))
        return json_response(dumps(reading.read(first, last).as_dict()))


def require_staff(caller: Caller) -> None:
    """Return for a member of staff who may view the counts, under a grant with the scope.

    Raises 401 grant_required, 403 insufficient_scope or not_allowed.
    """
    require_scopes(caller, [SCOPE], what="Reading how the site is used")
    user: Any = caller.user
    if not (user.is_active and getattr(user, "is_staff", False) and user.has_perm(PERMISSION)):
        raise AuthorizationError(
            Code.NOT_ALLOWED,
            "Only staff who may view the requests of agents read them, and agents that act for such a person.",
        )


def days_of(asked: dict[str, str]) -> tuple[date, date]:
    """The first and the last day. Raises invalid_parameter with every problem."""
    try:
        last = date.fromisoformat(asked["to"]) if "to" in asked else reading.today()
        first = (
            date.fromisoformat(asked["from"])
            if "from" in asked
            else date.fromordinal(max(1, last.toordinal() - DEFAULT_DAYS + 1))
        )
    except ValueError:
        # RFC 3339 has a year 0.
        raise _refused(
            "from" if asked.get("from", "").startswith("0000") else "to", "names a year after 0"
        ) from None
    if first > last:
        raise _refused("from", "is no later than 'to'")
    if (last - first).days >= MOST_DAYS:
        raise _refused("from", f"is at most {MOST_DAYS - 1} days before 'to'")
    return first, last


def _refused(name: str, what: str) -> InputError:
    problem = {**make_problem((name,), "range", f"'{name}' {what}."), "in": "query"}
    return InputError([problem], f"Correct {name} and ask again.", code=Code.INVALID_PARAMETER)
