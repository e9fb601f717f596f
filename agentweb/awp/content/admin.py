"""The content in the admin: what agents read of each page, and what the runs found. Nothing is edited here: content is
what the site's own pages say."""

from __future__ import annotations

import json
from typing import Any, Final

from django.contrib import admin
from django.http import HttpRequest
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _

from agentweb.access.admin import showing
from agentweb.access.admin.base import LogAdmin, OlderFilter, Rows
from agentweb.awp.content import published
from agentweb.awp.content.models import ContentPage, ContentRun
from agentweb.awp.content.outcomes import IN_WORDS, Reason
from agentweb.wire.clock import now_datetime
from agentweb.wire.visible import visible

_SHOWN_PARTS: Final = 10
_SHOWN_REPORTS: Final = 200
_COUNTS: Final = {
    "created": _("new"),
    "changed": _("changed"),
    "unchanged": _("unchanged"),
    "removed": _("removed"),
    "left_out": _("left out"),
    "failed": _("failed"),
}


class SectionFilter(admin.SimpleListFilter):
    title = _("section")
    parameter_name = "of_section"

    def lookups(self, request: HttpRequest, model_admin: Any) -> Any:
        return [(each.id, visible(each.title)) for each in published.sections()[:100]]

    def queryset(self, request: HttpRequest, queryset: Rows) -> Rows:
        value = self.value()
        return queryset if value is None else queryset.filter(section=value)


class LanguageFilter(admin.SimpleListFilter):
    title = _("language")
    parameter_name = "of_language"

    def lookups(self, request: HttpRequest, model_admin: Any) -> Any:
        return [(each, each) for each in published.languages_there()]

    def queryset(self, request: HttpRequest, queryset: Rows) -> Rows:
        value = self.value()
        return queryset if value is None else queryset.filter(language=value)


class ContentPageAdmin(LogAdmin):
    """Each page as agents get it."""

    list_display = ("path_text", "title_text", "language", "section", "tokens", "parts", "updated_at")
    list_display_links = ("path_text",)
    list_filter = (SectionFilter, LanguageFilter, OlderFilter)
    search_fields = ("slug__startswith", "path__startswith")
    search_help_text = _("The beginning of a path, with its slash, or of a slug.")
    fields = (
        "path_text",
        "title_text",
        "description_text",
        "slug_code",
        "language",
        "section",
        "source",
        "tokens",
        "parts",
        "updated_at",
        "confirmed_at",
        "text",
    )

    @admin.display(description=_("Page"))
    def path_text(self, row: ContentPage) -> SafeString:
        return showing.said(row.path)

    @admin.display(description=_("Title"))
    def title_text(self, row: ContentPage) -> SafeString:
        return showing.said(row.title)

    @admin.display(description=_("Description"))
    def description_text(self, row: ContentPage) -> SafeString:
        return showing.said(row.description) if row.description else showing.NOTHING

    @admin.display(description=_("Slug"))
    def slug_code(self, row: ContentPage) -> SafeString:
        return showing.code(row.slug)

    @admin.display(description=_("What agents read"))
    def text(self, row: ContentPage) -> SafeString:
        parts = row.content_parts.order_by("number").values_list("text", flat=True)[:_SHOWN_PARTS]
        shown: list[object] = [
            format_html('<pre class="agentweb-document">{}</pre>', visible(part, lines=True))
            for part in parts
        ]
        left = row.parts - len(shown)
        if left > 0:
            shown.append(ngettext("%d part more", "%d parts more", left) % left)
        return showing.lines(shown)


class ContentRunAdmin(LogAdmin):
    """When the site was looked at, and what of it is not published and why."""

    list_display = ("started_at", "state", "took", "told")
    list_display_links = ("started_at",)
    list_filter = (OlderFilter,)
    fields = ("started_at", "finished_at", "state", "told", "reports_list")

    @admin.display(description=_("State"))
    def state(self, row: ContentRun) -> SafeString:
        if row.is_running and row.leased_until > now_datetime():
            return showing.badge("waiting", _("at work"))
        if row.finished_at is None:
            return showing.badge("bad", _("was ended"))
        return (
            showing.badge("good", _("complete")) if row.is_complete else showing.badge("bad", _("incomplete"))
        )

    @admin.display(description=_("Took"))
    def took(self, row: ContentRun) -> Any:
        if row.finished_at is None:
            return showing.NOTHING
        return gettext("%d seconds") % round((row.finished_at - row.started_at).total_seconds())

    @admin.display(description=_("Pages"))
    def told(self, row: ContentRun) -> Any:
        counts = json.loads(row.counts)
        found = [f"{counts[name]} {word}" for name, word in _COUNTS.items() if counts.get(name)]
        return ", ".join(found) or showing.NOTHING

    @admin.display(description=_("Not published"))
    def reports_list(self, row: ContentRun) -> SafeString:
        reports = json.loads(row.reports)
        if not reports:
            return showing.NOTHING
        shown: list[object] = [_report(each) for each in reports[:_SHOWN_REPORTS]]
        left = len(reports) - len(shown)
        if left:
            shown.append(ngettext("%d page more", "%d pages more", left) % left)
        return showing.lines(shown)


def _report(report: dict[str, Any]) -> SafeString:
    badge = (
        showing.badge("bad", _("failed")) if report["is_failure"] else showing.badge("over", _("left out"))
    )
    why = IN_WORDS[Reason(report["reason"])]
    if report["detail"]:
        why = f"{why} ({report['detail']})"
    where = f"{report['path']} ({report['language']})" if report["language"] else report["path"]
    return format_html("{} {}: {}", badge, showing.said(where), showing.said(why))
