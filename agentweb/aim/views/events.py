"""Events: what happened after a cursor, and waiting for it."""

from __future__ import annotations

import time
from typing import Any, ClassVar, Final

from django.db import connections
from django.http import HttpResponse
from rest_framework.request import Request

from agentweb.aim import shapes, wakeups
from agentweb.aim.events import read_events
from agentweb.aim.operations import CURSOR, Operation
from agentweb.aim.policy import PAGE_DEFAULT
from agentweb.aim.views.base import AimView, answer
from agentweb.http.waiting import threads
from agentweb.wire.errors import Code, ServerError
from agentweb.wire.schema import compile_schema

_QUERY: Final = compile_schema(shapes.EVENTS_QUERY)
BUSY_SECONDS: Final = 1
"""When to ask again, where the process could not wait."""


class EventsView(AimView):
    """``GET ?after=&limit=&wait=&types=``."""

    operations: ClassVar = {
        "GET": Operation(
            "return",
            "What happened after a cursor, oldest first. Nothing is left out, and it can be read again.",
            {200: "Events"},
            query=shapes.EVENTS_QUERY,
            codes=(*CURSOR, Code.CURSOR_EXPIRED, Code.CURSOR_FUTURE),
        )
    }

    def get(self, request: Request, **captured: Any) -> HttpResponse:
        query = self.query(_QUERY)
        ends_at = time.monotonic() + query.get("wait", 0)
        mark = wakeups.mark()
        found = self.read(query.get("after"), query)
        if _is_something(found) or time.monotonic() >= ends_at:
            return answer(found)
        try:
            place = threads.take_call(is_threaded=not hasattr(self.http_request, "scope"))
        except ServerError:
            response = answer({**found, "retry_after": BUSY_SECONDS})
            response["Retry-After"] = str(BUSY_SECONDS)
            return response
        with place:
            while not _is_something(found) and (left := ends_at - time.monotonic()) > 0:
                _leave_database()
                wakeups.wait(left, mark)
                mark = wakeups.mark()
                found = self.read(found["cursor"], query)
        return answer(found)

    def read(self, after: str | None, query: dict[str, Any]) -> dict[str, Any]:
        limit = query.get("limit", PAGE_DEFAULT)
        return read_events(self.agent, after, limit, query.get("types"), self.site)


def _is_something(found: dict[str, Any]) -> bool:
    """Whether there is what to answer with: events, or that there is more to look at, for which nobody need wait."""
    return bool(found["events"]) or bool(found["has_more"])


def _leave_database() -> None:
    """Whoever waits holds no connection: there are fewer of them than of those who wait."""
    if not any(each.in_atomic_block for each in connections.all(initialized_only=True)):
        connections.close_all()
