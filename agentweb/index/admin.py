"""The index in the admin: which sites are in it, what was found at each, and shutting one out."""

from __future__ import annotations

from datetime import datetime
from typing import Any, ClassVar, Final

from django.contrib import admin
from django.http import HttpRequest
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _

from agentweb.access.admin import showing
from agentweb.access.admin.base import LogAdmin, OlderFilter, Rows
from agentweb.access.admin.decisions import DecidingAdmin, Decision
from agentweb.index import store
from agentweb.index.models import IndexedEntry, IndexedSite
from agentweb.wire.clock import now_datetime

_CHANGE: Final = "agentweb.change_indexedsite"
_SHOWN: Final = 200
_BADGES: Final = {
    IndexedSite.State.WAITING: "waiting",
    IndexedSite.State.INDEXED: "good",
    IndexedSite.State.FAILED: "bad",
    IndexedSite.State.BLOCKED: "over",
}


class StateFilter(admin.SimpleListFilter):
    title = _("state")
    parameter_name = "is"

    def lookups(self, request: HttpRequest, model_admin: Any) -> Any:
        return IndexedSite.State.choices

    def queryset(self, request: HttpRequest, queryset: Rows) -> Rows:
        value = self.value()
        return queryset.filter(state=value) if value in IndexedSite.State.values else queryset


class IndexedSiteAdmin(DecidingAdmin, LogAdmin):
    """Every site that was named. Its texts are a stranger's, shown as texts."""

    list_display = ("site_text", "state_badge", "name_text", "confirmed_at", "due_at")
    list_display_links = ("site_text",)
    list_filter = (StateFilter, OlderFilter)
    search_fields = ("site__startswith",)
    search_help_text = _("The beginning of a host.")
    fields = (
        "site_text",
        "url_code",
        "state_badge",
        "problem",
        "name_text",
        "summary_text",
        "added_at",
        "fetched_at",
        "confirmed_at",
        "due_at",
        "entries",
    )
    decisions: ClassVar = (
        Decision(
            "again",
            _("Ask anew"),
            _("Ask this site anew"),
            _("The worker asks it for its manifest as soon as it can."),
            _CHANGE,
            is_grave=False,
        ),
        Decision(
            "shut_out",
            _("Shut out"),
            _("Shut this site out"),
            _("Nothing of it is found from now on, and it is not asked again, whoever names it."),
            _CHANGE,
            asks_reason=True,
        ),
        Decision(
            "let_in",
            _("Let in again"),
            _("Let this site in again"),
            _("It is asked for its manifest, and found by what that says."),
            _CHANGE,
            is_grave=False,
        ),
    )

    def may_decide(self, request: HttpRequest, decision: Decision, row: Any = None) -> bool:
        is_out = row is not None and row.state == IndexedSite.State.BLOCKED
        return super().may_decide(request, decision, row) and is_out == (decision.name == "let_in")

    def decide_again(self, request: HttpRequest, row: IndexedSite, reason: str) -> str:
        IndexedSite.objects.filter(pk=row.pk).update(due_at=now_datetime())
        self.log_change(request, row, "Asked anew.")
        return gettext("It is asked at the next look.")

    def decide_shut_out(self, request: HttpRequest, row: IndexedSite, reason: str) -> str:
        store.shut_out(row)
        self.log_change(request, row, f"Shut out: {reason}" if reason else "Shut out.")
        return gettext("It is shut out.")

    def decide_let_in(self, request: HttpRequest, row: IndexedSite, reason: str) -> str:
        at: datetime = now_datetime()
        IndexedSite.objects.filter(pk=row.pk).update(state=IndexedSite.State.WAITING, due_at=at)
        self.log_change(request, row, "Let in again.")
        return gettext("It is asked at the next look.")

    def describe(self, row: Any) -> Any:
        return showing.said(row.site)

    @admin.display(description=_("Site"))
    def site_text(self, row: IndexedSite) -> SafeString:
        return showing.said(row.site)

    @admin.display(description=_("Manifest"))
    def url_code(self, row: IndexedSite) -> SafeString:
        return showing.code(row.url)

    @admin.display(description=_("State"))
    def state_badge(self, row: IndexedSite) -> SafeString:
        state = IndexedSite.State(row.state)
        return showing.badge(_BADGES[state], state.label)

    @admin.display(description=_("Last problem"))
    def problem(self, row: IndexedSite) -> Any:
        if not row.code:
            return showing.NOTHING
        return format_html("{} {}", showing.code(row.code), showing.said(row.message))

    @admin.display(description=_("Name"))
    def name_text(self, row: IndexedSite) -> Any:
        return showing.said(row.name) if row.name else showing.NOTHING

    @admin.display(description=_("What it says of itself"))
    def summary_text(self, row: IndexedSite) -> Any:
        return showing.said(row.summary) if row.summary else showing.NOTHING

    @admin.display(description=_("Actions and flows"))
    def entries(self, row: IndexedSite) -> Any:
        found = IndexedEntry.objects.filter(site=row.pk)
        shown: list[object] = [
            format_html("{} ({}) {}", showing.said(each.name), each.effect, showing.said(each.description))
            for each in found.order_by("place")[:_SHOWN]
        ]
        left = found.count() - len(shown)
        if left > 0:
            shown.append(ngettext("%d more", "%d more", left) % left)
        return showing.lines(shown) if shown else showing.NOTHING
