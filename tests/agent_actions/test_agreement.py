"""Agent and site read the published schema alike: what one finds valid the other does, and for the same reasons."""

import json
from decimal import Decimal

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from agentweb import action
from agentweb.client.inputs import read_input
from agentweb.client.manifest import read_manifest
from agentweb.wire.errors import InputError
from agentweb.wire.strict_json import dumps, loads
from tests.support.entries import MANIFEST
from tests.support.examples import examples
from tests.support.web import QUANTITY, send

SCHEMAS = {
    "cart": QUANTITY,
    "price": {
        "type": "object",
        "required": ["a"],
        "properties": {"a": {"type": "number", "exclusiveMinimum": 0, "maximum": 10, "multipleOf": 0.01}},
    },
    "words": {
        "type": "object",
        "properties": {
            "a": {"type": "string", "minLength": 1, "maxLength": 3, "pattern": "^[a-zé]"},
            "b": {"enum": ["x", 1, None, True]},
        },
        "minProperties": 1,
        "additionalProperties": {"type": "boolean"},
    },
    "lines": {
        "type": "object",
        "properties": {
            "a": {"type": "array", "items": {"$ref": "#/$defs/line"}, "maxItems": 2, "uniqueItems": True},
            "b": {"prefixItems": [{"type": "string"}], "items": {"type": "integer"}},
        },
        "dependentRequired": {"b": ["a"]},
        "$defs": {"line": {"type": "object", "required": ["n"], "properties": {"n": {"type": "integer"}}}},
    },
    "payment": {
        "oneOf": [
            {
                "type": "object",
                "required": ["a"],
                "properties": {"a": {"const": "card"}, "b": {"type": "string"}},
            },
            {
                "type": "object",
                "required": ["a"],
                "properties": {"a": {"const": 1}, "b": {"type": "integer"}},
            },
        ],
        "unevaluatedProperties": False,
    },
    "anything": {},
    "list": {"type": "array", "contains": {"type": "integer"}, "minContains": 1},
}
# Integers beyond 2^53 - 1 have no canonical form (RFC 8785 3.2.2.3), whatever the schema says of them.
SCALARS = st.one_of(
    st.sampled_from(["", "x", "tea", "card", "é", "four", 0, 1, 2, 20, 21, -1, 2**53 - 1, True, False, None]),
    st.decimals(min_value=-2, max_value=21, places=2),
    st.decimals(min_value=0, max_value=1, places=3),
    st.text(max_size=4).filter(lambda text: "\0" not in text),
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(st.sampled_from(["a", "b", "n", "product_id", "quantity"]), inner, max_size=3),
    ),
    max_leaves=6,
)
LIKELY = {
    "cart": st.fixed_dictionaries(
        {
            "product_id": st.one_of(st.text("tea"), SCALARS),
            "quantity": st.one_of(st.integers(-1, 22), SCALARS),
        }
    ),
    "price": st.fixed_dictionaries({"a": SCALARS}),
    "words": st.fixed_dictionaries(
        {"a": st.text("aé1", max_size=4)},
        optional={"b": st.sampled_from(["x", 1, None, True, "y"]), "c": st.one_of(st.booleans(), SCALARS)},
    ),
    "lines": st.fixed_dictionaries(
        {"a": st.lists(st.fixed_dictionaries({"n": SCALARS}), max_size=3)}, optional={"b": st.lists(SCALARS)}
    ),
    "payment": st.fixed_dictionaries(
        {"a": st.sampled_from(["card", 1, 2])}, optional={"b": SCALARS, "c": SCALARS}
    ),
    "anything": VALUES,
    "list": st.lists(SCALARS, max_size=3),
}


@pytest.fixture
def manifest(catalog, many_callers):
    """The site's manifest as its agents have it: by name, with prices exact."""
    for name, schema in SCHEMAS.items():
        action(name, description="Words.", input=schema, method="POST")(lambda inp, ctx: "done")
    document = loads(send("GET", MANIFEST).content)
    return read_manifest(document, site="shop.example", url=f"https://shop.example{MANIFEST}")


def by_the_agent(entry, value):
    """The problems that the agent finds before it sends."""
    try:
        read_input(value, entry.schema())
    except InputError as error:
        return error.problems
    return []


def by_the_site(entry, value):
    """The problems that the site answers with, which only knows the request."""
    answer = send("POST", entry.path, dumps(value))
    if answer.status_code == 200:
        return []
    assert answer.status_code == 422, answer.content
    return json.loads(answer.content)["error"]["problems"]


@pytest.mark.requirement("AA-2.12")
@pytest.mark.parametrize("name", sorted(SCHEMAS))
def test_agent_and_site_find_the_same_inputs_valid(manifest, name):
    entry = manifest.actions[name]
    assert entry.input == loads(dumps(SCHEMAS[name]))
    # A third opinion, on the schema as it was published.
    reference = Draft202012Validator(loads(dumps(entry.input)))
    verdicts = set()

    @settings(
        max_examples=examples(80),
        deadline=None,
        derandomize=True,
        suppress_health_check=[HealthCheck.too_slow],
    )
    @given(value=st.one_of(LIKELY[name], VALUES))
    def compare(value):
        found = by_the_agent(entry, value)
        assert json.loads(dumps(found)) == by_the_site(entry, value)
        assert (found == []) == reference.is_valid(loads(dumps(value)))
        verdicts.add(found == [])

    compare()
    assert verdicts == ({True} if name == "anything" else {True, False})


@pytest.mark.requirement("AA-2.12")
@pytest.mark.parametrize(
    ("name", "value", "valid"),
    [
        ("cart", {"product_id": "tea", "quantity": Decimal("2.0")}, True),
        ("cart", {"product_id": "tea", "quantity": True}, False),
        ("price", {"a": Decimal("4.02")}, True),  # no multiple of 0.01 to binary arithmetic
        ("price", {"a": Decimal("4.021")}, False),
        ("words", {"a": "éé", "c": True}, True),
        ("words", {"a": "😀"}, False),
        ("lines", {"a": [{"n": 1}, {"n": Decimal("1.0")}]}, False),  # equal numbers are one item
        ("payment", {"a": "card", "b": "x"}, True),
        ("payment", {"a": "card", "b": "x", "c": 1}, False),
        ("list", [], False),
    ],
)
def test_where_validators_differ_agent_and_site_do_not(manifest, name, value, valid):
    entry = manifest.actions[name]
    found = by_the_agent(entry, value)
    assert (found == []) is valid
    assert json.loads(dumps(found)) == by_the_site(entry, value)
