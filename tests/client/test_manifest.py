from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentweb.client.manifest import MAX_ACTIONS, DeclaredCost, Manifest, read_manifest
from agentweb.wire.errors import ClientError
from agentweb.wire.receipts import receipt_hash
from agentweb.wire.signing import jwk
from tests.client.conftest import AGENT

URL = "https://shop.example/.well-known/agent-actions.json"


def document(**changes: Any) -> dict[str, Any]:
    return {
        "version": "agent-actions/0.1",
        "site": "shop.example",
        "auth": {"type": "agent-grant"},
        "actions": [
            {
                "name": "add_to_cart",
                "description": "Add a product to the cart",
                "method": "POST",
                "path": "/api/cart",
                "effect": "write",
                "scope": "cart:write",
                "input": {
                    "type": "object",
                    "required": ["product_id", "quantity"],
                    "properties": {
                        "product_id": {"type": "string"},
                        "quantity": {"type": "integer", "minimum": 1, "maximum": 20},
                    },
                },
            },
            {"name": "ping", "method": "GET", "path": "/ping/{id}", "effect": "read"},
        ],
        "flows": [{"name": "buy", "steps": [{"action": "ping", "with": {"id": "$input.id"}}]}],
        "endpoints": {"receipts": "/agent-actions/receipts", "grants": "https://shop.example/g"},
        **changes,
    }


def entry(**changes: Any) -> dict[str, Any]:
    given_ = {"name": "x", "method": "POST", "path": "/x", "effect": "write", "input": {}}
    return {name: value for name, value in (given_ | changes).items() if value is not ...}


def read(content: Any) -> Manifest:
    return read_manifest(content, site="shop.example", url=URL)


def problems(content: Any) -> list[tuple[str, str]]:
    with pytest.raises(ClientError) as caught:
        read(content)
    assert caught.value.code == "manifest_invalid"
    assert caught.value.problems is not None
    return [(problem["pointer"], problem["code"]) for problem in caught.value.problems]


def unusable(manifest: Manifest) -> list[tuple[str, str]]:
    return [(problem["pointer"], problem["code"]) for problem in manifest.unusable]


def test_manifest_of_the_specification_is_read() -> None:
    manifest = read(document())
    action = manifest.action("add_to_cart")
    assert (action.method, action.path, action.effect, action.scope) == (
        "POST",
        "/api/cart",
        "write",
        "cart:write",
    )
    assert action.description == "Add a product to the cart"
    assert action.schema().is_valid({"product_id": "x", "quantity": 20})
    assert not action.schema().is_valid({"product_id": "x", "quantity": 21})
    assert manifest.action("ping").path_parameters == ("id",)
    assert manifest.flows["buy"].problems == ()
    assert manifest.digest == receipt_hash(document())


def test_unknown_members_and_a_bare_minimum_are_accepted() -> None:
    manifest = read({"version": "agent-actions/0.1", "site": "shop.example", "new": [1]})
    assert (dict(manifest.actions), dict(manifest.flows), manifest.keys) == ({}, {}, ())
    assert read(document(actions=[entry(extra=1)])).action("x").cost is None
    assert read(document(actions=[entry(input=...)])).action("x").schema().is_valid(5)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("version", "agent-actions/0.2"),
        ("version", None),
        ("site", "other.example"),
        ("site", "SHOP.example"),
        ("site", "shop.example:443"),
        ("site", ["shop.example"]),
        ("site", None),
    ],
)
def test_manifest_of_another_version_or_site_is_refused(name: str, value: Any) -> None:
    assert problems(document(**{name: value})) == [(f"/{name}", "const")]


@pytest.mark.parametrize("content", [None, [], "x", 5])
def test_manifest_that_is_no_object_is_refused(content: Any) -> None:
    assert problems(content) == [("", "type")]


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"name": ""}, [("name", "pattern")]),
        ({"name": None}, [("name", "pattern")]),
        ({"name": "x\n"}, [("name", "pattern")]),
        ({"name": "a b"}, [("name", "pattern")]),
        ({"name": "x" * 101}, [("name", "pattern")]),
        ({"description": 5}, [("description", "type")]),
        ({"method": "get"}, [("method", "enum")]),
        ({"method": "CONNECT"}, [("method", "enum")]),
        ({"method": ...}, [("method", "enum")]),
        ({"method": ["GET"]}, [("method", "enum")]),
        ({"path": "x"}, [("path", "pattern")]),
        ({"path": "//evil.example/x"}, [("path", "pattern")]),
        ({"path": "https://evil.example/x"}, [("path", "pattern")]),
        ({"path": "/a/../b"}, [("path", "pattern")]),
        ({"path": "/a/."}, [("path", "pattern")]),
        ({"path": "/a?b=c"}, [("path", "pattern")]),
        ({"path": "/a#b"}, [("path", "pattern")]),
        ({"path": "/a b"}, [("path", "pattern")]),
        ({"path": "/é"}, [("path", "pattern")]),
        ({"path": "/a\\b"}, [("path", "pattern")]),
        ({"path": "/a\r\nHost: x"}, [("path", "pattern")]),
        ({"path": ...}, [("path", "pattern")]),
        ({"effect": "steal"}, [("effect", "enum")]),
        ({"effect": ...}, [("effect", "enum")]),
        ({"effect": {}}, [("effect", "enum")]),
        ({"scope": "cart:*"}, [("scope", "pattern")]),
        ({"scope": None}, [("scope", "pattern")]),
        ({"input": None}, [("input", "type")]),
        ({"input": "x"}, [("input", "type")]),
        ({"cost": None}, [("cost", "type")]),
        ({"cost": {}}, [("cost", "type")]),
        ({"cost": {"currency": "USD"}}, [("cost", "type")]),
        ({"cost": {"currency": "USD", "amount": 1, "field": "x"}}, [("cost", "type")]),
        ({"cost": {"currency": "usd", "amount": 1}}, [("cost", "type")]),
        ({"cost": {"currency": ["USD"], "amount": 1}}, [("cost", "type")]),
        ({"cost": {"currency": "USD", "amount": 0}}, [("cost", "type")]),
        ({"cost": {"currency": "USD", "amount": Decimal("1.001")}}, [("cost", "type")]),
        ({"cost": {"currency": "USD", "field": ""}}, [("cost", "type")]),
        ({"cost": {"currency": "USD", "field": 1}}, [("cost", "type")]),
        (
            {"name": None, "effect": 1, "path": ""},
            [("name", "pattern"), ("path", "pattern"), ("effect", "enum")],
        ),
    ],
)
def test_every_problem_of_an_action_is_listed(
    changes: dict[str, Any], expected: list[tuple[str, str]]
) -> None:
    manifest = read(document(actions=[entry(name="fine"), entry(**changes)]))
    assert unusable(manifest) == [(f"/actions/1/{name}", code) for name, code in expected]
    assert list(manifest.actions) == ["fine"]  # the others can be used


@pytest.mark.parametrize(
    ("cost", "read_as"),
    [
        ({"currency": "USD", "field": "price"}, DeclaredCost("USD", field="price")),
        ({"currency": "USD", "amount": 25}, DeclaredCost("USD", amount=25_00)),
        ({"currency": "JPY", "amount": 25}, DeclaredCost("JPY", amount=25)),
        ({"currency": "USD", "amount": Decimal("0.29")}, DeclaredCost("USD", amount=29)),
        ({"currency": "USD", "amount": "0.29"}, DeclaredCost("USD", amount=29)),
    ],
)
def test_cost_is_read_exactly(cost: dict[str, Any], read_as: DeclaredCost) -> None:
    assert read(document(actions=[entry(cost=cost)])).action("x").cost == read_as


def test_two_actions_of_one_name_are_refused() -> None:
    manifest = read(document(actions=[entry(), entry(path="/y"), entry(name="fine")]))
    assert unusable(manifest) == [("/actions/1/name", "duplicate")]
    assert list(manifest.actions) == ["fine"]  # which of the two is meant is not guessed
    with pytest.raises(ClientError, match="Another action has this name") as caught:
        manifest.action("x")
    assert caught.value.code == "manifest_invalid"


@pytest.mark.parametrize("actions", [None, {}, "x", [entry()] * (MAX_ACTIONS + 1)])
def test_actions_must_be_a_list_of_bearable_length(actions: Any) -> None:
    assert problems(document(actions=actions)) == [("/actions", "type")]


def test_action_that_is_no_object_is_refused() -> None:
    assert unusable(read(document(actions=[5]))) == [("/actions/0", "type")]


def test_calling_an_action_that_is_declared_wrongly_tells_what_is_wrong_with_it() -> None:
    manifest = read(document(actions=[entry(method="CONNECT"), entry(name="fine")]))
    with pytest.raises(ClientError, match=r"The action x cannot be used: /actions/0/method") as caught:
        manifest.action("x")
    assert [problem["pointer"] for problem in caught.value.problems or []] == ["/actions/0/method"]
    with pytest.raises(ClientError, match="no action of this name"):
        manifest.action("y")


def test_numbers_that_no_double_holds_spoil_nothing() -> None:
    wide = entry(input={"type": "integer", "maximum": 2**63 - 1})
    manifest = read(document(actions=[wide, entry(name="fine")]))
    assert manifest.action("x").schema().is_valid(5)
    near = entry(input={"type": "integer", "maximum": 2**63})  # the same double, so the same digest
    assert manifest.digest == read(document(actions=[near, entry(name="fine")])).digest


def test_schema_is_compiled_when_it_is_used_and_a_bad_one_spoils_its_action_only() -> None:
    manifest = read(document(actions=[entry(name="bad", input={"$ref": "https://evil.example/s"}), entry()]))
    assert manifest.action("x").schema().is_valid(1)
    with pytest.raises(ClientError) as caught:
        manifest.action("bad").schema()
    assert (caught.value.code, caught.value.extra["action"]) == ("manifest_invalid", "bad")
    assert caught.value.problems


def test_foreign_patterns_that_explode_are_refused() -> None:
    manifest = read(document(actions=[entry(input={"type": "string", "pattern": "^(a+)+$"})]))
    with pytest.raises(ClientError) as caught:
        manifest.action("x").schema()
    assert caught.value.code == "manifest_invalid"


def test_unknown_action_names_the_closest() -> None:
    with pytest.raises(ClientError) as caught:
        read(document()).action("add_to_card")
    assert caught.value.code == "action_not_found"
    assert caught.value.extra["closest"] == ["add_to_cart"]
    assert "add_to_cart" in caught.value.message


def test_broken_flow_has_its_problems_and_does_not_spoil_the_manifest() -> None:
    flows = [
        {"name": "late", "steps": [{"action": "ping", "with": {"id": "$steps.0.id"}}]},
        {"name": "none"},
        {"name": "twice", "steps": [{"action": "ping", "with": {"id": "1"}}]},
        {"name": "twice", "steps": [{"action": "ping", "with": {"id": "1"}}]},
        {"steps": []},
        7,
    ]
    manifest = read(document(flows=flows))
    found = {name: [problem["code"] for problem in flow.problems] for name, flow in manifest.flows.items()}
    assert found == {"late": ["not_earlier"], "none": ["type"], "twice": ["duplicate"]}


@pytest.mark.parametrize(
    ("given_", "url"),
    [
        ("/r", "https://shop.example/r"),
        ("https://shop.example/r", "https://shop.example/r"),
        ("https://shop.example:443/r", "https://shop.example:443/r"),
        ("https://evil.example/r", None),
        ("//evil.example/r", None),
        ("http://shop.example/r", None),
        ("https://shop.example:8443/r", None),
        ("https://user@shop.example/r", None),
        ("javascript:alert(1)", None),
        ("https://[/r", None),
        (5, None),
    ],
)
def test_endpoint_must_be_the_sites_own(given_: Any, url: str | None) -> None:
    assert read(document(endpoints={"receipts": given_})).endpoint("receipts") == url


@pytest.mark.parametrize("endpoints", [None, [], "x"])
def test_missing_or_bad_endpoints_are_none(endpoints: Any) -> None:
    assert read(document(endpoints=endpoints)).endpoint("receipts") is None


def test_keys_are_those_that_are_objects() -> None:
    assert read(document(keys=[jwk(AGENT.public), 5])).keys == (jwk(AGENT.public),)
    assert read(document(keys={})).keys == ()


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


@settings(deadline=None)
@given(data=st.data())
def test_any_manifest_is_read_or_refused_as_invalid(data: st.DataObject) -> None:
    content = document()
    place = data.draw(st.sampled_from([content, content["actions"][0], content["flows"][0]]))
    place[data.draw(st.sampled_from(sorted(place)))] = data.draw(ANYTHING)
    try:
        read(content)
    except ClientError as error:
        assert error.code == "manifest_invalid"  # noqa: PT017 - either outcome is right
