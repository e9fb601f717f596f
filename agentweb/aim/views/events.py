"""Events: what happened after a cursor, and waiting for it."""

from __future__ import annotations

import time
from typing import Any, ClassVar, Final

from django.db import DatabaseError, InterfaceError, connections
from django.http import HttpResponse
from rest_framework.request import Request

from agentweb.access.database import is_passing
from agentweb.aim import shapes
from agentweb.aim.events import read_events
from agentweb.aim.operations import CURSOR, Operation
from agentweb.aim.policy import PAGE_DEFAULT
from agentweb.aim.views.base import AimView, answer
from agentweb.aim.watch import Waiter, watch
from agentweb.http.waiting import threads
from agentweb.wire.errors import Code
from agentweb.wire.schema import compile_schema

_QUERY: Final = compile_schema(shapes.EVENTS_QUERY)
BUSY_SECONDS: Final = 1
"""When to ask again, where the process could not wait."""

AGAIN_SECONDS: Final = 0.2
"""Between two looks at a database that is away."""


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
        found = self.read(query.get("after"), query)
        if _is_something(found) or time.monotonic() >= ends_at:
            return answer(found)
        waiter = Waiter(self.agent, self.key)
        place = threads.take_poll(self.http_request, waiter.stream, waiter.end)
        if place is None:
            return _busy(found)
        with place:
            return self.wait(waiter, found, query, ends_at)

    def wait(
        self, waiter: Waiter, found: dict[str, Any], query: dict[str, Any], ends_at: float
    ) -> HttpResponse:
        """The answer when there is something, when the time is over, or when somebody else has to have the place."""
        has_failed = False
        while not _is_something(found) and (left := ends_at - time.monotonic()) > 0:
            _leave_database()
            has_news = watch.wait(waiter, found["cursor"], left)
            if waiter.is_ended:
                return _busy(found)
            found = {**found, "cursor": waiter.cursor}
            if not has_news:
                continue
            with watch.reading(ends_at - time.monotonic()) as has_turn:
                newer = self.read_if_possible(found["cursor"], query) if has_turn else None
            has_failed = newer is None
            if newer is not None:
                found = newer
            elif has_turn:
                time.sleep(min(AGAIN_SECONDS, max(0.0, ends_at - time.monotonic())))
        return _busy(found) if has_failed else answer(found)

    def read_if_possible(self, after: str, query: dict[str, Any]) -> dict[str, Any] | None:
        """None while the database is away: whoever has waited so long waits on."""
        try:
            return self.read(after, query)
        except (DatabaseError, InterfaceError) as error:
            if not is_passing(error):
                raise
            return None
        finally:
            _leave_database()

    def read(self, after: str | None, query: dict[str, Any]) -> dict[str, Any]:
        limit = query.get("limit", PAGE_DEFAULT)
        return read_events(self.agent, after, limit, query.get("types"), self.site)


def _is_something(found: dict[str, Any]) -> bool:
    """Whether there is what to answer with: events, or that there is more to look at, for which nobody need wait."""
    return bool(found["events"]) or bool(found["has_more"])


def _busy(found: dict[str, Any]) -> HttpResponse:
    """What there is, at once, and when to ask again."""
    response = answer({**found, "retry_after": BUSY_SECONDS})
    response["Retry-After"] = str(BUSY_SECONDS)
    return response


def _leave_database() -> None:
    """Whoever waits holds no connection: there are fewer of them than of those who wait."""
    if not any(each.in_atomic_block for each in connections.all(initialized_only=True)):
        connections.close_all()
