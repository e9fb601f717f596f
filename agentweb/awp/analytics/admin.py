"""Requests of agents in the admin: a chart of the last weeks, its numbers as a table, and the rows."""

from __future__ import annotations

from typing import Any, ClassVar

from agentweb.access.admin.base import ReadOnlyAdmin


class AgentRequestsAdmin(ReadOnlyAdmin):
    list_display = ("day", "protocol", "family", "requests")
    list_display_links = None
    list_filter = ("protocol", "family")
    date_hierarchy = "day"
    ordering: ClassVar[Any] = ("-day", "-requests", "protocol", "family")
    fields = ("day", "protocol", "family", "requests")
