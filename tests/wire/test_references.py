from __future__ import annotations

import json
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentweb.wire.errors import ClientError
from agentweb.wire.references import (
    MAX_PROBLEMS,
    MAX_REFERENCE,
    MAX_SIZE,
    MAX_STEPS,
    check_output,
    check_references,
    parse_reference,
    references_in,
    resolve,
)
from agentweb.wire.strict_json import Json


def refusal(call: Callable[[], object]) -> ClientError:
    with pytest.raises(ClientError) as caught:
        call()
    return caught.value


# --- grammar ---


@pytest.mark.parametrize(
    ("text", "step", "names"),
    [
        ("$input", None, []),
        ("$input?", None, []),
        ("$input.x", None, ["x"]),
        ("$input._a-b9.c", None, ["_a-b9", "c"]),
        ("$input.0", None, ["0"]),
        ('$input["a.b"]', None, ["a.b"]),
        ('$input["a?"].b?', None, ["a?", "b"]),
        ('$input[""]', None, [""]),
        (r'$input["\"\u00e9\n"]', None, ['"é\n']),
        (r'$input["\ud83d\ude00"]', None, ["😀"]),
        ("$steps.0", 0, []),
        ("$steps.12.items.0.id", 12, ["items", "0", "id"]),
        ('$steps.1["a"]["b"].c', 1, ["a", "b", "c"]),
        ("$steps.0?", 0, []),
    ],
)
def test_reference_of_the_grammar_is_parsed(text: str, step: int | None, names: list[str]) -> None:
    reference = parse_reference(text)
    assert reference is not None
    assert (reference.step, [segment.name for segment in reference.path]) == (step, names)
    assert reference.optional is text.endswith("?")
    assert reference.source + "".join(segment.written for segment in reference.path) == text.removesuffix("?")


@pytest.mark.parametrize("text", ["", "x", "input", "a $input.x", " $input", "$$", "$$input.x", "$$$", "5$"])
def test_other_text_is_a_literal(text: str) -> None:
    assert parse_reference(text) is None


BAD = [
    "$",
    "$x",
    "$5",
    "$ input",
    "$Input",
    "$inputs",
    "$input.",
    "$input..x",
    "$input.x.",
    "$input.x y",
    "$input.x\n",
    "$input\n",
    "$input.é",
    "$input.-a",
    "$input.1a",
    "$input.x??",
    "$input?.x",
    "$input[0]",
    "$input[]",
    "$input['a']",
    '$input["a]',
    '$input["a"',
    '$input["a"]b',
    '$input.["a"]',
    '$input["\\x"]',
    '$input["\\ud800"]',
    '$input["\n"]',
    "$steps",
    "$steps.",
    "$steps.x",
    "$steps.-1",
    "$steps.0x",
    "$steps[0]",
    "$steps.1234567890",
    "$input.1234567890",
    "$steps.٣",
    "${input.x}",
    "$input." + "a" * MAX_REFERENCE,
]


@pytest.mark.parametrize("text", BAD)
def test_other_text_after_a_dollar_is_refused(text: str) -> None:
    error = refusal(lambda: parse_reference(text))
    assert (error.code, error.extra["reference"][:80]) == ("flow_invalid", text[:80])
    assert "$$" in error.message


def test_name_may_end_with_a_dash() -> None:
    reference = parse_reference("$input.x-")
    assert reference is not None
    assert reference.path[0].name == "x-"


# --- values ---

OUTPUT: dict[str, Json] = {
    "items": [{"id": "sku-1", "price": Decimal("19.90")}, {"id": "sku-2"}],
    "count": 2,
    "none": None,
    "0": "a key of digits",
    "a.b": {"": True},
    "007": "agent",
}


@pytest.mark.parametrize(
    ("reference", "value"),
    [
        ("$steps.0", OUTPUT),
        ("$steps.0.count", 2),
        ("$steps.0.items", OUTPUT["items"]),
        ("$steps.0.items.1.id", "sku-2"),
        ("$steps.0.items.0.price", Decimal("19.90")),
        ("$steps.0.none", None),
        ("$steps.0.none?", None),
        ("$steps.0.0", "a key of digits"),
        ("$steps.0.007", "agent"),
        ("$steps.0.items.01.id", "sku-2"),
        ('$steps.0["a.b"][""]', True),
        ('$steps.0["count"]', 2),
        ("$input.n", 1.5),
        ("$input", {"n": 1.5}),
    ],
)
def test_reference_becomes_the_value_with_its_type(reference: str, value: Json) -> None:
    resolved = resolve({"x": reference}, {"n": 1.5}, [OUTPUT])
    assert resolved == {"x": value}
    assert isinstance(resolved, dict)
    assert type(resolved["x"]) is type(value)


def test_boolean_and_number_and_text_stay_apart() -> None:
    values: Json = {"t": True, "one": 1, "text": "1", "float": 1.0}
    resolved = resolve({name: f"$input.{name}" for name in ("t", "one", "text", "float")}, values, [])
    assert json.dumps(resolved) == json.dumps(values)


def test_references_are_found_at_any_depth() -> None:
    given_: Json = {"a": [{"b": ["$input.x", "$$input.x"]}, "$steps.0.id"], "c": 1}
    assert resolve(given_, {"x": [1]}, [{"id": 7}]) == {"a": [{"b": [[1], "$input.x"]}, 7], "c": 1}


def test_whole_input_may_be_one_reference() -> None:
    assert resolve("$input", {"x": 1}, []) == {"x": 1}


def test_keys_are_never_references() -> None:
    assert resolve({"$input.x": 1, "$": 2}, {"x": "y"}, []) == {"$input.x": 1, "$": 2}


def test_reference_inside_a_longer_text_is_text() -> None:
    assert resolve({"x": "buy $input.x"}, {"x": "y"}, []) == {"x": "buy $input.x"}


@pytest.mark.parametrize(
    ("written", "literal"), [("$$", "$"), ("$$$", "$$"), ("$$5.00", "$5.00"), ("$$x?", "$x?")]
)
def test_doubled_dollar_is_a_literal_dollar(written: str, literal: str) -> None:
    assert resolve({"x": written, "y": [written]}, {}, []) == {"x": literal, "y": [literal]}


def test_value_that_looks_like_a_reference_is_not_resolved_again() -> None:
    assert resolve({"x": "$input.x"}, {"x": "$steps.0"}, [{"secret": 1}]) == {"x": "$steps.0"}


def test_resolved_value_shares_nothing_with_its_source() -> None:
    output: Json = {"list": [{"deep": [1]}]}
    resolved: Any = resolve({"x": "$steps.0.list", "y": "$steps.0.list"}, {}, [output])
    resolved["x"][0]["deep"].append(2)
    assert output == {"list": [{"deep": [1]}]}
    assert resolved["y"] == [{"deep": [1]}]


def test_resolving_leaves_the_flow_as_it_was() -> None:
    flow: Any = {"x": ["$input.x", "$$"], "y": {"z": "$input.q?"}}
    before = json.dumps(flow)
    resolved: Any = resolve(flow, {"x": []}, [])
    resolved["x"].append(1)
    resolved["y"]["new"] = 1
    assert json.dumps(flow) == before


@pytest.mark.parametrize(
    ("reference", "found"),
    [
        ("$steps.0.missing", "$steps.0"),
        ("$steps.0.items.2", "$steps.0.items"),
        ("$steps.0.items.99.id", "$steps.0.items"),
        ("$steps.0.items.1.price", "$steps.0.items.1"),
        ("$steps.0.items.id", "$steps.0.items"),
        ('$steps.0.items["0"]', "$steps.0.items"),
        ("$steps.0.items.length", "$steps.0.items"),
        ("$steps.0.count.x", "$steps.0.count"),
        ("$steps.0.none.x", "$steps.0.none"),
        ("$steps.0.items.0.id.0", "$steps.0.items.0.id"),
        ('$steps.0["a.b"].x.y', '$steps.0["a.b"]'),
        ("$steps.0.a.b", "$steps.0"),
        ("$steps.1.id", ""),
        ("$steps.7", ""),
        ("$input.q", "$input"),
    ],
)
def test_missing_path_names_reference_step_and_deepest_existing_prefix(reference: str, found: str) -> None:
    error = refusal(lambda: resolve({"a": [{"b": reference}]}, {"x": 1}, [OUTPUT], step=1))
    assert error.code == "flow_reference_missing"
    assert error.extra == {"reference": reference, "step": 1, "found": found}
    assert reference in error.message


def test_optional_reference_to_nothing_leaves_its_member_out() -> None:
    given_: Json = {
        "a": "$input.a?",
        "b": "$input.b?",
        "c": ["$input.a?", "$input.b?", "$steps.3.x?"],
        "d": {},
    }
    assert resolve(given_, {"b": None}, []) == {"b": None, "c": [None], "d": {}}


def test_optional_whole_input_that_is_missing_is_an_error() -> None:
    assert refusal(lambda: resolve("$steps.0?", {}, [])).code == "flow_reference_missing"


def test_bad_reference_is_refused_when_it_is_reached() -> None:
    assert refusal(lambda: resolve({"x": "$nothing"}, {}, [])).code == "flow_invalid"
    assert refusal(lambda: resolve({"x": "$nothing?"}, {}, [])).code == "flow_invalid"


def test_many_copies_of_a_large_output_are_refused() -> None:
    large: Json = {"text": "x" * 100_000}
    assert resolve({"a": ["$steps.0"] * 40}, {}, [large]) == {"a": [large] * 40}
    error = refusal(lambda: resolve({"a": ["$steps.0"] * 50}, {}, [large], step=1))
    assert (error.code, error.extra["step"]) == ("flow_invalid", 1)
    wide: Json = [[]] * 100_000
    assert refusal(lambda: resolve({"a": ["$steps.0"] * 50}, {}, [wide])).code == "flow_invalid"
    keys: Json = {"k" * 1000: 0}
    assert refusal(lambda: resolve(["$steps.0"] * (MAX_SIZE // 1000), {}, [keys])).code == "flow_invalid"


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4),
    max_leaves=20,
)


def paths(value: Any, at: str) -> list[tuple[str, Any]]:
    """Every path into a value, written as a reference, with what it names."""
    found = [(at, value)]
    if isinstance(value, dict):
        for key, item in value.items():
            found += paths(item, f"{at}[{json.dumps(key)}]")
    if isinstance(value, list):
        for index, item in enumerate(value):
            found += paths(item, f"{at}.{index}")
    return found


@settings(deadline=None)
@given(value=JSON_VALUES)
def test_every_place_of_every_value_can_be_referred_to(value: Any) -> None:
    for reference, expected in paths(value, "$steps.0"):
        resolved = resolve([reference], {}, [value])
        assert json.dumps(resolved) == json.dumps([expected])


@settings(deadline=None)
@given(value=JSON_VALUES)
def test_escaped_literals_survive(value: Any) -> None:
    def escape(item: Any) -> Any:
        if isinstance(item, str):
            return "$" + item if item.startswith("$") else item
        if isinstance(item, dict):
            return {key: escape(inner) for key, inner in item.items()}
        return [escape(inner) for inner in item] if isinstance(item, list) else item

    assert json.dumps(resolve(escape(value), {}, [])) == json.dumps(value)


@given(text=st.text(alphabet='$inputsteps.0"[]?ab\\ \n', max_size=20).map(lambda text: "$" + text))
def test_any_text_is_a_reference_a_literal_or_refused(text: str) -> None:
    try:
        reference = parse_reference(text)
    except ClientError:
        return
    assert (reference is None) == text.startswith("$$")


def test_references_are_listed_with_their_places() -> None:
    value: Json = {"a/b": ["$input.x", "plain"], "c~": {"d": "$steps.0.y?"}, "e": "$$"}
    assert [(pointer, reference.text) for pointer, reference in references_in(value)] == [
        ("/a~1b/0", "$input.x"),
        ("/c~0/d", "$steps.0.y?"),
    ]


# --- static checks ---

ACTIONS: dict[str, Any] = {
    "search_products": {"type": "object", "required": ["query"], "properties": {"query": {"type": "string"}}},
    "add_to_cart": {
        "type": "object",
        "required": ["product_id", "quantity"],
        "properties": {"product_id": {"type": "string"}, "quantity": {"type": "integer"}, "note": {}},
        "additionalProperties": False,
    },
    "checkout": {"type": "object", "properties": {"cart_id": {}}, "required": ["cart_id"]},
    "anything": True,
}
BUY: list[Json] = [
    {"action": "search_products", "with": {"query": "$input.query"}},
    {
        "action": "add_to_cart",
        "with": {"product_id": "$steps.0.items.0.id", "quantity": "$input.quantity", "note": "$input.note?"},
    },
    {"action": "checkout", "with": {"cart_id": "$steps.1.cart_id"}},
    {"action": "anything"},
    {"action": "checkout", "with": "$steps.1"},
]


def found(steps: Json, **more: Any) -> list[tuple[str, str]]:
    return [
        (problem["pointer"], problem["code"]) for problem in check_references(steps, actions=ACTIONS, **more)
    ]


def test_flow_that_holds_has_no_problem() -> None:
    assert found(BUY) == []


@pytest.mark.parametrize(
    ("steps", "expected"),
    [
        (None, [("/steps", "type")]),
        ({}, [("/steps", "type")]),
        ([], [("/steps", "minItems")]),
        ([{"action": "anything"}] * (MAX_STEPS + 1), [("/steps", "maxItems")]),
        ([{"action": "anything"}] * MAX_STEPS, []),
        (["anything"], [("/steps/0", "type")]),
        ([{}], [("/steps/0/action", "unknown_action")]),
        ([{"action": ["anything"]}], [("/steps/0/action", "unknown_action")]),
        ([{"action": "sell"}], [("/steps/0/action", "unknown_action")]),
        ([{"action": "anything", "with": None}], [("/steps/0/with", "type")]),
        ([{"action": "anything", "with": []}], [("/steps/0/with", "type")]),
        ([{"action": "anything", "with": "text"}], [("/steps/0/with", "type")]),
        ([{"action": "anything", "with": "$$input"}], [("/steps/0/with", "type")]),
        ([{"action": "anything", "with": "$input?"}], [("/steps/0/with", "reference")]),
        ([{"action": "anything", "with": {"x": "$steps.0.id"}}], [("/steps/0/with/x", "not_earlier")]),
        ([{"action": "anything", "with": {"x": ["$steps.1?"]}}], [("/steps/0/with/x/0", "not_earlier")]),
        ([{"action": "anything", "with": "$steps.3"}], [("/steps/0/with", "not_earlier")]),
        ([{"action": "anything", "with": {"a/b": "$x"}}], [("/steps/0/with/a~1b", "reference")]),
        ([{"action": "search_products"}], [("/steps/0/with/query", "required")]),
        (
            [{"action": "search_products", "with": {"query": "$input.q?"}}],
            [("/steps/0/with/query", "required")],
        ),
        ([{"action": "search_products", "with": {"query": "$$q?"}}], []),
        (
            [{"action": "add_to_cart", "with": {"product_id": "a", "quantity": 1, "color": "red"}}],
            [("/steps/0/with/color", "unknown_field")],
        ),
        (
            [{"action": "add_to_cart", "with": {"note": "$nothing", "b": "$steps.9"}}, 5],
            [
                ("/steps/0/with/product_id", "required"),
                ("/steps/0/with/quantity", "required"),
                ("/steps/0/with/b", "unknown_field"),
                ("/steps/0/with/note", "reference"),
                ("/steps/0/with/b", "not_earlier"),
                ("/steps/1", "type"),
            ],
        ),
    ],
)
def test_every_problem_of_a_flow_is_listed(steps: Json, expected: list[tuple[str, str]]) -> None:
    assert found(steps) == expected


def test_reference_to_an_input_the_flow_does_not_have_is_a_problem() -> None:
    closed = {"type": "object", "properties": {"query": {}, "quantity": {}}, "additionalProperties": False}
    assert found(BUY, input_schema=closed) == [("/steps/1/with/note", "unknown_field")]
    assert found(BUY, input_schema=closed | {"additionalProperties": True}) == []
    assert found(BUY, input_schema=True) == []
    assert found([{"action": "anything", "with": "$input"}], input_schema=closed) == []


def test_problem_says_where_and_what_in_words() -> None:
    (problem,) = check_references([{"action": "anything", "with": {"a/b": "$x"}}], actions=ACTIONS)
    assert problem["field"] == "steps.0.with.a/b"
    assert "$input.name" in problem["message"]


@settings(deadline=None)
@given(steps=JSON_VALUES)
def test_any_value_as_steps_is_judged_without_an_accident(steps: Any) -> None:
    check_references(steps, actions={"a": {"required": ["x", 1], "properties": []}, "": {"required": 1}})
    check_references([{"action": "a", "with": steps}], actions={"a": {"required": [None]}})


def test_problems_of_a_hostile_flow_are_listed_up_to_a_number() -> None:
    """A manifest of a megabyte has room for billions of them."""
    demanding = {"required": [f"r{number}" for number in range(50_000)]}
    steps = [{"action": "a"}] * MAX_STEPS
    assert len(check_references(steps, actions={"a": demanding})) == MAX_PROBLEMS
    assert len(check_output(["$"] * 5_000, steps=1)) == MAX_PROBLEMS


def test_a_name_that_is_required_again_and_again_is_looked_at_once() -> None:
    class Counted(str):
        looks = 0

        def __str__(self) -> str:
            Counted.looks += 1
            return "x"

    demanding = {"required": [Counted("x") for _ in range(1_000)]}
    assert check_references([{"action": "a", "with": {"x": 1}}], actions={"a": demanding}) == []
    assert Counted.looks <= 3


def test_a_pointer_is_made_for_a_problem_only() -> None:
    """One for each reference would be a long name times very many."""
    long = "n" * 100_000
    given = {long: ["$input.x"] * 3_000 + ["$"]}
    [problem] = check_references([{"action": "a", "with": given}], actions={"a": {}})
    assert problem["pointer"] == f"/steps/0/with/{long}/3000"
