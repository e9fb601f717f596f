"""Decisions: what staff may do with a row, each on a page that asks once more and, where it helps, for a reason.

A ``Decision`` is shown as a button on a row's page (or, with ``on_list``, on the list). It is a POST with CSRF like
everything that changes something in the admin, and it is written to the admin's log.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Final, cast

from django import forms
from django.contrib import admin, messages
from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.contrib.admin.models import CHANGE, LogEntry
from django.contrib.admin.utils import quote, unquote
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import URLPattern, path, reverse
from django.utils.functional import Promise
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _

from agentweb.access.admin.base import ReadOnlyAdmin, Rows, render
from agentweb.access.admin.showing import said
from agentweb.wire.errors import AgentError

MOST_AT_ONCE: Final = 500
MAX_REASON: Final = 200

_Text = str | Promise


class Refused(Exception):
    """The decision cannot be taken; the message says why."""


@dataclass(frozen=True, slots=True)
class Decision:
    """``name`` is the last part of its URL and, with ``decide_`` before it, the method of the ModelAdmin that does it:
    ``(request, row, reason) -> str``, the sentence for the admin's log. It may raise ``Refused`` or an AgentError.
    """

    name: str
    label: _Text
    title: _Text
    question: _Text
    permission: str
    asks_reason: bool = False
    on_list: bool = False
    is_grave: bool = True


class ReasonForm(forms.Form):
    reason = forms.CharField(
        label=_("Reason"),
        required=False,
        max_length=MAX_REASON,
        widget=forms.TextInput(attrs={"class": "vTextField"}),
        help_text=_("For the site's own records; agents do not see it."),
    )


class DecidingAdmin(ReadOnlyAdmin):
    """A ReadOnlyAdmin with ``decisions``."""

    decisions: ClassVar[Sequence[Decision]] = ()

    def may_decide(self, request: HttpRequest, decision: Decision, row: Any = None) -> bool:
        """May this person take this decision, and does it make sense (any more) for this row?"""
        return request.user.has_perm(decision.permission)

    def get_urls(self) -> list[URLPattern]:
        return [self._url(decision) for decision in self.decisions] + super().get_urls()

    def change_view(
        self,
        request: HttpRequest,
        object_id: str,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> HttpResponse:
        row = self.get_object(request, unquote(object_id))
        buttons = [] if row is None else self._buttons(request, row)
        return super().change_view(
            request, object_id, form_url, {**(extra_context or {}), "agentweb_buttons": buttons}
        )

    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        buttons = self._buttons(request, None)
        return super().changelist_view(request, {**(extra_context or {}), "agentweb_buttons": buttons})

    def decision_view(
        self, request: HttpRequest, decision: Decision, object_id: str | None = None
    ) -> HttpResponse:
        """Ask on GET, do on POST, and go back to the row or the list."""
        row = None
        if object_id is not None:
            row = self.get_object(request, unquote(object_id))
            if row is None:
                raise Http404
        if not self.has_view_permission(request, row) or not request.user.has_perm(decision.permission):
            raise PermissionDenied
        back = self._back(row)
        if not self.may_decide(request, decision, row):
            messages.warning(request, gettext("There is nothing to decide here any more."))
            return HttpResponseRedirect(back)
        form = ReasonForm(request.POST if request.method == "POST" else None)
        if request.method == "POST" and form.is_valid():
            try:
                done = getattr(self, f"decide_{decision.name}")(request, row, form.cleaned_data["reason"])
            except Refused as refused:
                messages.error(request, str(refused))
                return HttpResponseRedirect(back)
            except AgentError as error:
                messages.error(request, error.message)
                return HttpResponseRedirect(back)
            messages.success(request, done)
            return HttpResponseRedirect(back)
        return self.ask(request, decision, [] if row is None else [row], form, back=back)

    def ask(
        self,
        request: HttpRequest,
        decision: Decision,
        rows: Sequence[Any],
        form: ReasonForm,
        *,
        back: str,
        hidden: Sequence[tuple[str, str]] = (),
    ) -> HttpResponse:
        """The page that asks once more."""
        return render(
            request,
            self,
            "admin/agentweb/decide.html",
            title=decision.title,
            decision=decision,
            form=form if decision.asks_reason else None,
            descriptions=[self.describe(row) for row in rows],
            hidden=hidden,
            back=back,
        )

    def describe(self, row: Any) -> Any:
        """One line about a row, for the page that asks."""
        return said(row)

    def _url(self, decision: Decision) -> URLPattern:
        def view(request: HttpRequest, object_id: str | None = None) -> HttpResponse:
            return self.decision_view(request, decision, object_id)

        route = f"{decision.name}/" if decision.on_list else f"<path:object_id>/{decision.name}/"
        name = f"{self.opts.app_label}_{self.opts.model_name}_{decision.name}"
        return path(route, self.admin_site.admin_view(view), name=name)

    def _buttons(self, request: HttpRequest, row: Any) -> list[tuple[_Text, str]]:
        args = [] if row is None else [quote(str(row.pk))]
        names = f"{self.opts.app_label}_{self.opts.model_name}"
        return [
            (
                decision.label,
                reverse(f"admin:{names}_{decision.name}", args=args, current_app=self.admin_site.name),
            )
            for decision in self.decisions
            if decision.on_list == (row is None) and self.may_decide(request, decision, row)
        ]

    def _back(self, row: Any) -> str:
        names = f"admin:{self.opts.app_label}_{self.opts.model_name}"
        if row is None:
            return reverse(f"{names}_changelist", current_app=self.admin_site.name)
        return reverse(f"{names}_change", args=[quote(str(row.pk))], current_app=self.admin_site.name)


class RevokingAdmin(DecidingAdmin):
    """Rows that can be revoked: by a button on the page, or many at once from the list."""

    revocation: ClassVar[Decision]
    actions = ("revoke_selected",)

    def revoke(self, row: Any, reason: str) -> bool:
        """Revoke; True unless it was revoked before."""
        raise NotImplementedError

    def has_revoke_permission(self, request: HttpRequest) -> bool:
        """Asked by Django for ``revoke_selected``."""
        return request.user.has_perm(self.revocation.permission)

    def may_decide(self, request: HttpRequest, decision: Decision, row: Any = None) -> bool:
        still = decision is not self.revocation or row is None or row.revoked_at is None
        return still and super().may_decide(request, decision, row)

    def decide_revoke(self, request: HttpRequest, row: Any, reason: str) -> str:
        is_new = self.revoke(row, reason)
        if not is_new:
            raise Refused(gettext("It was revoked before."))
        self.log_change(request, row, _logged(reason))
        return gettext("Revoked. It counts no longer, from this moment on.")

    @admin.action(permissions=["revoke"], description=_("Revoke selected %(verbose_name_plural)s"))
    def revoke_selected(self, request: HttpRequest, queryset: Rows) -> HttpResponse | None:
        rows = list(queryset[: MOST_AT_ONCE + 1])
        if len(rows) > MOST_AT_ONCE:
            self.message_user(
                request, gettext("Select at most %d at once.") % MOST_AT_ONCE, level=messages.ERROR
            )
            return None
        form = ReasonForm(request.POST if "decided" in request.POST else None)
        if not form.is_bound or not form.is_valid():
            hidden = [(ACTION_CHECKBOX_NAME, str(row.pk)) for row in rows]
            hidden += [("action", "revoke_selected"), ("decided", "yes")]
            return self.ask(request, self.revocation, rows, form, back=self._back(None), hidden=hidden)
        reason = form.cleaned_data["reason"]
        revoked = [row for row in rows if self.revoke(row, reason)]
        LogEntry.objects.log_actions(cast(Any, request.user).pk, revoked, CHANGE, _logged(reason))
        before = len(rows) - len(revoked)
        said_of_it = ngettext("%d was revoked.", "%d were revoked.", len(revoked)) % len(revoked)
        if before:
            said_of_it += " " + ngettext("%d was before.", "%d were before.", before) % before
        self.message_user(request, said_of_it, level=messages.SUCCESS)
        return None


def _logged(reason: str) -> str:
    return f"Revoked: {reason}" if reason else "Revoked."
