"""The schema of a serializer: its form, its words, what it does not depend on, and what has none."""

from __future__ import annotations

import subprocess
import sys
from enum import Enum
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import Group, User
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils.translation import gettext_lazy
from drf_spectacular.drainage import GENERATOR_STATS
from drf_spectacular.settings import patched_settings, spectacular_settings
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import PolymorphicProxySerializer, extend_schema_field, extend_schema_serializer
from rest_framework import serializers

from agentweb import action
from agentweb.catalog.drf.openapi import converted
from agentweb.catalog.drf.serializer_schemas import schema_of_serializer
from agentweb.catalog.registry import registry
from agentweb.catalog.schema_sources import SourceError
from agentweb.wire.schema import compile_schema
from tests.catalog.declarations import declared, handler, published, refused
from tests.catalog.drf.everything import Everything, Tree, valid
from tests.site.models import Book

ROOT = Path(__file__).resolve().parents[3]
WRITES = {"effect": "write", "scope": "a:b"}


class Line(serializers.Serializer):
    """A line of an order.

    Not published.
    """

    id = serializers.IntegerField(read_only=True)
    sku = serializers.SlugField(help_text="Which product.", label="Article")
    size = serializers.ChoiceField(choices=[("s", "Small"), ("l", "Large")], default="s")
    note = serializers.CharField(required=False, allow_blank=True)
    secret = serializers.CharField(write_only=True)


LINE: dict[str, Any] = {
    "type": "object",
    "description": "A line of an order.",
    "properties": {
        "sku": {
            "type": "string",
            "minLength": 1,
            "pattern": "^[-a-zA-Z0-9_]+$",
            "title": "Article",
            "description": "Which product.",
        },
        "size": {"type": "string", "enum": ["s", "l"], "description": "s: Small, l: Large.", "default": "s"},
        "note": {"type": "string"},
        "secret": {"type": "string", "minLength": 1, "pattern": r"\S"},
    },
    "required": ["sku", "secret"],
    "additionalProperties": False,
}


def member(field: serializers.Field, *, for_output: bool = False) -> dict[str, Any]:
    """The schema of a field, as a member of a serializer."""
    made = type("Made", (serializers.Serializer,), {"it": field})
    schema = schema_of_serializer(made, for_output=for_output)
    found: dict[str, Any] = schema["properties"]["it"]
    return found


def test_what_a_serializer_takes() -> None:
    assert schema_of_serializer(Line) == LINE
    assert schema_of_serializer(Line()) == LINE


def test_what_a_serializer_gives() -> None:
    assert schema_of_serializer(Line, for_output=True) == {
        "type": "object",
        "description": "A line of an order.",
        "properties": {
            "id": {"type": "integer"},
            "sku": {"type": "string", "title": "Article", "description": "Which product."},
            "size": {"type": "string", "enum": ["s", "l"], "description": "s: Small, l: Large."},
            "note": {"type": "string"},
        },
        "required": ["id", "sku", "size", "note"],
    }


def test_many_and_partial() -> None:
    assert schema_of_serializer(Line(many=True, allow_empty=False, max_length=3)) == {
        "type": "array",
        "items": LINE,
        "minItems": 1,
        "maxItems": 3,
    }
    changed = {name: value for name, value in LINE.items() if name != "required"}
    assert schema_of_serializer(Line(partial=True)) == changed
    assert schema_of_serializer(Line(many=True, partial=True))["items"] == changed


def test_a_serializer_used_once_is_written_out_and_one_used_twice_is_shared() -> None:
    class Once(serializers.Serializer):
        line = Line()

    class Twice(serializers.Serializer):
        first = Line(help_text="The first.")
        others = Line(many=True, required=False)
        last = Line(allow_null=True)

    assert schema_of_serializer(Once)["properties"]["line"] == LINE
    schema = schema_of_serializer(Twice)
    assert schema["$defs"] == {"Line": LINE}
    assert schema["properties"] == {
        "first": {"$ref": "#/$defs/Line", "description": "The first."},
        "others": {"type": "array", "items": {"$ref": "#/$defs/Line"}},
        "last": {"anyOf": [{"$ref": "#/$defs/Line"}, {"type": "null"}]},
    }


def test_recursion_stays_and_the_outermost_says_its_members_itself() -> None:
    tree = {
        "type": "object",
        "properties": {
            "name": {"type": "string", "minLength": 1, "pattern": r"\S"},
            "branches": {"type": "array", "items": {"$ref": "#/$defs/Tree"}},
        },
        "required": ["name"],
        "additionalProperties": False,
    }
    assert schema_of_serializer(Tree) == {**tree, "$defs": {"Tree": tree}}


def test_two_serializers_of_one_name_are_two() -> None:
    class Other(serializers.Serializer):
        text = serializers.CharField()

    Other.__name__ = "Line"

    class Both(serializers.Serializer):
        a, b = Line(), Line()
        c, d = Other(), Other()

    schema = schema_of_serializer(Both)
    assert set(schema["$defs"]) == {"Line", "Line2"}
    assert schema["properties"]["c"] == {"$ref": "#/$defs/Line2"}


def test_an_argument_of_its_own_makes_another_object() -> None:
    class Chosen(serializers.Serializer):
        a = serializers.CharField()
        b = serializers.CharField()

        def __init__(self, *args: Any, only: str = "a", **kwargs: Any) -> None:
            super().__init__(*args, **kwargs)
            self.only = only

        def get_fields(self) -> Any:
            return {self.only: super().get_fields()[self.only]}

    class Both(serializers.Serializer):
        one = Chosen()
        two = Chosen(only="b")

    properties = schema_of_serializer(Both)["properties"]
    assert [list(properties[name]["properties"]) for name in ("one", "two")] == [["a"], ["b"]]


@pytest.mark.django_db
def test_a_model_serializer_has_the_rules_of_its_model() -> None:
    class Books(serializers.ModelSerializer):
        class Meta:
            model = Book
            fields = ("id", "slug", "title", "price", "published", "key", "writer")

    with CaptureQueriesContext(connection) as queries:
        schema = schema_of_serializer(Books)
    assert len(queries) == 0
    assert schema["required"] == ["slug", "title", "price", "key", "writer"]
    properties = schema["properties"]
    assert properties["title"] == {"type": "string", "maxLength": 100, "minLength": 1, "pattern": r"\S"}
    assert properties["published"]["type"] == ["string", "null"]
    assert properties["writer"] == {"type": "integer", "description": "By id: writer."}
    assert {"exclusiveMaximum": 100_000, "exclusiveMinimum": -100_000}.items() <= properties["price"].items()


@pytest.mark.django_db
@pytest.mark.parametrize("for_output", [False, True])
def test_no_query_is_made_and_the_same_comes_out_each_time(for_output: bool) -> None:
    with CaptureQueriesContext(connection) as queries:
        first = schema_of_serializer(Everything, for_output=for_output)
        again = schema_of_serializer(Everything, for_output=for_output)
    assert len(queries) == 0
    assert repr(first) == repr(again)


def test_every_schema_can_be_read_by_a_strange_client() -> None:
    """The limits that ours has for schemas of other sites, on patterns above all."""
    for for_output in (False, True):
        compile_schema(schema_of_serializer(Everything, for_output=for_output), foreign=True)


@pytest.mark.parametrize(
    "changed",
    [
        {"COMPONENT_SPLIT_REQUEST": True},
        {"COMPONENT_SPLIT_PATCH": False},
        {"OAS_VERSION": "3.1.0"},
        {"ENUM_GENERATE_CHOICE_DESCRIPTION": False},
        {"ENFORCE_NON_BLANK_FIELDS": True},
        {"COMPONENT_NO_READ_ONLY_REQUIRED": True},
        {"GENERIC_ADDITIONAL_PROPERTIES": None},
        {"DISABLE_DOCSTRING_DESCRIPTIONS": True},
        {"POSTPROCESSING_HOOKS": []},
        {"CAMELIZE_NAMES": True},
    ],
    ids=repr,
)
def test_the_sites_settings_of_drf_spectacular_change_nothing(changed: dict[str, Any]) -> None:
    if not all(hasattr(spectacular_settings, name) for name in changed):
        pytest.skip("a setting of later versions")
    given = (Everything, Tree(partial=True), Line)
    before = [schema_of_serializer(each, for_output=out) for each in given for out in (False, True)]
    with patched_settings(changed):
        assert all(getattr(spectacular_settings, name) == value for name, value in changed.items())
        after = [schema_of_serializer(each, for_output=out) for each in given for out in (False, True)]
    assert before == after


def test_the_sites_own_run_of_drf_spectacular_finds_no_warning_of_ours(
    capsys: pytest.CaptureFixture[str],
) -> None:
    GENERATOR_STATS.reset()
    GENERATOR_STATS.emit("of the site", "warning")
    capsys.readouterr()

    class Shown(serializers.Serializer):
        it = serializers.SerializerMethodField()

        def get_it(self, row: Any):  # type: ignore[no-untyped-def]
            return 1

    schema_of_serializer(Shown, for_output=True)
    assert capsys.readouterr() == ("", "")
    assert len(GENERATOR_STATS._warn_cache) == 1
    GENERATOR_STATS.reset()


def test_drf_spectacular_is_imported_only_where_a_serializer_is_declared() -> None:
    script = (
        "import sys, django; django.setup()\n"
        "assert 'drf_spectacular' not in sys.modules\n"
        "from rest_framework import serializers\n"
        "from agentweb import action\n"
        "class S(serializers.Serializer):\n    a = serializers.CharField()\n"
        "@action(serializer=S)\ndef f(inp, ctx):\n    'Do.'\n"
        "assert 'drf_spectacular' in sys.modules\n"
    )
    found = subprocess.run(
        [sys.executable, "-c", script],
        cwd=ROOT,
        env={"DJANGO_SETTINGS_MODULE": "tests.settings", "PYTHONPATH": str(ROOT), "PATH": ""},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert found.returncode == 0, found.stderr


def given(field: serializers.Field) -> dict[str, Any]:
    return member(field, for_output=True)


def test_what_fields_give_when_it_is_not_what_they_take() -> None:
    assert given(serializers.DecimalField(max_digits=5, decimal_places=2)) == {"type": "string"}
    assert given(serializers.DecimalField(max_digits=5, decimal_places=2, coerce_to_string=False)) == {
        "type": "number"
    }
    if hasattr(serializers, "BigIntegerField"):  # since DRF 3.17
        assert given(serializers.BigIntegerField(coerce_to_string=True)) == {"type": "string"}
        assert given(serializers.BigIntegerField()) == {"type": "integer"}
    assert given(serializers.IntegerField(min_value=1)) == {"type": "integer"}
    assert given(serializers.EmailField()) == {"type": "string"}
    assert given(serializers.UUIDField()) == {"type": "string", "format": "uuid"}
    assert given(serializers.UUIDField(format="int")) == {"type": "integer"}
    assert given(serializers.DateField()) == {"type": "string", "format": "date"}
    assert given(serializers.DateField(format="%d.%m.%Y")) == {"type": "string"}
    assert given(serializers.DateTimeField()) == {"type": "string", "format": "date-time"}
    assert given(serializers.TimeField()) == {"type": "string"}
    assert given(serializers.ImageField()) == {"type": ["string", "null"]}
    assert given(serializers.ReadOnlyField()) == {}
    assert given(serializers.JSONField()) == {}
    assert given(serializers.MultipleChoiceField(choices=["a"])) == {
        "type": "array",
        "items": {"type": "string", "enum": ["a"]},
    }


def test_a_method_gives_what_its_hint_says_and_else_anything() -> None:
    class Shown(serializers.Serializer):
        hinted = serializers.SerializerMethodField()
        nested = serializers.SerializerMethodField()
        bare = serializers.SerializerMethodField()

        def get_hinted(self, row: Any) -> int | None:
            return 1

        @extend_schema_field(Line(many=True))
        def get_nested(self, row: Any) -> Any:
            return []

        def get_bare(self, row: Any):  # type: ignore[no-untyped-def]
            return 1

    properties = schema_of_serializer(Shown, for_output=True)["properties"]
    assert properties["hinted"] == {"type": ["integer", "null"]}
    assert properties["nested"]["items"] == schema_of_serializer(Line, for_output=True)
    assert properties["bare"] == {}


def test_a_read_only_column_that_may_be_empty_may_be_null() -> None:
    class Books(serializers.ModelSerializer):
        class Meta:
            model = Book
            fields = read_only_fields = ("published", "title")

    properties = schema_of_serializer(Books, for_output=True)["properties"]
    assert properties["published"]["type"] == ["string", "null"]
    assert properties["title"]["type"] == "string"


# -- what the author says


class Celsius(serializers.Field):
    def to_internal_value(self, data: Any) -> Any:
        return data


@extend_schema_field(
    {"type": "number", "minimum": -273, "exclusiveMinimum": True, "example": 20, "nullable": True}
)
class Described(Celsius):
    pass


@extend_schema_field(OpenApiTypes.DATE)
class Day(serializers.CharField):
    pass


def test_extend_schema_field_is_believed() -> None:
    assert member(Described()) == {"type": ["number", "null"], "exclusiveMinimum": -273, "examples": [20]}
    assert (
        member(Day()) == {"type": "string", "format": "date", "minLength": 1}
        or member(Day())["format"] == "date"
    )


def test_a_field_given_as_another_serializer_is_that() -> None:
    @extend_schema_field(Line)
    class Nested(Celsius):
        pass

    assert member(Nested()) == LINE


def test_excluded_members_are_still_taken_and_not_given() -> None:
    @extend_schema_serializer(exclude_fields=["note"])
    class Less(Line):
        pass

    assert "note" in schema_of_serializer(Less)["properties"]
    assert "note" not in schema_of_serializer(Less, for_output=True)["properties"]


def test_a_field_with_a_component_of_its_own_is_written_out() -> None:
    @extend_schema_field({"type": "string", "enum": ["a"]}, component_name="Letter")
    class Letter(Celsius):
        pass

    assert member(Letter(help_text="It.")) == {"type": "string", "enum": ["a"], "description": "It."}


def test_an_answer_of_several_kinds_is_one_of_them() -> None:
    class Other(serializers.Serializer):
        kind = serializers.CharField()

    class Shown(serializers.Serializer):
        it = serializers.SerializerMethodField()

        @extend_schema_field(PolymorphicProxySerializer("It", [Line, Other], None))
        def get_it(self, row: Any) -> Any:
            return None

    found = schema_of_serializer(Shown, for_output=True)["properties"]["it"]
    assert found["oneOf"] == [schema_of_serializer(each, for_output=True) for each in (Line, Other)]


def test_a_member_may_be_deprecated() -> None:
    @extend_schema_serializer(deprecate_fields=["note"])
    class Old(Line):
        pass

    assert schema_of_serializer(Old)["properties"]["note"] == {"type": "string", "deprecated": True}


def test_texts_may_be_lazy() -> None:
    assert member(serializers.CharField(help_text=gettext_lazy("Yes")))["description"] == "Yes"


def test_a_default_is_told_when_it_is_known() -> None:
    assert member(serializers.IntegerField(default=3))["default"] == 3
    assert member(serializers.DateField(default=None, allow_null=True))["default"] is None
    assert "default" not in member(serializers.IntegerField(default=lambda: 3))
    assert "default" not in member(serializers.IntegerField(default="x"))


def test_choices_of_every_kind() -> None:
    class Level(Enum):
        LOW = 1

    assert member(serializers.ChoiceField(choices=[(Level.LOW, "Low")]))["enum"] == [1]
    assert member(serializers.ChoiceField(choices=[True, False])) == {
        "type": "boolean",
        "enum": [True, False],
    }
    assert member(serializers.ChoiceField(choices=[]))["not"] == {}


# -- what has no schema


class Asking(serializers.Serializer):
    def get_fields(self) -> Any:
        return {"a": serializers.ChoiceField(choices=[self.context["request"].user.pk])}


class Endless(serializers.Serializer):
    def __init__(self, *args: Any, depth: int = 0, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.depth = depth

    def get_fields(self) -> Any:
        return {"again": Endless(depth=self.depth + 1)}


class Bare(serializers.BaseSerializer):
    pass


@pytest.mark.parametrize(
    ("given", "why"),
    [
        (5, "5 is not a serializer"),
        (dict, "is not a serializer"),
        (User, "is not a serializer"),
        (serializers.CharField, "is not a serializer"),
        (Asking, "Asking cannot be read: AttributeError"),
        (Endless, "contains serializers without end"),
        (Bare, "Bare has no fields"),
    ],
)
def test_what_is_no_serializer_or_none_without_a_request_is_refused(given: Any, why: str) -> None:
    with pytest.raises(SourceError, match=why):
        schema_of_serializer(given)


@pytest.mark.parametrize("field", [serializers.FileField(), serializers.ImageField(required=False)])
def test_a_file_is_refused_and_named(field: Any) -> None:
    with pytest.raises(SourceError, match=r"^Made\.it: it is a file, which the JSON of a call cannot carry$"):
        member(field)


def test_a_read_only_file_is_no_input() -> None:
    class Shown(serializers.Serializer):
        it = serializers.ImageField(read_only=True)

    assert schema_of_serializer(Shown)["properties"] == {}


def test_a_field_that_says_nothing_is_refused_and_named() -> None:
    class Nested(serializers.Serializer):
        deep = serializers.ListField(child=Celsius())

    class Outer(serializers.Serializer):
        nested = Nested(many=True)

    with pytest.raises(SourceError, match=r"^Outer\.nested: Nested\.deep: nothing says what a Celsius takes"):
        schema_of_serializer(Outer)


# -- faults of declarations


def test_a_serializer_that_is_none_is_a_fault() -> None:
    for given in (5, dict, "Line"):
        found = refused(serializer=given, **WRITES)
        assert (found.id, found.dangerous) == ("agentweb.E038", True)
        assert found.message == (
            f"The serializer cannot be the input: {given!r} is not a serializer of Django REST framework."
        )
        assert "many=True" in found.hint


def test_a_serializer_as_input_is_a_fault_that_says_the_word() -> None:
    found = refused(input=Line, **WRITES)
    assert (found.id, found.hint) == ("agentweb.E016", "Give a serializer as serializer=.")


def test_a_serializer_without_a_schema_is_a_fault_that_names_the_field() -> None:
    class Upload(serializers.Serializer):
        photo = serializers.ImageField()

    found = refused(serializer=Upload, **WRITES)
    assert found.id == "agentweb.E038"
    assert "Upload.photo: it is a file" in found.message
    assert "read_only" in found.hint


def test_an_output_without_a_schema_is_a_fault_too() -> None:
    found = refused(output=Asking, **WRITES)
    assert found.id == "agentweb.E038"
    assert found.message.startswith("The serializer cannot be the output: Asking cannot be read")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ({"input": {"type": "object"}, "serializer": Line}, "input= and serializer="),
        ({"serializer": Line, "form": 5}, "serializer= and form="),
    ],
)
def test_an_input_is_described_once(words: dict[str, Any], said: str) -> None:
    found, faults = declared(**words, **WRITES)
    assert found is None
    assert [fault.id for fault in faults] == ["agentweb.E025"]
    assert faults[0].dangerous
    assert faults[0].message == f"The action has {said}; its input is described once."
    assert faults[0].hint == "Keep one of input, serializer and form."


def test_the_hint_of_a_handler_does_not_count_beside_a_serializer() -> None:
    def typed(inp: dict[str, Any], ctx: Any) -> None:
        """Do."""

    assert published(serializer=Line, by=typed, **WRITES).input_schema == LINE


def test_a_price_that_becomes_a_float_is_a_fault_and_a_decimal_is_none() -> None:
    class Money(serializers.Serializer):
        price = serializers.FloatField()

    class Pay(serializers.Serializer):
        money = Money()

    spend = {"effect": "spend", "scope": "pay", "cost": {"field": "/money/price", "currency": "USD"}}
    found = refused(serializer=Pay, **spend)
    assert found.id == "agentweb.E020"
    assert "DecimalField" in found.hint

    class Exact(serializers.Serializer):
        price = serializers.DecimalField(max_digits=8, decimal_places=2)

    assert published(
        serializer=Exact, effect="spend", scope="pay", cost={"field": "price", "currency": "USD"}
    )


def test_an_example_is_made_and_the_serializer_takes_it() -> None:
    made = published(serializer=Line, **WRITES)
    assert made.has_example
    assert Line(data=made.example).is_valid()
    given = published(serializer=Everything, **WRITES, example=valid())
    assert given.example == valid()
    assert refused(serializer=Line, example={"sku": ""}, **WRITES).id == "agentweb.E022"


def test_a_serializer_with_choices_of_the_database_asks_at_the_call_only(db: None) -> None:
    class Join(serializers.Serializer):
        group = serializers.PrimaryKeyRelatedField(queryset=Group.objects.filter(name="open"))

    with CaptureQueriesContext(connection) as queries, registry.only():
        action("join", serializer=Join, **WRITES)(handler)
        assert registry.faults() == []
    assert len(queries) == 0


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ({"type": "string", "nullable": True}, {"type": ["string", "null"]}),
        ({"type": ["string", "null"]}, {"type": ["string", "null"]}),
        ({"enum": ["a"], "nullable": True}, {"enum": ["a", None]}),
        (
            {"type": "string", "enum": ["a"], "nullable": True},
            {"type": ["string", "null"], "enum": ["a", None]},
        ),
        (
            {"oneOf": [{"type": "string"}], "nullable": True},
            {"anyOf": [{"oneOf": [{"type": "string"}]}, {"type": "null"}]},
        ),
        (
            {"anyOf": [{"type": "string"}], "nullable": True},
            {"anyOf": [{"type": "string"}, {"type": "null"}]},
        ),
        (
            {"allOf": [{"$ref": "#/components/schemas/A"}], "nullable": True, "description": "It."},
            {"description": "It.", "anyOf": [{"$ref": "#/components/schemas/A"}, {"type": "null"}]},
        ),
        ({"minimum": 1, "exclusiveMinimum": True}, {"exclusiveMinimum": 1}),
        ({"minimum": 1, "exclusiveMinimum": False}, {"minimum": 1}),
        ({"maximum": 1, "exclusiveMaximum": True, "format": "double"}, {"exclusiveMaximum": 1}),
        ({"type": "string", "example": "a"}, {"type": "string", "examples": ["a"]}),
        (
            {"type": "string", "x-spec-enum-id": "1", "discriminator": {}, "deprecated": True},
            {"type": "string", "deprecated": True},
        ),
        (
            {
                "properties": {"a": {"readOnly": True}, "b": {"type": "string", "writeOnly": True}},
                "required": ["a", "b"],
            },
            {"properties": {"b": {"type": "string"}}, "required": ["b"]},
        ),
        ({"properties": {"a": {"readOnly": True}}, "required": ["a"]}, {"properties": {}}),
        (
            {"type": "array", "items": {"type": "integer", "nullable": True}},
            {"type": "array", "items": {"type": ["integer", "null"]}},
        ),
        ({"nullable": True}, {}),
        (True, True),
    ],
)
def test_openapi_becomes_2020_12(schema: Any, expected: Any) -> None:
    assert converted(schema, drop="readOnly") == expected
