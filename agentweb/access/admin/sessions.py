"""Sessions in the admin: give a person's program a token, see who is connected, end a connection."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, ClassVar

from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.utils.safestring import SafeString
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from agentweb.access import sessions
from agentweb.access.admin import showing
from agentweb.access.admin.decisions import Decision, RevokingAdmin
from agentweb.access.admin.issuing import (
    ISSUE,
    REVOKE,
    guided_form,
    issue_once,
    shown_once,
    unused_scopes,
)
from agentweb.access.admin.people import PersonColumns, PersonFilter, search_by_name
from agentweb.access.admin.states import StateFilter, state_badge
from agentweb.access.admin.terms import ScopesInUse, SessionForm, layout_of
from agentweb.access.models import Session
from agentweb.wire.clock import now_datetime


class SessionAdmin(PersonColumns, RevokingAdmin):
    """``scopes_in_use`` is set by the front door, which knows the catalog. A token is shown once and kept nowhere."""

    list_display = ("name", "person", "state", "last_seen_at", "expires_at", "created_at", "grant_link")
    list_display_links = ("name",)
    add_label = _("Issue a session token")
    list_filter = (StateFilter, PersonFilter)
    list_select_related = ("user",)
    ordering = ("-created_at",)
    search_help_text = _("The beginning of an id, words of the client's name, or a person's name.")
    fields = (
        "ident",
        "name",
        "state",
        "person_detail",
        "grant_link",
        "created_at",
        "last_seen_at",
        "expires_at",
        "revoked_at",
        "calls",
    )
    decisions: ClassVar = (
        Decision(
            "revoke",
            _("Revoke"),
            _("Revoke sessions"),
            _("Their tokens and the grants behind them count no longer, from this moment on and for good."),
            REVOKE,
            asks_reason=True,
        ),
    )
    revocation: ClassVar = decisions[0]

    def currencies_in_use(self) -> Sequence[str]:
        """Those that the costs of the site's actions are in."""
        return ()

    def scopes_in_use(self) -> ScopesInUse:
        """What the site's actions ask for."""
        return {}

    def get_search_fields(self, request: HttpRequest) -> tuple[str, ...]:
        return ("id__startswith", "client_name__icontains", search_by_name())

    def has_add_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm(ISSUE)

    def revoke(self, row: Session, reason: str) -> bool:
        return sessions.revoke(row.pk, reason)

    def describe(self, row: Session) -> Any:
        return showing.lines([showing.said(row.client_name or row.pk), showing.person(row.user)])

    def add_view(
        self, request: HttpRequest, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        if not self.has_add_permission(request):
            raise PermissionDenied
        form = SessionForm(
            request.POST if request.method == "POST" else None,
            request=request,
            site=self.admin_site,
            scopes_in_use=self.scopes_in_use(),
            currencies=self.currencies_in_use(),
            person_required=True,
        )
        if request.method == "POST" and form.is_valid():
            created = issue_once(request, form, partial(self._create, request, form))
            if created is not None:
                return shown_once(
                    request,
                    self,
                    template="admin/agentweb/session_issued.html",
                    title=_("The session has begun"),
                    session=created[0],
                    value=created[1],
                    unused=unused_scopes(form.wanted["scopes"], self.scopes_in_use()),
                )
        return guided_form(
            request,
            self,
            form,
            layout_of(form),
            title=_("Issue a session token"),
            submit=_("Issue the token"),
        )

    def _create(self, request: HttpRequest, form: SessionForm) -> tuple[Session, str]:
        terms = {name: value for name, value in form.wanted.items() if name not in {"subject", "delegate"}}
        session, token = sessions.create(
            site=form.audience or "", client_name=form.cleaned_data["client_name"], **terms
        )
        self.log_addition(request, session, f"Token issued: {' '.join(form.wanted['scopes'])}"[:1_000])
        return session, token

    @admin.display(description=_("Client"), ordering="client_name")
    def name(self, row: Session) -> SafeString:
        return showing.said(row.client_name or row.pk)

    @admin.display(description=_("Session"))
    def ident(self, row: Session) -> SafeString:
        return showing.code(row.pk)

    @admin.display(description=_("State"))
    def state(self, row: Session) -> SafeString:
        return state_badge(row, now_datetime())

    @admin.display(description=_("Grant"))
    def grant_link(self, row: Session) -> SafeString:
        return showing.link(self.admin_site, "grant", row.grant_id, showing.short(row.grant_id))

    @admin.display(description=_("Calls"))
    def calls(self, row: Session) -> SafeString:
        return showing.list_link(
            self.admin_site, "auditentry", gettext("Calls of this session"), q=f"session:{row.pk}"
        )
