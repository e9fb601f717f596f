"""Approvals in the admin: calls that wait for a person, first; staff with the permission decide."""

from __future__ import annotations

from typing import Any, ClassVar

from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.db.models import Case, IntegerField, Value, When
from django.http import HttpRequest
from django.utils.safestring import SafeString
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from agentweb.access import approvals
from agentweb.access.admin import showing
from agentweb.access.admin.base import Rows
from agentweb.access.admin.decisions import DecidingAdmin, Decision, Refused
from agentweb.access.admin.people import PersonColumns, PersonFilter
from agentweb.access.models import Approval
from agentweb.wire.clock import now_datetime
from agentweb.wire.errors import AgentError
from agentweb.wire.strict_json import loads

State = Approval.State

_WORDS = {
    State.PENDING: ("waiting", _("waiting")),
    State.APPROVED: ("good", _("approved")),
    State.DENIED: ("bad", _("denied")),
    State.USED: ("over", _("used")),
    State.EXPIRED: ("over", _("expired")),
}


class ApprovalStateFilter(admin.SimpleListFilter):
    title = _("state")
    parameter_name = "state"

    def lookups(self, request: HttpRequest, model_admin: Any) -> Any:
        return [(state.value, word) for state, (_class, word) in _WORDS.items()]

    def queryset(self, request: HttpRequest, queryset: Rows) -> Rows:
        value, at = self.value(), now_datetime()
        if value is None:
            return queryset
        is_open = (State.PENDING, State.APPROVED)
        if value in is_open:
            return queryset.filter(state=value, expires_at__gt=at)
        if value == State.EXPIRED:
            return queryset.filter(state=value) | queryset.filter(state__in=is_open, expires_at__lte=at)
        return queryset.filter(state=value)


class ApprovalAdmin(PersonColumns, DecidingAdmin):
    list_display = ("call", "person", "cost", "agent", "created_at", "expires_at", "state_word")
    list_display_links = ("call",)
    list_filter = (ApprovalStateFilter, PersonFilter)
    list_select_related = ("user",)
    sortable_by = ()
    # What waits stands first, the longest waiting on top of it by its end.
    ordering: ClassVar = (
        Case(When(state=State.PENDING, then=Value(0)), default=Value(1), output_field=IntegerField()),
        "-created_at",
    )
    search_fields = ("id__startswith", "subject__startswith", "action__icontains", "grant_id__startswith")
    search_help_text = _(
        "The beginning of an id, of a grant's id or of an agent's key, or a part of an action's name."
    )
    fields = (
        "call",
        "state_word",
        "input_shown",
        "cost",
        "person_detail",
        "agent_detail",
        "grant_link",
        "created_at",
        "expires_at",
        "decided_at",
        "decider",
        "used_at",
        "ident",
    )
    decisions: ClassVar = (
        Decision(
            "approve",
            _("Approve"),
            _("Approve this call"),
            _("The agent may make exactly this call, with exactly this input, once."),
            approvals.PERMISSION,
            is_grave=False,
        ),
        Decision(
            "deny",
            _("Deny"),
            _("Deny this call"),
            _("The agent is told that a person said no, and so is the same call again for a while."),
            approvals.PERMISSION,
        ),
    )

    def may_decide(self, request: HttpRequest, decision: Decision, row: Any = None) -> bool:
        return (
            super().may_decide(request, decision, row)
            and approvals.may_decide(row, request.user)
            and approvals.state_of(row) == State.PENDING
            and (decision.name != "approve" or not approvals.ends_of([row]))
        )

    def decide_approve(self, request: HttpRequest, row: Approval, reason: str) -> str:
        self._decide(request, row, approvals.approve, "Approved.")
        return gettext("Approved. The agent may now make this call once.")

    def decide_deny(self, request: HttpRequest, row: Approval, reason: str) -> str:
        self._decide(request, row, approvals.deny, "Denied.")
        return gettext("Denied.")

    def describe(self, row: Approval) -> Any:
        return showing.lines([self.call(row), self.cost(row), self.person_detail(row), self.input_shown(row)])

    def _decide(self, request: HttpRequest, row: Approval, decide: Any, logged: str) -> None:
        try:
            in_time = decide(row.pk, by=request.user)
        except PermissionDenied as error:
            raise Refused(str(error)) from None
        if not in_time:
            raise Refused(gettext("Too late: it was decided before, or it has expired."))
        self.log_change(request, row, logged)

    @admin.display(description=_("Call"))
    def call(self, row: Approval) -> SafeString:
        effect = showing.effect(row.effect)
        return showing.pair(showing.said(row.action), effect)

    @admin.display(description=_("Cost"))
    def cost(self, row: Approval) -> str:
        return "–" if row.amount is None else showing.amount(row.amount, row.currency)

    @admin.display(description=_("Agent"))
    def agent(self, row: Approval) -> SafeString:
        return showing.short(row.subject)

    @admin.display(description=_("Agent"))
    def agent_detail(self, row: Approval) -> SafeString:
        return showing.code(row.subject)

    @admin.display(description=_("Grant"))
    def grant_link(self, row: Approval) -> SafeString:
        if not row.grant_id:
            return showing.person(None)
        return showing.link(self.admin_site, "grant", row.grant_id, showing.code(row.grant_id))

    @admin.display(description=_("Input, without secrets"))
    def input_shown(self, row: Approval) -> SafeString:
        try:
            return showing.document(loads(row.shown.encode()))
        except (AgentError, ValueError):
            return showing.said(row.shown)

    @admin.display(description=_("Decided by"))
    def decider(self, row: Approval) -> SafeString:
        return showing.person(row.decided_by)

    @admin.display(description=_("State"))
    def state_word(self, row: Approval) -> SafeString:
        return showing.badge(*_WORDS[approvals.state_of(row)])

    @admin.display(description=_("Id"))
    def ident(self, row: Approval) -> SafeString:
        return showing.code(row.pk)
