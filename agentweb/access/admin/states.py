"""States of rows that end: active, expired, revoked."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.contrib import admin
from django.http import HttpRequest
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _

from agentweb.access.admin import showing
from agentweb.access.admin.base import Rows
from agentweb.wire.clock import now_datetime


class StateFilter(admin.SimpleListFilter):
    title = _("state")
    parameter_name = "state"

    def lookups(self, request: HttpRequest, model_admin: Any) -> Any:
        return [("active", _("active")), ("expired", _("expired")), ("revoked", _("revoked"))]

    def queryset(self, request: HttpRequest, queryset: Rows) -> Rows:
        return in_state(queryset, self.value())


def in_state(rows: Rows, state: str | None) -> Rows:
    """Rows with ``expires_at`` and ``revoked_at`` that are active, expired or revoked; all of them otherwise."""
    at = now_datetime()
    if state == "active":
        return rows.filter(revoked_at=None, expires_at__gt=at)
    if state == "expired":
        return rows.filter(revoked_at=None, expires_at__lte=at)
    if state == "revoked":
        return rows.filter(revoked_at__isnull=False)
    return rows


def state_badge(row: Any, at: datetime) -> SafeString:
    """The state of such a row in a coloured word."""
    if row.revoked_at is not None:
        return showing.badge("bad", _("revoked"))
    if row.expires_at <= at:
        return showing.badge("over", _("expired"))
    return showing.badge("good", _("active"))
