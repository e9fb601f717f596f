"""The guided forms: what an agent may do, spend, and for how long. Everything that is wrong is said at once.

A form never issues anything. When it is valid, ``wanted`` holds the arguments of ``grants.issue``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Final

from django import forms
from django.conf import settings
from django.contrib.admin import AdminSite
from django.http import HttpRequest
from django.utils.html import format_html, format_html_join
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _

from agentweb import conf
from agentweb.access import grants
from agentweb.access.admin.people import may_give_for, person_field
from agentweb.access.admin.showing import effect, said
from agentweb.access.issuing import check_request
from agentweb.access.models import Grant
from agentweb.access.sessions import check_client_name
from agentweb.wire.encoding import new_nonce
from agentweb.wire.errors import MoneyError
from agentweb.wire.grant_shape import MAX_DELEGATE, MAX_NOTE
from agentweb.wire.grants import Mandate
from agentweb.wire.http_signature import authority_of
from agentweb.wire.money import CURRENCIES, parse_amount
from agentweb.wire.signing import PREFIX

ScopesInUse = Mapping[str, Sequence[tuple[str, str]]]
"""Each scope that the site's actions ask for -> (title, effect) of these actions. ``""`` stands for the actions that
any grant may call."""

_HOUR: Final = 3_600
_DAY: Final = 86_400
_CUSTOM: Final = "custom"
_INTENT: Final = re.compile(r"[A-Za-z0-9_-]{16,64}")
_FIELD_OF: Final = {
    "expires_in": "life",
    "mandate.currency": "currency",
    "mandate.per_tx": "per_tx",
    "mandate.total": "total",
}
_ANY_SUBJECT: Final = "session:" + "A" * 22
"""A subject that is well-formed, for checking everything else before the real one exists."""


def audience_of(request: HttpRequest) -> str | None:
    """``host[:port]`` that grants are for: from AGENTWEB["ORIGIN"], or the request's under DEBUG; None without."""
    origin = conf.get("ORIGIN") or (f"{request.scheme}://{request.get_host()}" if settings.DEBUG else None)
    try:
        return None if origin is None else authority_of(origin)
    except ValueError:
        return None


class TermsForm(forms.Form):
    """What grants and session tokens have in common."""

    intent = forms.CharField(widget=forms.HiddenInput, max_length=64)
    note = forms.CharField(
        label=_("Note"),
        required=False,
        max_length=MAX_NOTE,
        widget=forms.TextInput(attrs={"class": "vTextField"}),
        help_text=_("One line for people: who the agent is and what it is for. It stands in the grant."),
    )
    scopes = forms.MultipleChoiceField(label=_("Scopes"), required=False, widget=forms.CheckboxSelectMultiple)
    patterns = forms.CharField(
        label=_("Other scopes"),
        required=False,
        widget=forms.Textarea(attrs={"rows": 2, "class": "vLargeTextField"}),
        help_text=_(
            "Scopes or patterns such as cart:*, separated by spaces or lines. * alone is everything."
        ),
    )
    currency = forms.ChoiceField(label=_("Currency"), required=False)
    per_tx = forms.DecimalField(label=_("For one purchase"), required=False)
    total = forms.DecimalField(label=_("In all"), required=False)
    life = forms.ChoiceField(label=_("Ends after"), widget=forms.RadioSelect)
    days = forms.IntegerField(label=_("Days"), required=False, min_value=1)

    def __init__(
        self,
        *args: Any,
        request: HttpRequest,
        site: AdminSite,
        scopes_in_use: ScopesInUse,
        currencies: Sequence[str] = (),
        person_required: bool = False,
        **options: Any,
    ) -> None:
        super().__init__(*args, **options)
        self.staff = request.user
        self.audience = audience_of(request)
        self.wanted: dict[str, Any] = {}
        self.fields["user"] = person_field(
            request, site, Grant._meta.get_field("user"), required=person_required
        )
        self.initial = {"intent": new_nonce(), "life": str(_DAY), "delegate": "0", **self.initial}
        longest = grants.max_life()
        self.set_choices(
            "scopes", [(scope, _words(scope, uses)) for scope, uses in sorted(scopes_in_use.items()) if scope]
        )
        self.set_choices(
            "currency", [("", gettext("may not spend")), *((code, code) for code in _sorted(currencies))]
        )
        presets = [(_HOUR, _("1 hour")), (_DAY, _("1 day")), (30 * _DAY, _("30 days"))]
        self.set_choices(
            "life",
            [(str(seconds), label) for seconds, label in presets if seconds <= longest]
            + [(_CUSTOM, _("as many days as written below"))],
        )
        most = longest // _DAY
        self.fields["days"].help_text = ngettext("At most %d day.", "At most %d days.", most) % most
        for name in ("per_tx", "total"):
            self.fields[name].widget.attrs |= {"step": "any", "min": "0", "class": "vNumberField"}
        self.fields["per_tx"].help_text = gettext("Empty: the whole sum at once.")
        self.fields["scopes"].help_text = _any_grant(scopes_in_use.get("", ()))
        if not any(scopes_in_use):
            del self.fields["scopes"]

    def set_choices(self, name: str, choices: Any) -> None:
        field = self.fields[name]
        assert isinstance(field, forms.ChoiceField)  # noqa: S101 - tells the type
        field.choices = choices

    def clean_intent(self) -> str:
        intent = str(self.cleaned_data["intent"])
        if not _INTENT.fullmatch(intent):
            raise forms.ValidationError(gettext("Load the page again and fill in the form once more."))
        return intent

    def clean(self) -> dict[str, Any]:
        cleaned: dict[str, Any] = super().clean() or self.cleaned_data
        if self.audience is None:
            self.add_error(
                None, gettext('AGENTWEB["ORIGIN"] does not name the site, so a grant would be for nobody.')
            )
        person = cleaned.get("user")
        if not may_give_for(self.staff, person):
            self.add_error("user", gettext("For somebody of the staff only a superuser can do this."))
        checked, written = cleaned.get("scopes", []), re.split(r"[\s,]+", cleaned.get("patterns", "").strip())
        scopes = [*checked, *filter(None, written)]
        self.wanted = {
            "subject": cleaned.get("subject") or _ANY_SUBJECT,
            "scopes": scopes,
            "expires_in": self._life(cleaned),
            "mandate": self._mandate(cleaned),
            "delegate": int(cleaned.get("delegate") or 0),
            "one_time": bool(cleaned.get("one_time")),
            "user": person,
            "note": cleaned.get("note", ""),
        }
        self.add_problems(check_request(longest=grants.max_life(), **self.wanted), scopes, len(checked))
        return cleaned

    def add_problems(
        self, problems: Sequence[dict[str, Any]], scopes: Sequence[str] = (), checked: int = 0
    ) -> None:
        """Put each problem at its field; a field that has an error of its own already needs no second one."""
        had = set(self.errors)
        for entry in problems:
            name, message = entry["field"], entry["message"]
            if name.startswith("scopes"):
                place = int(name.partition(".")[2] or -1)
                if place >= 0 and place < len(scopes):
                    message = f"{scopes[place]}: {message}"
                name = "scopes" if 0 <= place < checked or "scopes" in had else "patterns"
            name = _FIELD_OF.get(name, name)
            if name not in had:
                self.add_error(name if name in self.fields else None, message)

    def _life(self, cleaned: Mapping[str, Any]) -> int:
        life = cleaned.get("life")
        if life != _CUSTOM:
            return int(life or 1)
        if cleaned.get("days") is not None:
            if cleaned["days"] * _DAY > grants.max_life():
                most = grants.max_life() // _DAY
                self.add_error("days", ngettext("At most %d day.", "At most %d days.", most) % most)
                return 1
            return int(cleaned["days"]) * _DAY
        if "days" not in self.errors:
            self.add_error("days", gettext("Write how many days."))
        return 1

    def _mandate(self, cleaned: Mapping[str, Any]) -> Mandate | None:
        currency, total, per_tx = (cleaned.get(name) for name in ("currency", "total", "per_tx"))
        if not currency:
            if (total is not None or per_tx is not None) and "currency" not in self.errors:
                self.add_error("currency", gettext("Choose the currency of the sum."))
            return None
        if total is None:
            if "total" not in self.errors:
                self.add_error("total", gettext("Write how much may be spent in all."))
            return None
        amounts = [
            self._minor("per_tx", total if per_tx is None else per_tx, currency),
            self._minor("total", total, currency),
        ]
        if "per_tx" in self.errors or "total" in self.errors or None in amounts:
            return None
        return Mandate(currency, *(minor for minor in amounts if minor is not None))

    def _minor(self, name: str, value: Any, currency: str) -> int | None:
        try:
            return parse_amount(value, currency)
        except MoneyError as error:
            # An empty per_tx is the total, whose own field says what is wrong with it.
            if self.cleaned_data.get(name) is not None:
                self.add_error(name, error.message)
            return None


class GrantForm(TermsForm):
    """A grant for an agent's key."""

    subject = forms.CharField(
        label=_("Agent's public key"),
        max_length=100,
        widget=forms.TextInput(
            attrs={
                "class": "vTextField agentweb-key",
                "placeholder": "ed25519:…",
                "autocomplete": "off",
                "spellcheck": "false",
            }
        ),
        help_text=_("ed25519: and 43 characters, as the agent's owner sent it. It is not a secret."),
    )
    one_time = forms.BooleanField(
        label=_("For one action only"),
        required=False,
        help_text=_("The grant is used up by the first call that changes something."),
    )
    delegate = forms.TypedChoiceField(
        label=_("May be handed on"),
        coerce=int,
        choices=[("0", _("no")), *((str(n), str(n)) for n in range(1, MAX_DELEGATE + 1))],
        help_text=_("How many times in a row the agent may give a narrower grant to another agent."),
    )

    def clean_subject(self) -> str:
        subject = str(self.cleaned_data["subject"])
        if not subject.startswith(PREFIX):
            # The handle of a session is a subject too, but nobody could sign with it.
            raise forms.ValidationError(gettext('A public key is written "ed25519:" and 43 characters.'))
        return subject

    layout: ClassVar[Any] = (
        (None, {"fields": ("subject", "user", "note")}),
        (_("What it may do"), {"fields": ("scopes", "patterns")}),
        (_("What it may spend"), {"fields": ("currency", "total", "per_tx")}),
        (_("How long, how often"), {"fields": ("life", "days", "one_time", "delegate")}),
    )


class SessionForm(TermsForm):
    """A bearer token of a person."""

    client_name = forms.CharField(
        label=_("Name of the client"),
        max_length=100,
        widget=forms.TextInput(attrs={"class": "vTextField"}),
        help_text=_("What the person will see in the list of connected agents."),
    )

    def clean_client_name(self) -> str:
        name = str(self.cleaned_data["client_name"])
        for entry in check_client_name(name):
            raise forms.ValidationError(entry["message"])
        return name

    layout: ClassVar[Any] = (
        (None, {"fields": ("user", "client_name", "note")}),
        (_("What it may do"), {"fields": ("scopes", "patterns")}),
        (_("What it may spend"), {"fields": ("currency", "total", "per_tx")}),
        (_("How long"), {"fields": ("life", "days")}),
    )


def _sorted(in_use: Sequence[str]) -> list[str]:
    """All currencies, those in which something costs anything here first. None is chosen beforehand: a grant that may
    spend is one that somebody meant to."""
    return sorted(CURRENCIES, key=lambda code: (code not in in_use, code))


def layout_of(form: TermsForm) -> Any:
    """The fieldsets without the fields that this site has no use for."""

    layout = form.layout  # type: ignore[attr-defined]
    return [
        (title, {"fields": [name for name in options["fields"] if name in form.fields]})
        for title, options in layout
    ]


def _words(scope: str, uses: Sequence[tuple[str, str]]) -> Any:
    titles = format_html_join(", ", "{} {}", ((said(title), effect(name)) for title, name in uses))
    return format_html("<code>{}</code> {}", scope, titles)


def _any_grant(uses: Sequence[tuple[str, str]]) -> str:
    if not uses:
        return ""
    titles = format_html_join(", ", "{}", ((said(title),) for title, _effect in uses))
    return format_html(gettext("Every grant may also call: {}."), titles)
