from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any
from urllib.parse import parse_qsl, unquote

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from agentweb.client.inputs import cost_of, prepare, read_input
from agentweb.client.manifest import DeclaredCost, ManifestAction
from agentweb.wire.errors import InputError
from agentweb.wire.schema import compile_schema
from agentweb.wire.strict_json import loads


def action(method: str = "POST", path: str = "/api/x", **properties: Any) -> ManifestAction:
    schema = {"type": "object", "properties": properties}
    return ManifestAction(
        name="x",
        description="",
        method=method,
        path=path,
        effect="write",
        scope=None,
        input=schema,
        cost=None,
        document={},
    )


def target(of: ManifestAction, value: Any) -> str:
    schema = of.schema()
    return prepare(of, read_input(value, schema), schema).target


def problems(call: Callable[[], object]) -> list[tuple[str, str]]:
    with pytest.raises(InputError) as caught:
        call()
    assert caught.value.problems is not None
    return [(problem["pointer"], problem["code"]) for problem in caught.value.problems]


TEXT, NUMBER = {"type": "string"}, {"type": "number"}
INTEGER, FLAG = {"type": "integer"}, {"type": "boolean"}


# --- reading ---


def test_input_is_read_as_the_site_will_read_it() -> None:
    original: dict[str, Any] = {"a": 0.1, "b": 1.0, "c": [Decimal("19.90")], "d": ("x",)}
    read = read_input(original, compile_schema(True))
    assert read == {"a": Decimal("0.1"), "b": Decimal("1.0"), "c": [Decimal("19.9")], "d": ["x"]}
    original["c"].append(1)
    assert isinstance(read, dict)
    assert read["c"] == [Decimal("19.9")]


@pytest.mark.parametrize(
    "value", [{"x": float("nan")}, {"x": object()}, {1: 2}, {"x": "\ud800"}, {"x": "\0"}, {"x": {1, 2}}, b"x"]
)
def test_value_that_is_not_json_is_refused(value: object) -> None:
    assert problems(lambda: read_input(value, compile_schema(True))) == [("", "json")]


def test_every_problem_of_the_schema_is_listed() -> None:
    schema = {"type": "object", "required": ["a", "b"], "properties": {"c": INTEGER}}
    found = problems(lambda: read_input({"c": "x"}, compile_schema(schema, foreign=True)))
    assert found == [("/a", "required"), ("/b", "required"), ("/c", "type")]


# --- bodies ---


def test_body_is_the_input_as_json() -> None:
    of = action()
    prepared = prepare(of, {"a": 1, "b": Decimal("19.90"), "c": "é"}, of.schema())
    assert (prepared.method, prepared.target) == ("POST", "/api/x")
    assert prepared.body == '{"a":1,"b":19.9,"c":"é"}'.encode()


@pytest.mark.parametrize("value", [[1, 2], "text", 5, None])
def test_input_that_is_no_object_travels_in_a_body_only(value: Any) -> None:
    assert loads(prepare(action(), value, compile_schema(True)).body) == value
    assert problems(lambda: prepare(action("GET"), value, compile_schema(True))) == [("", "type")]
    assert problems(lambda: prepare(action(path="/x/{id}"), value, compile_schema(True))) == [("", "type")]


def test_path_input_travels_in_the_path_only() -> None:
    of = action(path="/orders/{id}/lines/{line}", id=TEXT, line=INTEGER, note=TEXT)
    prepared = prepare(of, {"id": "o1", "line": 2, "note": "x"}, of.schema())
    assert prepared.target == "/orders/o1/lines/2"
    assert loads(prepared.body) == {"note": "x"}


@pytest.mark.parametrize(
    ("value", "segment"),
    [
        ("a b", "a%20b"),
        ("a/b", "a%2Fb"),
        ("a?b#c", "a%3Fb%23c"),
        ("é", "%C3%A9"),
        ("%2F", "%252F"),
        ("a+b&c=d", "a%2Bb%26c%3Dd"),
        ("...", "..."),
        ("{id}", "%7Bid%7D"),
    ],
)
def test_path_input_is_percent_encoded(value: str, segment: str) -> None:
    assert target(action(path="/orders/{id}", id=TEXT), {"id": value}) == f"/orders/{segment}"


@pytest.mark.parametrize(
    ("schema", "value", "segment"),
    [
        (INTEGER, -5, "-5"),
        (NUMBER, Decimal("1.50"), "1.5"),
        (NUMBER, 3, "3"),
        (FLAG, True, "true"),
        (FLAG, False, "false"),
    ],
)
def test_path_input_of_another_type_is_written_as_json(schema: Any, value: Any, segment: str) -> None:
    assert target(action(path="/x/{v}", v=schema), {"v": value}) == f"/x/{segment}"


@pytest.mark.parametrize("value", ["", ".", ".."])
def test_path_input_that_would_change_the_path_is_refused(value: str) -> None:
    assert problems(lambda: target(action(path="/x/{v}", v=TEXT), {"v": value})) == [("/v", "path")]


@pytest.mark.parametrize("value", [None, [1], {"a": 1}])
def test_path_input_that_is_no_scalar_is_refused(value: Any) -> None:
    assert problems(lambda: target(action(path="/x/{v}", v={}), {"v": value})) == [("/v", "type")]


def test_missing_path_input_is_refused_even_if_the_schema_forgot_it() -> None:
    found = problems(lambda: target(action(path="/x/{a~1}/{b}", b=TEXT), {}))
    assert found == [("/a~01", "required"), ("/b", "required")]


def test_number_where_the_schema_tells_no_type_cannot_travel_in_a_path() -> None:
    assert problems(lambda: target(action(path="/x/{v}", v={}), {"v": 5})) == [("/v", "url")]
    assert target(action(path="/x/{v}", v={}), {"v": "5"}) == "/x/5"


# --- query strings ---


@pytest.mark.parametrize("method", ["GET", "DELETE"])
def test_input_of_get_and_delete_travels_in_the_query_string(method: str) -> None:
    of = action(method, q=TEXT, n=INTEGER, price=NUMBER, flag=FLAG, tags={"type": "array", "items": TEXT})
    value = {"q": "a b&c=ü", "n": 5, "price": Decimal("1.50"), "flag": True, "tags": ["x", "y z"]}
    prepared = prepare(of, read_input(value, of.schema()), of.schema())
    assert prepared.body == b""
    assert prepared.target == "/api/x?q=a%20b%26c%3D%C3%BC&n=5&price=1.5&flag=true&tags=x&tags=y%20z"


def test_path_and_query_share_the_input() -> None:
    of = action("GET", "/x/{id}", id=TEXT, q=TEXT)
    assert target(of, {"id": "1", "q": ""}) == "/x/1?q="
    assert target(of, {"id": "1"}) == "/x/1"


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"type": "object"}, {"a": 1}),
        ({"type": "array", "items": TEXT}, []),
        ({"type": "array", "items": {"type": "object"}}, [{"a": 1}]),
        ({}, 5),
        ({"type": ["string", "null"]}, None),
        ({"type": ["string", "array"]}, [5]),
    ],
)
def test_value_that_would_arrive_as_another_is_refused(schema: Any, value: Any) -> None:
    assert problems(lambda: target(action("GET", v=schema), {"v": value})) == [("/v", "url")]


@pytest.mark.parametrize(
    ("schema", "value", "query"),
    [
        ({"type": ["integer", "null"]}, None, "v=null"),
        # It arrives as a text, and the schema says that either is meant.
        ({"type": ["string", "integer"]}, 5, "v=5"),
        ({"type": ["number", "string"], "pattern": "^[0-9.]+$"}, Decimal("1.5"), "v=1.5"),
        ({"enum": [1, "a"]}, 1, "v=1"),
        ({"type": "array", "items": INTEGER}, [1], "v=1"),
        ({"anyOf": [INTEGER, FLAG]}, True, "v=true"),
    ],
)
def test_value_whose_type_the_schema_tells_travels(schema: Any, value: Any, query: str) -> None:
    assert target(action("GET", v=schema), {"v": value}) == f"/api/x?{query}"


VALUES = st.fixed_dictionaries(
    {},
    optional={
        "text": st.text(),
        "integer": st.integers(-(2**53), 2**53),
        "number": st.decimals(-1000, 1000, places=2),
        "flag": st.booleans(),
        "texts": st.lists(st.text(), min_size=1, max_size=3),
        "a&b=c é": st.text(),
    },
)


@settings(deadline=None)
@given(value=VALUES, in_path=st.text(min_size=1))
def test_whatever_is_sent_arrives_as_it_was(value: dict[str, Any], in_path: str) -> None:
    assume(in_path not in {".", ".."} and "\0" not in f"{in_path}{value}" and "\\x00" not in repr(value))
    of = action(
        "GET",
        "/x/{in_path}/end",
        in_path=TEXT,
        text=TEXT,
        integer=INTEGER,
        number=NUMBER,
        flag=FLAG,
        texts={"type": "array", "items": TEXT},
        **{"a&b=c é": TEXT},
    )
    sent = target(of, {**value, "in_path": in_path})
    assert sent.isascii()
    path, _, query = sent.partition("?")
    assert unquote(path.split("/")[2]) == in_path
    arrived, found = of.schema().coerce_strings(
        parse_qsl(query, keep_blank_values=True, strict_parsing=bool(query))
    )
    assert (arrived, found) == (value, [])


# --- cost ---


@pytest.mark.parametrize(
    ("cost", "minor"),
    [
        (None, None),
        (DeclaredCost("USD", amount=25_00), 25_00),
        (DeclaredCost("USD", field="price"), 19_99),
        (DeclaredCost("USD", field="/price"), 19_99),
        (DeclaredCost("JPY", field="/deep/a~1b"), 500),
        (DeclaredCost("USD", field="text"), 5_00),
    ],
)
def test_cost_is_read_from_the_input_or_fixed(cost: DeclaredCost | None, minor: int | None) -> None:
    value: Any = {"price": Decimal("19.99"), "deep": {"a/b": 500}, "text": "5.00"}
    assert cost_of(cost, value) == minor


@pytest.mark.parametrize("price", [None, True, "x", 0, -1, Decimal("1.999"), {}, [], "5.000"])
def test_price_that_is_no_amount_is_refused(price: Any) -> None:
    found = problems(lambda: cost_of(DeclaredCost("USD", field="price"), {"price": price}))
    assert found == [("/price", "amount")]


@pytest.mark.parametrize("value", [{}, [], None, {"price": {"deep": 1}}])
def test_missing_price_is_refused(value: Any) -> None:
    assert problems(lambda: cost_of(DeclaredCost("USD", field="/price/x"), value)) == [("/price/x", "amount")]


def test_what_no_url_can_carry_is_a_problem_of_the_input() -> None:
    asked = action("GET", a=TEXT)
    assert problems(lambda: target(asked, {"a": "x" * 60_001})) == [("", "url")]
