"""Requests of agents in the admin: a chart of the last weeks with its numbers as tables, and the rows below."""

from __future__ import annotations

from datetime import timedelta
from typing import Any, ClassVar, Final

from django.http import HttpRequest, HttpResponse

from agentweb.access.admin.base import ReadOnlyAdmin
from agentweb.awp.analytics import charts, listening, reading

DAYS: Final = 30
"""Of the chart."""


class AgentRequestsAdmin(ReadOnlyAdmin):
    list_display = ("day", "protocol", "family", "requests")
    list_display_links = None
    list_filter = ("protocol", "family")
    ordering: ClassVar[Any] = ("-day", "-requests", "protocol", "family")
    fields = ("day", "protocol", "family", "requests")

    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        last = reading.today()
        stretch = reading.read(last - timedelta(days=DAYS - 1), last)
        series = list(stretch.by_protocol())
        by_day = stretch.by_day()
        shown = {
            "chart": charts.columns(by_day, series),
            "days": [
                (day, [counts.get(name, 0) for name in series], sum(counts.values()))
                for day, counts in reversed(by_day.items())
                if counts
            ],
            "families": list(stretch.by_family().items()),
            "total": stretch.total,
            "first": stretch.first,
            "last": stretch.last,
            "is_counting": listening.is_on(),
        }
        return super().changelist_view(request, {**(extra_context or {}), "agentweb_shown": shown})
