"""Calls of actions that have a serializer: the schema first, then the serializer, whose words reach the caller."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from types import SimpleNamespace
from typing import Any

import pytest
from django.contrib.auth.models import Group, User
from django.db import connection
from django.test.utils import CaptureQueriesContext
from rest_framework import exceptions, serializers

from agentweb import action
from agentweb.access.callers import Caller
from agentweb.catalog.drf.serializer_schemas import schema_of_serializer
from agentweb.catalog.drf.serializers import serializer_source
from agentweb.catalog.registry import registry
from agentweb.catalog.schema_secrets import concealed
from agentweb.invoke.calls import Call
from agentweb.invoke.door import invoke
from agentweb.invoke.redaction import is_sensitive
from agentweb.testing import TestAgent
from agentweb.wire.errors import InputError
from tests.site.models import Note

pytestmark = pytest.mark.usefixtures("catalog")


class Line(serializers.Serializer):
    sku = serializers.CharField(max_length=8)
    quantity = serializers.IntegerField(min_value=1)

    def validate_sku(self, value: str) -> str:
        if value == "gone":
            raise serializers.ValidationError("Sold out.", code="sold_out")
        return value.upper()

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if attrs["quantity"] > 100:
            raise serializers.ValidationError("Ask for a quote.")
        return attrs


class Order(serializers.Serializer):
    """An order.

    Not published.
    """

    lines = Line(many=True)
    prices = serializers.DictField(
        child=serializers.DecimalField(max_digits=6, decimal_places=2), required=False
    )
    when = serializers.DateField(required=False)
    extra = serializers.JSONField(required=False)
    owner = serializers.HiddenField(default=serializers.CurrentUserDefault())
    address = serializers.SerializerMethodField()

    def get_address(self, order: Any) -> str:
        found: str = self.context["request"].build_absolute_uri("/here")
        return found


class NoteSerializer(serializers.ModelSerializer):
    class Meta:
        model = Note
        fields = ("id", "text")


class NewGroup(serializers.ModelSerializer):
    class Meta:
        model = Group
        fields = ("name",)


def agent(**words: Any) -> TestAgent:
    return TestAgent(scopes=["drf:*"], **words)


def submit(value: Any, **words: Any) -> Any:
    return agent(**words).post("/agent/submit", value)


def problems_of(answer: Any) -> list[tuple[str, str, str]]:
    assert answer.status_code == 422, answer.content
    error = answer.json()["error"]
    assert error["code"] == "invalid_input"
    return [(each["pointer"], each["code"], each["message"]) for each in error["problems"]]


def declare(serializer: Any, answer: Any = None, **words: Any) -> list[Any]:
    """Publish an action ``submit`` with the serializer; what its handler was given is kept."""
    got: list[Any] = []

    @action("submit", effect="write", scope="drf:submit", serializer=serializer, **words)
    def submit(inp: Any, ctx: Any) -> Any:
        """Submit."""
        got.append((inp, ctx))
        return answer(inp, ctx) if answer is not None else None

    assert registry.faults() == []
    return got


ORDER: dict[str, Any] = {"lines": [{"sku": "tea", "quantity": 2}]}


def test_the_handler_gets_the_validated_data() -> None:
    got = declare(Order)
    user = User.objects.create(username="ada")
    value = {
        **ORDER,
        "prices": {"tea": Decimal("1234.50")},
        "when": "2026-01-31",
        "extra": {"a": [Decimal("1.5"), 2]},
    }
    answer = submit(value, user=user)
    assert answer.status_code == 200, answer.content
    [(inp, ctx)] = got
    assert inp == {
        "lines": [{"sku": "TEA", "quantity": 2}],
        "prices": {"tea": Decimal("1234.50")},
        "when": date(2026, 1, 31),
        "extra": {"a": [1.5, 2]},
        "owner": user,
    }
    assert type(inp["prices"]["tea"]) is Decimal
    assert type(inp["extra"]["a"][0]) is float
    assert isinstance(ctx.serializer, Order)
    assert ctx.serializer.validated_data is inp
    assert ctx.serializer.context["ctx"] is ctx
    assert ctx.serializer.context["view"] is None
    request = ctx.serializer.context["request"]
    assert (request.user, request.data) == (user, value)
    assert ctx.serializer.data["address"] == "https://testserver/here"


def test_without_a_serializer_there_is_none() -> None:
    got = []

    @action("submit", effect="write", scope="drf:submit", input={"type": "object"})
    def submit_plainly(inp: Any, ctx: Any) -> None:
        """Submit."""
        got.append(ctx.serializer)

    assert submit({}).status_code == 200
    assert got == [None]


def test_the_schema_comes_first_and_lists_all_it_knows() -> None:
    got = declare(Order)
    answer = submit({"lines": [{"sku": "gone", "quantity": 0}, {"sku": "", "quantity": 101}], "owner": 1})
    assert [problem[:2] for problem in problems_of(answer)] == [
        ("/lines/0/quantity", "minimum"),
        ("/lines/1/sku", "minLength"),
        ("/owner", "unknown_field"),
    ]
    assert got == []


def test_then_the_serializer_lists_all_that_it_knows() -> None:
    got = declare(Order)
    lines = [{"sku": "gone", "quantity": 1}, {"sku": "a", "quantity": 1}, {"sku": "a", "quantity": 101}]
    assert problems_of(submit({"lines": lines})) == [
        ("/lines/0/sku", "sold_out", "Sold out."),
        ("/lines/2", "invalid", "Ask for a quote."),
    ]
    assert got == []


def test_what_concerns_no_single_member_points_at_the_whole() -> None:
    declare(Line)
    assert problems_of(submit({"sku": "a", "quantity": 101})) == [("", "invalid", "Ask for a quote.")]


def test_the_database_has_its_say_in_the_handlers_transaction() -> None:
    declare(NewGroup, lambda inp, ctx: {"id": ctx.serializer.save().pk})
    answer = submit({"name": "staff"})
    assert answer.json() == {"id": Group.objects.get().pk}
    assert problems_of(submit({"name": "staff"})) == [
        ("/name", "unique", "group with this name already exists.")
    ]
    assert Group.objects.count() == 1


def test_a_refusal_of_save_takes_back_what_it_wrote() -> None:
    class Failing(NoteSerializer):
        def create(self, validated_data: Any) -> Note:
            Note.objects.create(**validated_data)
            raise serializers.ValidationError({"text": ["Not this."]}, code="unwanted")

    declare(Failing, lambda inp, ctx: ctx.serializer.save())
    assert problems_of(submit({"text": "a"})) == [("/text", "unwanted", "Not this.")]
    assert Note.objects.count() == 0


def test_many_and_partial_instances_are_taken() -> None:
    got = declare(Line(many=True, max_length=2))
    assert submit([{"sku": "a", "quantity": 1}]).status_code == 200
    assert got[0][0] == [{"sku": "A", "quantity": 1}]
    assert submit([{"sku": "b", "quantity": 2}]).status_code == 200
    assert got[1][0] == [{"sku": "B", "quantity": 2}]
    assert [problem[:2] for problem in problems_of(submit([{"sku": "a", "quantity": 1}] * 3))] == [
        ("", "maxItems")
    ]
    assert problems_of(submit([{"sku": "gone", "quantity": 1}])) == [("/0/sku", "sold_out", "Sold out.")]


def test_a_partial_serializer_requires_nothing() -> None:
    class Change(serializers.Serializer):
        name = serializers.CharField()
        size = serializers.IntegerField(default=1)

    got = declare(Change(partial=True))
    assert submit({}).status_code == 200
    assert submit({"size": 2}).status_code == 200
    assert [inp for inp, _ in got] == [{}, {"size": 2}]


def test_a_read_takes_it_from_the_query_string() -> None:
    class Query(serializers.Serializer):
        words = serializers.CharField()
        most = serializers.IntegerField(default=10, max_value=50)
        tags = serializers.ListField(child=serializers.CharField(), required=False)
        price = serializers.DecimalField(max_digits=5, decimal_places=2, required=False)

    @action(serializer=Query, method="GET")
    def look(inp: Any, ctx: Any) -> Any:
        """Look."""
        return inp

    assert registry.faults() == []
    answer = agent().get("/agent/look?words=5&most=7&tags=a&tags=b&price=1.50")
    assert answer.json() == {"words": "5", "most": 7, "tags": ["a", "b"], "price": 1.5}
    answer = agent().get("/agent/look?words=a&most=51")
    [problem] = answer.json()["error"]["problems"]
    assert (problem["pointer"], problem["in"]) == ("/most", "query")


@pytest.mark.parametrize(
    ("error", "status", "code", "message"),
    [
        (exceptions.PermissionDenied("Not yours."), 403, "not_allowed", "Not yours."),
        (exceptions.NotAuthenticated("Log in."), 403, "not_allowed", "Log in."),
        (exceptions.NotFound("No such order."), 404, "not_found", "No such order."),
        (exceptions.Throttled(wait=7), 429, "rate_limited", None),
        (exceptions.UnsupportedMediaType("a/b"), 415, "unsupported_media_type", None),
    ],
)
def test_exceptions_of_drf_are_the_refusals_that_they_are(
    error: Exception, status: int, code: str, message: str | None
) -> None:
    def refuse(inp: Any, ctx: Any) -> None:
        raise error

    declare(Line, refuse)
    answer = submit({"sku": "a", "quantity": 1})
    found = answer.json()["error"]
    assert (answer.status_code, found["code"]) == (status, code)
    if message is not None:
        assert found["message"] == message
    if status == 429:
        assert found["retry_after"] == 7


def test_a_failure_of_the_site_in_drf_is_told_as_nothing() -> None:
    def fail(inp: Any, ctx: Any) -> None:
        raise exceptions.APIException("postgres://user:hunter2@db")

    declare(Line, fail)
    answer = submit({"sku": "a", "quantity": 1})
    assert (answer.status_code, answer.json()["error"]["code"]) == (500, "handler_error")
    assert b"hunter2" not in answer.content


def call_from_a_shell(user: User, value: Any) -> Any:
    found = registry.get("submit")
    caller = Caller(kind="site", subject="site", user_id=user.pk)
    return invoke(
        Call(
            action=found,
            caller=caller,
            read_input=lambda: value,
            protocol="shell",
            method="POST",
            path=found.path,
            site="shop.example",
            request_id="rq_1",
        )
    )


def test_a_call_from_a_shell_has_a_user_and_an_address_too() -> None:
    user = User.objects.create(username="ada")
    got = declare(Order, lambda inp, ctx: ctx.serializer.data["address"])
    outcome = call_from_a_shell(user, ORDER)
    [(inp, ctx)] = got
    assert ctx.request is None
    assert inp["owner"] == user
    assert outcome.body == b'"https://shop.example/here"'


# -- answers


class Person(serializers.ModelSerializer):
    full_name = serializers.CharField(source="get_full_name", read_only=True)

    class Meta:
        model = User
        fields = ("id", "username", "password", "full_name")
        extra_kwargs = {"password": {"write_only": True}}  # noqa: RUF012


def answered(output: Any, result: Any) -> Any:
    declare(Line, lambda inp, ctx: result(), output=output)
    answer = submit({"sku": "a", "quantity": 1})
    assert answer.status_code == 200, answer.content
    return answer.json()


def a_person() -> User:
    return User.objects.create(username="ada", password="hunter2", first_name="Ada", last_name="L")


def test_a_row_leaves_as_the_serializer_writes_it() -> None:
    row = a_person()
    assert answered(Person, lambda: row) == {"id": row.pk, "username": "ada", "full_name": "Ada L"}


def test_rows_leave_as_a_list() -> None:
    row = a_person()
    shown = [{"id": row.pk, "username": "ada", "full_name": "Ada L"}]
    assert answered(Person(many=True), User.objects.all) == shown


@pytest.mark.parametrize("rows", [User.objects.all, lambda: list(User.objects.all()), lambda: User.objects])
def test_rows_of_a_class_leave_as_a_list_too(rows: Any) -> None:
    a_person()
    assert [each["username"] for each in answered(Person, rows)] == ["ada"]


def test_a_dict_leaves_with_the_fields_of_the_serializer_alone() -> None:
    given = {"id": 1, "username": "ada", "get_full_name": "Ada", "password": "hunter2", "email": "a@b.co"}
    assert answered(Person, lambda: given) == {"id": 1, "username": "ada", "full_name": "Ada"}


def test_data_of_the_same_serializer_leaves_as_it_is_without_what_was_added() -> None:
    def data() -> Any:
        found = Person(a_person()).data
        found["email"] = "ada@shop.example"
        found["password"] = "hunter2"
        return found

    assert set(answered(Person, data)) == {"id", "username", "full_name"}


def test_nothing_stays_nothing() -> None:
    assert answered(Person, lambda: None) is None


def test_the_published_answer_has_what_leaves() -> None:
    declare(Line, output=Person)
    schema = registry.get("submit").output_schema
    assert schema is not None
    assert set(schema["properties"]) == {"id", "username", "full_name"}
    assert registry.get("submit").output.is_valid({"id": 1, "username": "a", "full_name": "b"})


def test_an_answer_that_cannot_be_written_is_the_sites_failure() -> None:
    declare(Line, lambda inp, ctx: SimpleNamespace(id=1), output=Person)
    answer = submit({"sku": "a", "quantity": 1})
    assert (answer.status_code, answer.json()["error"]["code"]) == (500, "handler_error")


def test_an_async_handler_has_both_too() -> None:
    @action("submit", effect="write", scope="drf:submit", serializer=NoteSerializer, output=NoteSerializer)
    async def submit_later(inp: Any, ctx: Any) -> Any:
        """Submit."""
        return await Note.objects.acreate(**inp)

    answer = submit({"text": "a"})
    assert answer.json() == {"id": Note.objects.get().pk, "text": "a"}


def test_no_query_is_ours() -> None:
    """What a serializer asks is its own; a call with one makes no query more than a call without."""
    declare(Line)

    @action("plain", effect="write", scope="drf:submit", input={"type": "object"})
    def plain(inp: Any, ctx: Any) -> None:
        """Plain."""

    caller, value = agent(), {"sku": "a", "quantity": 1}
    counts = []
    for path in ("/agent/plain", "/agent/submit", "/agent/plain", "/agent/submit"):
        with CaptureQueriesContext(connection) as queries:
            assert caller.post(path, value).status_code == 200
        counts.append(len(queries))
    assert counts[2] == counts[3]


class _Secret(serializers.Serializer[Any]):
    pin = serializers.CharField(style={"input_type": "password"}, write_only=True)
    name = serializers.CharField()

    def validate_pin(self, value: str) -> str:
        raise serializers.ValidationError(f"{value} is known to everybody.", code="weak")


class _Secrets(serializers.Serializer[Any]):
    who = _Secret()
    many = _Secret(many=True)


def test_what_a_person_would_type_unseen_is_a_password_at_any_depth() -> None:
    schema = schema_of_serializer(_Secrets)
    inner = schema["$defs"]["_Secret"]["properties"]
    assert (inner["pin"]["format"], inner["pin"]["writeOnly"]) == ("password", True)
    assert "format" not in inner["name"]
    assert "pin" not in str(schema_of_serializer(_Secret, for_output=True)["properties"])
    value = {"who": {"pin": "1234", "name": "n"}, "many": [{"pin": "5678", "name": "m"}]}
    assert concealed(value, schema, is_sensitive) == {
        "who": {"pin": "[hidden]", "name": "n"},
        "many": [{"pin": "[hidden]", "name": "m"}],
    }


def test_the_serializer_s_words_do_not_repeat_a_password() -> None:
    with pytest.raises(InputError) as refused:
        serializer_source(_Secrets).to_python(
            {"who": {"pin": "hunter2", "name": "n"}, "many": [{"pin": "hunter3", "name": "m"}]}, None
        )
    messages = [each["message"] for each in refused.value.problems or []]
    assert messages == ["… is known to everybody."] * 2
