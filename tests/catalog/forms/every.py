"""A form with every field type of Django, and more than one way to write some."""

from __future__ import annotations

import re
from typing import Any, ClassVar

from django import forms
from django.contrib.auth.models import Group, User
from django.core.validators import MinLengthValidator, RegexValidator


def colours() -> list[tuple[str, str]]:
    raise AssertionError("asked for the choices before anybody chose")


def sizes() -> list[tuple[str, str]]:
    return [("s", "Small"), ("m", "Medium")]


class Range(forms.MultiValueField):
    """Two numbers, the second may be missing."""

    def __init__(self, **options: Any) -> None:
        fields = (forms.IntegerField(min_value=0), forms.IntegerField(required=False))
        super().__init__(
            fields=fields,
            widget=forms.MultiWidget([forms.NumberInput, forms.NumberInput]),
            require_all_fields=False,
            **options,
        )

    def compress(self, data_list: list[Any]) -> Any:
        return tuple(data_list) if data_list else None


class Every(forms.Form):
    text = forms.CharField(min_length=2, max_length=5)
    raw = forms.CharField(min_length=2, max_length=5, strip=False)
    note = forms.CharField(required=False, max_length=5)
    nothing = forms.CharField(required=False, empty_value=None)
    checked = forms.CharField(validators=[RegexValidator(r"^[a-z]+\Z"), MinLengthValidator(3)])
    regex = forms.RegexField(re.compile(r"^\w\d{2}$"), strip=True)
    slug = forms.SlugField()
    wide_slug = forms.SlugField(allow_unicode=True)
    email = forms.EmailField()
    url = forms.URLField(assume_scheme="https")
    uuid = forms.UUIDField()
    address = forms.GenericIPAddressField()
    address4 = forms.GenericIPAddressField(protocol="ipv4")
    address6 = forms.GenericIPAddressField(protocol="ipv6")
    count = forms.IntegerField(min_value=1, max_value=10)
    step = forms.IntegerField(min_value=10, step_size=5)
    odd = forms.IntegerField(min_value=1, step_size=2)
    weight = forms.FloatField(min_value=0.5, step_size=0.25)
    price = forms.DecimalField(max_digits=5, decimal_places=2, min_value=0)
    digits = forms.DecimalField(max_digits=3)
    local = forms.DecimalField(localize=True)
    agreed = forms.BooleanField()
    loud = forms.BooleanField(required=False)
    maybe = forms.NullBooleanField()
    size = forms.ChoiceField(choices=[("s", "Small"), ("Big", [("l", "Large"), ("xl", "Extra large")])])
    rank = forms.TypedChoiceField(choices=[("", "---"), (1, "Low"), (2, "High")], coerce=int)
    later = forms.ChoiceField(choices=sizes)
    some = forms.MultipleChoiceField(choices=[("a", "A"), ("b", "B")])
    ranks = forms.TypedMultipleChoiceField(choices=[(1, "1"), (2, "2")], coerce=int, required=False)
    group = forms.ModelChoiceField(Group.objects.all())
    named = forms.ModelChoiceField(Group.objects.all(), to_field_name="name")
    groups = forms.ModelMultipleChoiceField(Group.objects.all())
    day = forms.DateField()
    german_day = forms.DateField(input_formats=["%d.%m.%Y"])
    short_day = forms.DateField(input_formats=["%d.%m.%y"])
    chosen_day = forms.DateField(widget=forms.SelectDateWidget)
    clock = forms.TimeField()
    moment = forms.DateTimeField()
    moments = forms.SplitDateTimeField()
    length = forms.DurationField()
    data = forms.JSONField()
    extra = forms.JSONField(required=False)
    combo = forms.ComboField(fields=[forms.CharField(max_length=20), forms.EmailField()])
    span = Range()
    secret = forms.CharField(widget=forms.PasswordInput, strip=False)
    photo = forms.ImageField(required=False)
    fixed = forms.CharField(disabled=True, initial="fixed", required=False)


class Account(forms.ModelForm):
    """Open an account for a person."""

    class Meta:
        model = User
        fields: ClassVar = ["username", "email", "groups"]


def alone(name: str) -> type[forms.Form]:
    """A form with one field of ``Every``."""
    return type("Alone", (forms.Form,), {name: Every.base_fields[name]})
