"""Declaring an action with a form: what is published, without a query, and what cannot be."""

from __future__ import annotations

from typing import Any

import pytest
from django import forms
from django.contrib.auth.models import Group
from django.core.validators import MaxValueValidator, RegexValidator
from django.db import models
from django.forms import modelform_factory
from django.utils.translation import gettext_lazy

from agentweb import action
from agentweb.agent_actions.manifest import action_entry
from agentweb.catalog.forms import form_source
from agentweb.catalog.registry import registry
from tests.catalog.declarations import published, refused
from tests.catalog.forms.every import Account, Every, alone


def member(**field: forms.Field) -> Any:
    [(name, it)] = field.items()
    return form_source(type("One", (forms.Form,), {name: it})).schema["properties"][name]


def test_an_entry_of_the_manifest_says_what_the_form_takes() -> None:
    with registry.only():
        action.from_form(Account, name="open_account", scope="accounts:open")
        assert registry.faults() == []
        found = registry.get("open_account")
        assert found is not None
        entry = action_entry(found)
    assert entry["description"] == "Open an account for a person."
    assert entry["input"] == {
        "type": "object",
        "properties": {
            "username": {
                "type": "string",
                "minLength": 1,
                "maxLength": 150,
                "pattern": r"^[\p{L}\p{N}_.@+-]+$",
                "description": "Required. 150 characters or fewer. Letters, digits and @/./+/-/_ only.",
            },
            "email": {
                "type": "string",
                "format": "email",
                "pattern": r'^[^"\[]+@(?:localhost|[^@\[]+\.(?:xn--[A-Za-z0-9]{1,59}|[A-Za-z]{2,63}))$',
                "title": "Email address",
            },
            "groups": {
                "type": "array",
                "items": {"type": "integer"},
                "description": "The groups this user belongs to. A user will get all permissions granted to each of "
                "their groups. By id: groups.",
                "uniqueItems": True,
                "maxItems": 200,
            },
        },
        "required": ["username"],
        "additionalProperties": False,
    }
    assert entry["output"]["properties"] == {"saved": {"const": True}, "id": {"type": "integer"}}
    assert found.where == "tests.catalog.forms.every.Account"


@pytest.mark.django_db
def test_declaring_asks_nobody(django_assert_num_queries: Any) -> None:
    class Asking(forms.Form):
        """Ask."""

        group = forms.ModelChoiceField(Group.objects.all())
        other = forms.ModelMultipleChoiceField(Group.objects.all(), to_field_name="name")
        later = forms.ChoiceField(choices=lambda: [(group.pk, group.name) for group in Group.objects.all()])

        def __init__(self, *args: Any, **kwargs: Any) -> None:
            raise AssertionError("the schema is made without a form")

    with django_assert_num_queries(0):
        found = published(form=Asking, effect="write", scope="a:b")
    assert {name: each.get("type") for name, each in found.input_schema["properties"].items()} == {
        "group": "integer",
        "other": "array",
        "later": "string",
    }


def test_the_form_class_stays_as_it_was() -> None:
    before = {name: vars(field).copy() for name, field in Every.base_fields.items()}
    published(form=Every, effect="write", scope="a:b")
    assert {name: vars(field) for name, field in Every.base_fields.items()} == before


def test_the_whole_of_every_field_has_an_example_that_fits() -> None:
    found = published(form=alone("length"), effect="write", scope="a:b")
    assert found.has_example
    with_all = published(form=Every, effect="write", scope="a:b")
    assert set(with_all.input_schema["properties"]) == set(Every.base_fields) - {"photo", "fixed"}


def test_words_are_published_and_what_is_no_word_is_not() -> None:
    assert member(
        size=forms.ChoiceField(
            choices=[("s", "Small"), ("m", "Medium")],
            label=gettext_lazy("Size of the cup"),
            help_text="<b>Small</b> &amp; cheap.",
            initial="s",
        )
    ) == {
        "enum": ["s", "m"],
        "title": "Size of the cup",
        "description": "Small & cheap. s: Small, m: Medium.",
    }
    assert member(size=forms.ChoiceField(choices=[("big", "Big")], label="Size")) == {"enum": ["big"]}


def test_a_password_is_marked_as_one() -> None:
    assert member(password=forms.CharField(widget=forms.PasswordInput)) == {
        "type": "string",
        "minLength": 1,
        "pattern": r"\S",
        "format": "password",
        "writeOnly": True,
    }


@pytest.mark.parametrize(
    ("field", "schema"),
    [
        (forms.DecimalField(max_digits=4, decimal_places=1), {"minimum": "-999.9", "multipleOf": "0.1"}),
        (forms.IntegerField(max_value=lambda: 1 / 0), {"maximum": "None"}),
        (forms.IntegerField(validators=[MaxValueValidator(7)], max_value=9), {"maximum": "7"}),
        (forms.CharField(validators=[RegexValidator(r"^(?P<a>x)\d\Z")]), {"pattern": r"^(?<a>x)\p{Nd}$"}),
        (forms.CharField(validators=[RegexValidator(r"\bx", flags=2)]), {"pattern": r"\S"}),
        (forms.CharField(validators=[RegexValidator("x", inverse_match=True)]), {"pattern": r"\S"}),
        (forms.CharField(validators=[RegexValidator(r"^[]x[\w]+$")]), {"pattern": r"^[\]x\[\p{L}\p{N}_]+$"}),
        (forms.ModelChoiceField(None), {"type": "['integer', 'string']"}),
    ],
)
def test_limits_are_said_where_json_schema_has_words_for_them(
    field: forms.Field, schema: dict[str, str]
) -> None:
    found = member(it=field)
    assert {name: str(found.get(name)) for name in schema} == schema


def test_a_cost_is_no_float() -> None:
    class Order(forms.Form):
        price = forms.FloatField()
        exact = forms.DecimalField()

    words = {"form": Order, "effect": "spend", "scope": "a:b"}
    found = refused(cost={"field": "price", "currency": "USD"}, **words)
    assert (found.id, "as a float" in found.message) == ("agentweb.E020", True)
    assert published(cost={"field": "exact", "currency": "USD"}, **words).cost is not None


class Upload(forms.Form):
    """Upload."""

    file = forms.FileField()


class NeedsMore(forms.Form):
    """Need more."""

    def __init__(self, shop: object, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)


class NoModel(forms.ModelForm):
    """Have no model."""


class SavesWith(forms.Form):
    """Save."""

    def save(self, shop: object) -> None: ...


@pytest.mark.parametrize(
    ("form", "said"),
    [
        (Upload, "Upload.file: it takes a file"),
        (alone("later")(), "is not a form class"),
        (forms.formset_factory(Account), "is not a form class"),
        ("Contact", "'Contact' is not a form class"),
        (NeedsMore, "NeedsMore() wants shop"),
        (NoModel, "NoModel has no model"),
    ],
)
def test_a_form_that_cannot_be_filled_in_is_a_fault(form: Any, said: str) -> None:
    found = refused(form=form, effect="write", scope="a:b")
    assert found.id == "agentweb.E039"
    assert found.dangerous is True
    assert said in found.message
    assert found.hint.startswith("Give a form class")


@pytest.mark.parametrize(
    ("form", "said"),
    [
        (alone("later"), "has no save() and no send()"),
        (SavesWith, "SavesWith.save() wants shop"),
        (None, "None has no save()"),
    ],
)
def test_a_form_that_nothing_submits_is_a_fault(form: Any, said: str) -> None:
    with registry.only():
        action.from_form(form, name="submit")
        [found] = registry.faults()
        assert registry.actions() == ()
    assert found.id == "agentweb.E039"
    assert said in found.message
    assert "handler=" in found.hint


def test_a_misspelt_word_is_told_at_once_like_any_argument() -> None:
    with registry.only(), pytest.raises(TypeError, match="scoop"):
        action.from_form(Account, name="submit", scoop="a:b")


def test_null_is_ruled_out_where_the_column_of_a_json_field_is_never_empty() -> None:
    class Plan(models.Model):
        notes = models.JSONField(blank=True, default=dict)
        extra = models.JSONField(blank=True, null=True)

        class Meta:
            app_label = "site"
            managed = False

    form = modelform_factory(Plan, fields=["notes", "extra"])
    properties = form_source(form).schema["properties"]
    assert properties["notes"] == {"not": {"type": "null"}}
    assert "not" not in properties["extra"]
