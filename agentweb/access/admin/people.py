"""The person for whom an agent acts: how staff names one, and for whom staff may give authority."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from django import forms
from django.contrib import admin
from django.contrib.admin import AdminSite
from django.contrib.admin.widgets import AutocompleteSelect
from django.contrib.auth import get_user_model
from django.core.exceptions import ValidationError
from django.db.models import Field, Model
from django.http import HttpRequest
from django.utils.html import format_html
from django.utils.http import urlencode
from django.utils.safestring import SafeString
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from agentweb.access.admin import showing
from agentweb.access.admin.base import ChosenFilter, Rows

if TYPE_CHECKING:
    _ModelChoiceField = forms.ModelChoiceField[Any]
else:
    _ModelChoiceField = forms.ModelChoiceField

_LONGEST_NAME: Final = 254


def may_give_for(staff: Any, person: Any) -> bool:
    """May this member of staff give an agent authority over this person's account?

    For oneself and for people who are no staff. For others of the staff only a superuser may: else the right to
    issue grants would be every right that anybody on the staff has.
    """
    if person is None or person.pk == staff.pk or getattr(staff, "is_superuser", False):
        return True
    return not (getattr(person, "is_staff", False) or getattr(person, "is_superuser", False))


def person_field(
    request: HttpRequest, site: AdminSite, field: Field[Any, Any], *, required: bool
) -> forms.Field:
    """Choose by searching where this admin has the people and this member of staff may see them; else by name."""
    model = get_user_model()
    registered = site._registry.get(model)
    label = _("Person")
    help_text = _("For whom the agent acts. The site's own permissions of this person hold for the agent.")
    if (
        registered is not None
        and registered.get_search_fields(request)
        and registered.has_view_permission(request)
    ):
        return _PersonChoice(
            registered.get_queryset(request),  # the site may show its staff some people only
            label=label,
            help_text=help_text,
            required=required,
            widget=AutocompleteSelect(field, site),
        )
    return PersonNameField(label=label, help_text=help_text, required=required)


class _PersonChoice(_ModelChoiceField):
    def to_python(self, value: Any) -> Any:
        _refuse_nul(value)
        return super().to_python(value)


class PersonNameField(forms.CharField):
    """A person by what they log in with."""

    def __init__(self, **options: Any) -> None:
        super().__init__(
            max_length=_LONGEST_NAME, widget=forms.TextInput(attrs={"class": "vTextField"}), **options
        )

    def to_python(self, value: Any) -> Any:
        if isinstance(value, Model):
            return value
        name = super().to_python(value)
        if not name:
            return None
        _refuse_nul(name)
        model = get_user_model()
        person = model._default_manager.filter(**{model.USERNAME_FIELD: name}).first()
        if person is None:
            raise ValidationError(gettext("There is no such person."), code="invalid_choice")
        return person

    def run_validators(self, value: Any) -> None:
        """A person is no text; its length was never the point."""

    def validate(self, value: Any) -> None:
        if value is None and self.required:
            raise ValidationError(self.error_messages["required"], code="required")


class PersonFilter(ChosenFilter):
    """Rows of one person, chosen by a link in a row: a list of everybody would be as long as the site is large."""

    title = _("person")
    parameter_name = "person"

    def name_of(self, value: str) -> str:
        """The name of somebody who has rows here, which show it anyway; else what was asked for. To say more would
        tell whoever may see this list the name of everybody."""
        row = None
        with suppress(ValueError, ValidationError, OverflowError):
            rows = self.model_admin.get_queryset(self.request).select_related("user")
            row = rows.filter(user__in=_people(value)).order_by().first()
        return super().name_of(value if row is None else str(row.user))

    def narrowed(self, rows: Rows, value: str) -> Rows:
        return rows.filter(user__in=_people(value))


class PersonColumns:
    """The row's person: in a list a link to the rows of this person, on a page one to the person."""

    admin_site: AdminSite

    @admin.display(description=_("Person"), ordering="user")
    def person(self, row: Any) -> SafeString:
        if row.user_id is None:
            return showing.person(None)
        return format_html('<a href="?{}">{}</a>', urlencode({"person": row.user_id}), showing.said(row.user))

    @admin.display(description=_("Person"))
    def person_detail(self, row: Any) -> SafeString:
        if row.user is None:
            return showing.person(None)
        return showing.link(self.admin_site, type(row.user), row.user_id, showing.said(row.user))


def _people(pk: str) -> Any:
    """The person of a key as a subquery: of a key, Django knows when it is too long for its column."""
    return get_user_model()._default_manager.filter(pk=pk).values("pk")


def _refuse_nul(value: Any) -> None:
    """Nobody is called that, and PostgreSQL takes the question for an error."""
    if "\0" in str(value):
        raise ValidationError(gettext("There is no such person."), code="invalid_choice")


def search_by_name() -> str:
    """The look-up that searches rows by their person's log-in name, under whatever user model."""
    return f"user__{get_user_model().USERNAME_FIELD}__icontains"
