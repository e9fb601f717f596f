"""Calls in the admin: the audit log and the idempotency records, for looking at only."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.contrib import admin
from django.http import HttpRequest
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _

from agentweb.access.admin import showing
from agentweb.access.admin.base import LogAdmin, OlderFilter, Rows
from agentweb.access.admin.people import PersonColumns, PersonFilter
from agentweb.catalog.registry import registry
from agentweb.invoke.audit import OK, REPLAYED
from agentweb.invoke.models import AuditEntry, IdempotencyRecord
from agentweb.wire.clock import now_datetime

_PERIODS = {
    "hour": (_("Past hour"), timedelta(hours=1)),
    "day": (_("Past 24 hours"), timedelta(days=1)),
    "week": (_("Past 7 days"), timedelta(days=7)),
    "month": (_("Past 30 days"), timedelta(days=30)),
}


class WhenFilter(admin.SimpleListFilter):
    """By the indexed time; a date hierarchy would go through the whole table to find out which months there are."""

    title = _("time")
    parameter_name = "when"

    def lookups(self, request: HttpRequest, model_admin: Any) -> Any:
        return [(name, label) for name, (label, _period) in _PERIODS.items()]

    def queryset(self, request: HttpRequest, queryset: Rows) -> Rows:
        chosen = _PERIODS.get(self.value() or "")
        return queryset if chosen is None else queryset.filter(at__gte=now_datetime() - chosen[1])


class OutcomeFilter(admin.SimpleListFilter):
    title = _("outcome")
    parameter_name = "result"

    def lookups(self, request: HttpRequest, model_admin: Any) -> Any:
        return [
            (OK, _("done")),
            (REPLAYED, _("answered again")),
            ("refused", _("refused (4xx)")),
            ("failed", _("failed (5xx)")),
        ]

    def queryset(self, request: HttpRequest, queryset: Rows) -> Rows:
        value = self.value()
        if value == "refused":
            return queryset.filter(status__gte=400, status__lt=500)
        if value == "failed":
            return queryset.filter(status__gte=500)
        return queryset.filter(outcome=value) if value in {OK, REPLAYED} else queryset


class ActionFilter(admin.SimpleListFilter):
    """Of the actions that are declared today: to list those of the log would mean reading all of it."""

    title = _("action")
    parameter_name = "action_name"

    def lookups(self, request: HttpRequest, model_admin: Any) -> Any:
        return [(action.name, action.name) for action in registry.actions()]

    def queryset(self, request: HttpRequest, queryset: Rows) -> Rows:
        value = self.value()
        return queryset if value is None else queryset.filter(action=value)


class ProtocolFilter(admin.SimpleListFilter):
    title = _("protocol")
    parameter_name = "protocol_name"

    def lookups(self, request: HttpRequest, model_admin: Any) -> Any:
        return [(name, name) for name in model_admin.protocols]

    def queryset(self, request: HttpRequest, queryset: Rows) -> Rows:
        value = self.value()
        return queryset if value is None else queryset.filter(protocol=value)


class AuditEntryAdmin(PersonColumns, LogAdmin):
    """``protocols`` is set by the front door, which knows the rooms."""

    protocols: tuple[str, ...] = ()
    list_display = (
        "at",
        "call",
        "outcome_badge",
        "person",
        "subject_short",
        "grant_link",
        "protocol",
        "took",
    )
    list_filter = (WhenFilter, OutcomeFilter, ActionFilter, ProtocolFilter, PersonFilter, OlderFilter)
    list_select_related = ("user",)
    search_fields = ("request_id__exact", "subject__exact", "grant__exact")
    search_help_text = _("A whole request id, grant id, agent's key or session (session:ss_…).")
    fields = (
        "request_code",
        "at",
        "call",
        "outcome_badge",
        "protocol",
        "caller_kind",
        "subject_code",
        "grant_link",
        "person_detail",
        "idempotency_text",
        "page_code",
        "digest_code",
        "took",
    )

    @admin.display(description=_("Call"))
    def call(self, row: AuditEntry) -> SafeString:
        return showing.pair(showing.said(row.action), showing.effect(row.effect))

    @admin.display(description=_("Outcome"))
    def outcome_badge(self, row: AuditEntry) -> SafeString:
        if row.status >= 500:
            state = "bad"
        elif row.status >= 400:
            state = "waiting"
        else:
            state = "good" if row.status else "over"
        return showing.badge(state, showing.said(f"{row.outcome} {row.status or ''}".strip()))

    @admin.display(description=_("Caller"))
    def subject_short(self, row: AuditEntry) -> SafeString:
        return showing.short(row.subject) if row.subject else showing.person(None)

    @admin.display(description=_("Caller"))
    def subject_code(self, row: AuditEntry) -> SafeString:
        return showing.code(row.subject) if row.subject else showing.person(None)

    @admin.display(description=_("Grant"))
    def grant_link(self, row: AuditEntry) -> SafeString:
        if not row.grant:
            return showing.person(None)
        return showing.link(self.admin_site, "grant", row.grant, showing.short(row.grant))

    @admin.display(description=_("Request"))
    def request_code(self, row: AuditEntry) -> SafeString:
        return showing.code(row.request_id)

    @admin.display(description=_("Idempotency key"))
    def idempotency_text(self, row: AuditEntry) -> SafeString:
        return showing.code(row.idempotency_key) if row.idempotency_key else showing.person(None)

    @admin.display(description=_("Page"))
    def page_code(self, row: AuditEntry) -> SafeString:
        return showing.code(row.page) if row.page else showing.person(None)

    @admin.display(description=_("Digest of the input"))
    def digest_code(self, row: AuditEntry) -> SafeString:
        return showing.code(row.input_digest) if row.input_digest else showing.person(None)

    @admin.display(description=_("Took"))
    def took(self, row: AuditEntry) -> str:
        return f"{row.duration_us / 1_000:.1f} ms"


class IdempotencyRecordAdmin(LogAdmin):
    """Which intents were seen. The kept answers are the agents' and are not shown."""

    list_display = ("created_at", "action_text", "key_text", "state", "status", "subject_short", "expires_at")
    list_filter = ("state", OlderFilter)
    search_fields = ("subject__exact", "request_id__exact", "key__exact")
    search_help_text = _("A whole key, request id or agent's key.")
    fields = (
        "action_text",
        "key_text",
        "subject_code",
        "state",
        "status",
        "request_link",
        "fingerprint_code",
        "created_at",
        "lease_until",
        "expires_at",
    )

    @admin.display(description=_("Action"))
    def action_text(self, row: IdempotencyRecord) -> SafeString:
        return showing.said(row.action)

    @admin.display(description=_("Key"))
    def key_text(self, row: IdempotencyRecord) -> SafeString:
        return showing.code(row.key)

    @admin.display(description=_("Agent"))
    def subject_short(self, row: IdempotencyRecord) -> SafeString:
        return showing.short(row.subject)

    @admin.display(description=_("Agent"))
    def subject_code(self, row: IdempotencyRecord) -> SafeString:
        return showing.code(row.subject)

    @admin.display(description=_("Request"))
    def request_link(self, row: IdempotencyRecord) -> SafeString:
        return showing.list_link(self.admin_site, "auditentry", row.request_id, q=row.request_id)

    @admin.display(description=_("Digest of the request"))
    def fingerprint_code(self, row: IdempotencyRecord) -> SafeString:
        return showing.code(row.fingerprint)
