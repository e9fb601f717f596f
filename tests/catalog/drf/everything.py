"""One serializer with every kind of field that DRF has, and an input that it takes."""

from __future__ import annotations

from datetime import date, timedelta
from decimal import Decimal
from typing import Any

from django.contrib.auth.models import Group
from django.core.validators import MinValueValidator, RegexValidator, StepValueValidator
from django.db import models
from rest_framework import serializers

from agentweb.wire.strict_json import Json
from tests.site.models import Note, Stock


class Size(models.TextChoices):
    SMALL = "s", "Small"
    LARGE = "l", "Large"


class Place(serializers.Serializer):
    city = serializers.CharField(max_length=10)
    floor = serializers.IntegerField(required=False, allow_null=True)


class Tree(serializers.Serializer):
    name = serializers.CharField()

    def get_fields(self) -> dict[str, serializers.Field]:
        return {**super().get_fields(), "branches": Tree(many=True, required=False)}


class Everything(serializers.Serializer):
    number = serializers.IntegerField(read_only=True)
    hidden = serializers.HiddenField(default=7)

    text = serializers.CharField()
    secret = serializers.CharField(write_only=True, trim_whitespace=False)
    short = serializers.CharField(min_length=3, max_length=6)
    blank = serializers.CharField(allow_blank=True, min_length=3)
    raw_blank = serializers.CharField(allow_blank=True, min_length=3, trim_whitespace=False)
    nullable_text = serializers.CharField(allow_null=True)
    optional = serializers.CharField(required=False)
    default = serializers.CharField(default="none")
    code = serializers.RegexField(r"^[A-Z]{2}-\d+$", max_length=8)
    word = serializers.CharField(validators=[RegexValidator(r"^\w+\Z"), RegexValidator(r"[^_]")])
    slug = serializers.SlugField()
    unicode_slug = serializers.SlugField(allow_unicode=True)
    email = serializers.EmailField()
    blank_email = serializers.EmailField(allow_blank=True)
    url = serializers.URLField()
    uuid = serializers.UUIDField()
    ip = serializers.IPAddressField()
    ipv4 = serializers.IPAddressField(protocol="ipv4")
    ipv6 = serializers.IPAddressField(protocol="ipv6")

    integer = serializers.IntegerField(min_value=1, max_value=10)
    big = getattr(serializers, "BigIntegerField", serializers.IntegerField)(allow_null=True)  # since DRF 3.17
    even = serializers.IntegerField(validators=[StepValueValidator(2), MinValueValidator(-4)])
    floating = serializers.FloatField(min_value=0.5)
    price = serializers.DecimalField(max_digits=5, decimal_places=2, min_value=Decimal("0.01"))
    share = serializers.DecimalField(max_digits=3, decimal_places=3)
    endless = serializers.DecimalField(max_digits=None, decimal_places=None)
    rounded = serializers.DecimalField(max_digits=None, decimal_places=1)
    yes = serializers.BooleanField()
    maybe = serializers.BooleanField(allow_null=True)

    day = serializers.DateField()
    german_day = serializers.DateField(input_formats=["%d.%m.%Y", "%d.%m.%y"])
    either_day = serializers.DateField(input_formats=["%d.%m.%Y", "iso-8601"])
    moment = serializers.DateTimeField()
    minute = serializers.DateTimeField(input_formats=["%Y-%m-%d %H:%M"])
    time = serializers.TimeField()
    hour = serializers.TimeField(input_formats=["%Hh"])
    lasting = serializers.DurationField(max_value=timedelta(days=2))

    choice = serializers.ChoiceField(choices=[("a", "Apple"), ("b", "Bean")])
    grouped = serializers.ChoiceField(
        choices=[("Fruit", [("a", "Apple")]), ("v", "Vegetable")], allow_blank=True
    )
    enum = serializers.ChoiceField(choices=Size.choices, allow_null=True)
    numbered = serializers.ChoiceField(choices=[1, 2])
    mixed = serializers.ChoiceField(choices=[(1, "one"), ("two", "two"), (2.5, "and a half")])
    many = serializers.MultipleChoiceField(choices=["x", "y"])
    some = serializers.MultipleChoiceField(choices=["x", "y"], allow_empty=False)

    texts = serializers.ListField(child=serializers.CharField(max_length=3), min_length=1, max_length=2)
    numbers = serializers.ListField(child=serializers.IntegerField(allow_null=True), allow_empty=False)
    anything = serializers.ListField()
    by_name = serializers.DictField(child=serializers.IntegerField(min_value=0), allow_empty=False)
    any_names = serializers.DictField()
    store = serializers.HStoreField()
    json = serializers.JSONField()
    nullable_json = serializers.JSONField(allow_null=True)

    place = Place()
    nullable_place = Place(allow_null=True)
    places = Place(many=True)
    few_places = Place(many=True, allow_empty=False, max_length=2)
    tree = Tree()

    row = serializers.PrimaryKeyRelatedField(queryset=Note.objects.all())
    nullable_row = serializers.PrimaryKeyRelatedField(queryset=Note.objects.all(), allow_null=True)
    rows = serializers.PrimaryKeyRelatedField(queryset=Note.objects.all(), many=True)
    some_rows = serializers.PrimaryKeyRelatedField(queryset=Note.objects.all(), many=True, allow_empty=False)
    by_text_key = serializers.PrimaryKeyRelatedField(queryset=Stock.objects.all())
    by_key_field = serializers.PrimaryKeyRelatedField(
        queryset=Note.objects.all(), pk_field=serializers.IntegerField(min_value=1)
    )
    slugged = serializers.SlugRelatedField(slug_field="name", queryset=Group.objects.all())
    slugged_many = serializers.SlugRelatedField(slug_field="name", queryset=Group.objects.all(), many=True)
    linked = serializers.HyperlinkedRelatedField(view_name="note", queryset=Note.objects.all())

    shown = serializers.SerializerMethodField()

    def get_shown(self, row: Any) -> date:
        return date(2026, 1, 31)


def valid() -> dict[str, Json]:
    """An input that ``Everything`` takes, once there are a note 1, a stock ``tea`` and a group ``staff``."""
    return {
        "text": "a",
        "secret": " s ",
        "short": "four",
        "blank": "",
        "raw_blank": "",
        "nullable_text": None,
        "code": "AB-12",
        "word": "straße",
        "slug": "a-b_1",
        "unicode_slug": "straße-1",
        "email": "ada@example.org",
        "blank_email": "",
        "url": "https://example.org/a?b=c#d",
        "uuid": "123e4567-e89b-42d3-a456-426614174000",
        "ip": "192.0.2.1",
        "ipv4": "192.0.2.1",
        "ipv6": "2001:db8::1",
        "integer": 5,
        "big": None,
        "even": 4,
        "floating": Decimal("0.75"),
        "price": Decimal("12.50"),
        "share": Decimal("0.125"),
        "endless": Decimal("1.23456789"),
        "rounded": Decimal("1.5"),
        "yes": True,
        "maybe": None,
        "day": "2026-01-31",
        "german_day": "31.01.2026",
        "either_day": "2026-01-31",
        "moment": "2026-01-31T12:00:00Z",
        "minute": "2026-01-31 12:00",
        "time": "12:00",
        "hour": "9h",
        "lasting": "P1DT2H",
        "choice": "a",
        "grouped": "",
        "enum": None,
        "numbered": 1,
        "mixed": "two",
        "many": [],
        "some": ["x"],
        "texts": ["a"],
        "numbers": [1, None],
        "anything": [1, "a", {"b": None}],
        "by_name": {"a": 1},
        "any_names": {"a": [1], "b": None},
        "store": {"a": "b", "c": None},
        "json": {"a": [Decimal("1.5"), None]},
        "nullable_json": None,
        "place": {"city": "Rome", "floor": 2},
        "nullable_place": None,
        "places": [{"city": "Rome"}, {"city": "Paris", "floor": None}],
        "few_places": [{"city": "Rome"}],
        "tree": {"name": "a", "branches": [{"name": "b", "branches": []}]},
        "row": 1,
        "nullable_row": None,
        "rows": [1],
        "some_rows": [1],
        "by_text_key": "tea",
        "by_key_field": 1,
        "slugged": "staff",
        "slugged_many": ["staff"],
        "linked": "/notes/1/",
    }
