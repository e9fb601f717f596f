"""Revocations in the admin: the list, and taking back what is known by its id or key only."""

from __future__ import annotations

from typing import Any, ClassVar

from django import forms
from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils.safestring import SafeString
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from agentweb.access import revocations
from agentweb.access.admin import showing
from agentweb.access.admin.base import LogAdmin
from agentweb.access.admin.decisions import MAX_REASON
from agentweb.access.admin.issuing import REVOKE, guided_form
from agentweb.access.models import Revocation, SiteKey
from agentweb.wire.errors import InputError


class RevokeForm(forms.Form):
    ident = forms.CharField(
        label=_("Grant or key"),
        max_length=100,
        widget=forms.TextInput(
            attrs={
                "class": "vTextField agentweb-key",
                "placeholder": "gr_… / ed25519:…",
                "autocomplete": "off",
            }
        ),
        help_text=_(
            "A grant takes along every grant below it, a key every grant that it issued or holds. For good."
        ),
    )
    reason = forms.CharField(
        label=_("Reason"),
        required=False,
        max_length=MAX_REASON,
        widget=forms.TextInput(attrs={"class": "vTextField"}),
        help_text=_("For the site's own records; agents do not see it."),
    )

    def clean_ident(self) -> str:
        ident = str(self.cleaned_data["ident"])
        if SiteKey.objects.filter(public=ident).exists():
            # It would end every grant that the site ever issued: not with one careless paste.
            raise forms.ValidationError(
                gettext("This is the site's own key. Rotate it, or revoke it with manage.py revoke_grant.")
            )
        return ident


class RevocationAdmin(LogAdmin):
    list_display = ("ident_code", "reason_text", "at", "asked_by")
    list_display_links = ("ident_code",)
    add_label = _("Revoke a grant or a key")
    search_fields = ("ident__startswith",)
    search_help_text = _("The beginning of a grant's id or of a key.")
    fields = ("ident_code", "reason_text", "at", "expires_at", "asked_by", "grant_link", "seq")
    readonly_fields: ClassVar = fields

    def has_add_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm(REVOKE)

    def add_view(
        self, request: HttpRequest, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        if not self.has_add_permission(request):
            raise PermissionDenied
        form = RevokeForm(request.POST if request.method == "POST" else None)
        if request.method == "POST" and form.is_valid():
            ident, reason = form.cleaned_data["ident"], form.cleaned_data["reason"]
            try:
                is_new = revocations.revoke(ident, reason)
            except InputError as error:
                form.add_error("ident", error.message)
            else:
                row = Revocation.objects.filter(ident=ident, by="").first()
                if is_new and row is not None:
                    self.log_addition(request, row, f"Revoked: {reason}" if reason else "Revoked.")
                said = gettext("Revoked: %s") if is_new else gettext("Revoked before: %s")
                self.message_user(request, said % ident)
                return HttpResponseRedirect(
                    reverse("admin:agentweb_revocation_changelist", current_app=self.admin_site.name)
                )
        layout = [(None, {"fields": ("ident", "reason")})]
        return guided_form(
            request, self, form, layout, title=_("Revoke a grant or a key"), submit=_("Revoke")
        )

    @admin.display(description=_("Grant or key"))
    def ident_code(self, row: Revocation) -> SafeString:
        return showing.code(row.ident)

    @admin.display(description=_("Reason"), empty_value="–")
    def reason_text(self, row: Revocation) -> Any:
        return showing.said(row.reason) if row.reason else showing.NOTHING

    @admin.display(description=_("Asked for by"))
    def asked_by(self, row: Revocation) -> SafeString:
        if row.by:
            return showing.pair(showing.short(row.by), gettext("(counts where this key has the right)"))
        return showing.said(gettext("the site, or somebody with the right"))

    @admin.display(description=_("Grant"))
    def grant_link(self, row: Revocation) -> SafeString:
        if not row.ident.startswith("gr_"):
            return showing.person(None)
        return showing.link(self.admin_site, "grant", row.ident, showing.code(row.ident))
