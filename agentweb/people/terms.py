"""The forms in which a person sets the terms: what, how much, how long. Never more than what was asked for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from django import forms
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from agentweb.access import grants
from agentweb.access.pairing import Wanted
from agentweb.access.sessions import MAX_CLIENT_NAME, check_client_name
from agentweb.people.offers import Offer, Offers, granted
from agentweb.wire.errors import MoneyError
from agentweb.wire.grant_shape import MAX_SCOPES
from agentweb.wire.grants import Mandate
from agentweb.wire.money import CURRENCIES, format_amount, parse_amount

_MINUTE: Final = 60
_HOUR: Final = 3_600
_DAY: Final = 24 * _HOUR
ANYTHING: Final = Wanted()
LIVES: Final = (
    (_HOUR, gettext_lazy("1 hour")),
    (_DAY, gettext_lazy("1 day")),
    (7 * _DAY, gettext_lazy("7 days")),
    (30 * _DAY, gettext_lazy("30 days")),
)
_FIELD_OF: Final = {
    "expires_in": "life",
    "mandate.currency": "spends",
    "mandate.per_tx": "per_tx",
    "mandate.total": "total",
}


class TermsForm(forms.Form):
    """The terms of a program that asks. ``terms`` holds them when the form is valid."""

    scopes = forms.MultipleChoiceField(
        required=False,
        error_messages={"invalid_choice": gettext_lazy("%(value)s was not asked for.")},
    )
    spends = forms.BooleanField(required=False)
    per_tx = forms.CharField(required=False, max_length=40)
    total = forms.CharField(required=False, max_length=40)
    life = forms.ChoiceField()

    def __init__(self, data: Any, *, offers: Offers, wanted: Wanted = ANYTHING) -> None:
        super().__init__(data)
        self._ticked: list[str] | None = None if data is None else data.getlist("scopes")
        self.offers = offers
        self.asked = wanted.mandate
        self._longest = grants.max_life()
        if wanted.expires_in is not None:
            self._longest = min(self._longest, wanted.expires_in)
        self._is_length_asked = wanted.expires_in is not None
        self.terms: dict[str, Any] = {}
        self._choose("scopes", [(each.scope, each.scope) for each in offers.items])
        self._choose("life", [(str(seconds), label) for seconds, label in self._lives()])

    def offered(self) -> Iterator[tuple[Offer, bool]]:
        """Each scope, and whether it is ticked."""
        ticked = self._ticked
        for each in self.offers.items:
            yield each, each.is_suggested if ticked is None else each.scope in ticked

    def lives(self) -> Iterator[tuple[str, Any, bool]]:
        """Each duration: value, words, whether it is chosen."""
        chosen = self.data.get("life") if self.is_bound else str(min(_DAY, self._longest))
        for seconds, label in self._lives():
            yield str(seconds), label, str(seconds) == chosen

    @property
    def total_asked(self) -> str:
        """The whole sum that the program asks for, with its currency."""
        return (
            ""
            if self.asked is None
            else f"{format_amount(self.asked.total, self.asked.currency)} {self.asked.currency}"
        )

    @property
    def per_tx_shown(self) -> str:
        return self._shown("per_tx")

    @property
    def total_shown(self) -> str:
        return self._shown("total")

    def clean(self) -> dict[str, Any]:
        cleaned: dict[str, Any] = super().clean() or self.cleaned_data
        scopes = cleaned.get("scopes", [])
        if not scopes and "scopes" not in self.errors and not self.offers.is_good_without_scopes:
            self.add_error("scopes", _("Tick what it may do, or deny."))
        if len(scopes) > MAX_SCOPES:
            self.add_error("scopes", _("At most %d at once.") % MAX_SCOPES)
        self.terms = {
            "scopes": granted(scopes),
            "mandate": self._mandate(cleaned),
            "expires_in": int(cleaned.get("life") or 1),
        }
        return cleaned

    def add_problems(self, problems: Sequence[Mapping[str, Any]]) -> None:
        """Put what was refused at its field."""
        for entry in problems:
            name = _FIELD_OF.get(entry["field"], str(entry["field"]).partition(".")[0])
            self.add_error(name if name in self.fields else None, entry["message"])

    def currency_of(self, cleaned: Mapping[str, Any]) -> str | None:
        """The currency in which the program may spend, None when it may not."""
        return self.asked.currency if self.asked is not None and cleaned.get("spends") else None

    def _mandate(self, cleaned: Mapping[str, Any]) -> Mandate | None:
        currency = self.currency_of(cleaned)
        if currency is None:
            return None
        total = self._minor("total", cleaned.get("total"), currency)
        per_tx = self._minor("per_tx", cleaned.get("per_tx") or cleaned.get("total"), currency)
        if total is None or per_tx is None:
            return None
        if per_tx > total:
            self.add_error("per_tx", _("For one purchase at most as much as in all."))
        if self.asked is not None:
            for name, given, most in (
                ("per_tx", per_tx, self.asked.per_tx),
                ("total", total, self.asked.total),
            ):
                if given > most:
                    sum_asked = f"{format_amount(most, currency)} {currency}"
                    self.add_error(name, _("At most %s, as was asked for.") % sum_asked)
        return Mandate(currency, per_tx, total)

    def _minor(self, name: str, text: Any, currency: str) -> int | None:
        if not text:
            if name == "total":
                self.add_error(name, _("Write how much in all."))
            return None
        try:
            return parse_amount(str(text), currency)
        except MoneyError as error:
            if self.cleaned_data.get(name):
                self.add_error(name, error.message)
            return None

    def _shown(self, name: str) -> str:
        if self.is_bound:
            return str(self.data.get(name, ""))
        return "" if self.asked is None else format_amount(getattr(self.asked, name), self.asked.currency)

    def _lives(self) -> list[tuple[int, Any]]:
        shorter: list[tuple[int, Any]] = [each for each in LIVES if each[0] <= self._longest]
        if self._is_length_asked and all(seconds != self._longest for seconds, _label in shorter):
            shorter.append((self._longest, in_words(self._longest)))
        return shorter

    def _choose(self, name: str, choices: Any) -> None:
        field = self.fields[name]
        assert isinstance(field, forms.ChoiceField)  # noqa: S101 - tells the type
        field.choices = choices


def in_words(seconds: int) -> str:
    """A duration in its largest whole unit, and in seconds when it has no larger one."""
    if seconds % _DAY == 0:
        return ngettext("%d day", "%d days", seconds // _DAY) % (seconds // _DAY)
    if seconds % _HOUR == 0:
        return ngettext("%d hour", "%d hours", seconds // _HOUR) % (seconds // _HOUR)
    if seconds % _MINUTE == 0:
        return ngettext("%d minute", "%d minutes", seconds // _MINUTE) % (seconds // _MINUTE)
    return ngettext("%d second", "%d seconds", seconds) % seconds


class TokenForm(TermsForm):
    """The terms of a token that the person makes themselves."""

    client_name = forms.CharField(max_length=MAX_CLIENT_NAME)
    currency = forms.ChoiceField(required=False)
    intent = forms.RegexField(r"^[A-Za-z0-9_-]{16,64}\Z")

    def __init__(self, data: Any, *, offers: Offers) -> None:
        super().__init__(data, offers=offers)
        self._choose("currency", [("", _("may not spend")), *((code, code) for code in sorted(CURRENCIES))])

    def clean_client_name(self) -> str:
        name = str(self.cleaned_data["client_name"])
        for entry in check_client_name(name):
            raise forms.ValidationError(entry["message"])
        return name

    def currency_of(self, cleaned: Mapping[str, Any]) -> str | None:
        currency = cleaned.get("currency") or None
        if currency is None and (cleaned.get("total") or cleaned.get("per_tx")):
            self.add_error("currency", _("Choose the currency of the sum."))
        return currency
