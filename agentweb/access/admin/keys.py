"""Keys in the admin: the site's own, of which the secret half is never shown, and those that people enrolled."""

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

from agentweb.access import principals, revocations, site_keys
from agentweb.access.admin import showing
from agentweb.access.admin.decisions import DecidingAdmin, Decision, Refused, RevokingAdmin
from agentweb.access.admin.issuing import REVOKE, guided_form
from agentweb.access.admin.people import (
    PersonColumns,
    PersonFilter,
    may_give_for,
    person_field,
    search_by_name,
)
from agentweb.access.models import Grant, PrincipalKey, SiteKey
from agentweb.wire.clock import now_datetime
from agentweb.wire.errors import AgentError
from agentweb.wire.signing import parse_public_key, thumbprint

_MAY_CREATE = "agentweb.add_sitekey"
_MAY_CHANGE = "agentweb.change_sitekey"
_FIELD_OF = {"key": "public"}


class SiteKeyAdmin(DecidingAdmin):
    """Which key signs, and which ones did. Sealing them anew after a change of SECRET_KEY stays with the command."""

    list_display = ("kid_code", "state", "created_at", "retired_at")
    ordering = ("-is_active", "-created_at")
    fields = ("kid_code", "public_code", "state", "created_at", "retired_at")
    decisions: ClassVar = (
        Decision(
            "create",
            _("Make the first key"),
            _("Make the site's key"),
            _("The site signs grants and receipts with it from now on."),
            _MAY_CREATE,
            on_list=True,
            is_grave=False,
        ),
        Decision(
            "rotate",
            _("Rotate"),
            _("Replace the site's key"),
            _(
                "A new key is published now and signs in a few minutes, when every copy of the manifest has it. "
                "Until then the present one signs; what it signed still counts and still verifies."
            ),
            _MAY_CHANGE,
            on_list=True,
        ),
        Decision(
            "retire",
            _("Retire"),
            _("Retire the site's key"),
            _(
                "The site then has no key: it can issue no grants and take no payments until a new one is made. To "
                "replace the key, rotate it instead."
            ),
            _MAY_CHANGE,
        ),
    )

    def may_decide(self, request: HttpRequest, decision: Decision, row: Any = None) -> bool:
        if not super().may_decide(request, decision, row):
            return False
        if decision.name == "retire":
            return bool(row.is_active)
        has_active = SiteKey.objects.filter(is_active=True).exists()
        return has_active == (decision.name == "rotate")

    def decide_create(self, request: HttpRequest, row: None, reason: str) -> str:
        return self._made(request, site_keys.create)

    def decide_rotate(self, request: HttpRequest, row: None, reason: str) -> str:
        try:
            made = site_keys.rotate(settling=site_keys.settling_seconds())
        except site_keys.SiteKeyError as error:
            raise Refused(str(error)) from None
        self.log_addition(request, made, "Made; it replaces the key before in a few minutes.")
        return gettext("The key %s is published and signs in a few minutes.") % str(made.kid)

    def decide_retire(self, request: HttpRequest, row: SiteKey, reason: str) -> str:
        if not site_keys.retire(row.kid):
            raise Refused(gettext("It was retired before."))
        self.log_change(request, row, "Retired.")
        return gettext("The key is retired. The site has no key to sign with.")

    def _made(self, request: HttpRequest, make: Any) -> str:
        try:
            row = make()
        except site_keys.SiteKeyError as error:
            raise Refused(str(error)) from None
        self.log_addition(request, row, "Made; it signs from now on.")
        return gettext("The key %s signs from now on.") % str(row.kid)

    @admin.display(description=_("Key id (thumbprint)"), ordering="kid")
    def kid_code(self, row: SiteKey) -> SafeString:
        return showing.code(row.kid)

    @admin.display(description=_("Public key"))
    def public_code(self, row: SiteKey) -> SafeString:
        return showing.code(row.public)

    @admin.display(description=_("State"), ordering="is_active")
    def state(self, row: SiteKey) -> SafeString:
        at = now_datetime()
        if not row.is_active:
            still_signs = row.retired_at is not None and row.retired_at > at
            return (
                showing.badge("good", _("still signs"))
                if still_signs
                else showing.badge("over", _("retired"))
            )
        if SiteKey.objects.filter(retired_at__gt=at).exists():
            return showing.badge("waiting", _("published, signs soon"))
        return showing.badge("good", _("active"))


class EnrolForm(forms.Form):
    """A person's key that may issue grants in their name."""

    public = forms.CharField(
        label=_("Public key"),
        max_length=100,
        widget=forms.TextInput(
            attrs={"class": "vTextField agentweb-key", "placeholder": "ed25519:…", "autocomplete": "off"}
        ),
        help_text=_(
            "ed25519: and 43 characters. Make sure that it came from this person: it speaks for them."
        ),
    )
    label = forms.CharField(
        label=_("Label"),
        max_length=100,
        required=False,
        widget=forms.TextInput(attrs={"class": "vTextField"}),
        help_text=_("What the person calls it, such as: laptop."),
    )

    def __init__(self, *args: Any, model_admin: Any, request: HttpRequest, **options: Any) -> None:
        super().__init__(*args, **options)
        self.staff = request.user
        user = PrincipalKey._meta.get_field("user")
        self.fields["user"] = person_field(request, model_admin.admin_site, user, required=True)
        self.fields["user"].help_text = gettext("Whose key it is. With it they issue grants for themselves.")

    def clean_public(self) -> str:
        public = str(self.cleaned_data["public"])
        try:
            parse_public_key(public)
        except ValueError as error:
            raise forms.ValidationError(str(error)) from None
        return public

    def clean_user(self) -> Any:
        person = self.cleaned_data["user"]
        if not may_give_for(self.staff, person):
            raise forms.ValidationError(gettext("For somebody of the staff only a superuser can do this."))
        return person

    def clean_label(self) -> str:
        label = str(self.cleaned_data["label"])
        if label and not label.isprintable():
            raise forms.ValidationError(gettext("A label is one line of visible characters."))
        return label


class PrincipalKeyAdmin(PersonColumns, RevokingAdmin):
    """Keys that people enrolled; each may issue grants in its person's name."""

    add_label = _("Enrol a person's key")
    list_display = ("public_short", "person", "label_text", "created_at", "state")
    list_filter = (PersonFilter,)
    list_select_related = ("user",)
    ordering = ("-created_at",)
    search_help_text = _("The beginning of a key, words of its label, or a person's name.")
    fields = ("public_code", "person_detail", "label_text", "created_at", "revoked_at", "issued")
    decisions: ClassVar = (
        Decision(
            "revoke",
            _("Revoke"),
            _("Revoke keys"),
            _(
                "Every grant that these keys issued or hold ends now, for good. The keys can never be used here again."
            ),
            REVOKE,
            asks_reason=True,
        ),
    )
    revocation: ClassVar = decisions[0]

    def get_search_fields(self, request: HttpRequest) -> tuple[str, ...]:
        return ("public__startswith", "label__icontains", search_by_name())

    def has_add_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm("agentweb.add_principalkey")

    def revoke(self, row: PrincipalKey, reason: str) -> bool:
        return revocations.revoke(row.public, reason)

    def describe(self, row: PrincipalKey) -> Any:
        return showing.lines([showing.code(row.public), showing.person(row.user)])

    def add_view(
        self, request: HttpRequest, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        if not self.has_add_permission(request):
            raise PermissionDenied
        form = EnrolForm(
            request.POST if request.method == "POST" else None, model_admin=self, request=request
        )
        if request.method == "POST" and form.is_valid():
            row = self._enrol(form)
            if row is not None:
                self.log_addition(request, row, f"Enrolled for {row.user}"[:1_000])
                self.message_user(request, gettext("The key is enrolled."))
                return HttpResponseRedirect(
                    reverse("admin:agentweb_principalkey_changelist", current_app=self.admin_site.name)
                )
        fieldsets = [(None, {"fields": ("user", "public", "label")})]
        return guided_form(
            request, self, form, fieldsets, title=_("Enrol a person's key"), submit=_("Enrol the key")
        )

    def _enrol(self, form: EnrolForm) -> PrincipalKey | None:
        given = form.cleaned_data
        try:
            return principals.enrol(given["user"], given["public"], label=given["label"])
        except AgentError as error:
            for entry in error.problems or [{"field": "", "message": error.message}]:
                name = _FIELD_OF.get(entry["field"], entry["field"])
                form.add_error(name if name in form.fields else None, entry["message"])
            return None

    @admin.display(description=_("Key"), ordering="public")
    def public_short(self, row: PrincipalKey) -> SafeString:
        return showing.short(row.public)

    @admin.display(description=_("Key"))
    def public_code(self, row: PrincipalKey) -> SafeString:
        return showing.lines(
            [showing.code(row.public), gettext("Thumbprint (keyid): %s") % thumbprint(row.public)]
        )

    @admin.display(description=_("Label"), ordering="label", empty_value="–")
    def label_text(self, row: PrincipalKey) -> Any:
        return showing.said(row.label) if row.label else showing.NOTHING

    @admin.display(description=_("State"))
    def state(self, row: PrincipalKey) -> SafeString:
        if row.revoked_at is not None:
            return showing.badge("bad", _("revoked"))
        return showing.badge("good", _("active"))

    @admin.display(description=_("Grants that it issued"))
    def issued(self, row: PrincipalKey) -> SafeString:
        latest = (
            Grant.objects.filter(issuer=row.public).order_by("-created_at").values_list("pk", flat=True)[:20]
        )
        return showing.lines(showing.link(self.admin_site, "grant", pk, showing.code(pk)) for pk in latest)
