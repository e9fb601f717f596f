"""From a manifest to OpenAPI 3.1 and back: the same manifest, and a document that every tool takes."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from openapi_spec_validator import OpenAPIV31SpecValidator

from agentweb.agent_actions.manifest import manifest
from agentweb.agent_actions.openapi.exporting import openapi_from
from agentweb.agent_actions.openapi.importing import manifest_from
from agentweb.catalog.registry import registry
from agentweb.wire.json_writing import dumps
from agentweb.wire.strict_json import loads
from tests.agent_actions.openapi.conftest import read
from tests.support.examples import examples
from tests.support.web import declare

SITE = "shop.example"


def there_and_back(document: dict[str, Any]) -> dict[str, Any]:
    """What the import makes of the export, both as they are read from bytes."""
    exported = openapi_from(document, origin=f"https://{document['site']}")
    OpenAPIV31SpecValidator(plain(exported)).validate()
    found = manifest_from(loads(dumps(exported), max_bytes=50_000_000))
    assert found.manifest is not None, [each for each in found.report.findings if each.level == "error"]
    return found.manifest


def plain(value: Any) -> Any:
    import json

    return json.loads(dumps(value))


def _name(action: dict[str, Any]) -> str:
    return str(action["name"])


def a_manifest(*actions: dict[str, Any], flows: Any = ()) -> dict[str, Any]:
    return {
        "version": "agent-actions/0.1",
        "site": SITE,
        "auth": {"type": "agent-grant"},
        "actions": list(actions),
        "flows": list(flows),
    }


def test_the_actions_of_a_site_come_back_in_openapi_s_own_words() -> None:
    with registry.only():
        declare()
        document: Any = loads(
            dumps(manifest(actions=registry.actions(), flows=[], site=SITE, keys=[], endpoints={})),
            max_bytes=1_000_000,
        )
    exported = openapi_from(document, origin=f"https://{SITE}")
    # A document has its operations by their paths, so they come back in that order.
    assert sorted(there_and_back(document)["actions"], key=_name) == sorted(document["actions"], key=_name)
    exact = {
        name
        for item in exported["paths"].values()
        for operation in item.values()
        for name in operation
        if name in {"x-agent-input", "x-agent-output", "x-agent-description"}
    }
    # One action takes whatever it is given, which is no object; of the open ones, parameters cannot say it.
    assert exact <= {"x-agent-input"}
    search = exported["paths"]["/agent/search_products"]["get"]
    assert {each["name"] for each in search["parameters"]} == {"query", "limit", "tags", "format"}
    assert "x-agent-input" not in search


@pytest.mark.parametrize(
    ("name", "overlay"), [("kennel.json", "kennel.overlay.json"), ("desk.json", None)], ids=["3.0", "3.1"]
)
def test_what_was_imported_comes_back(name: str, overlay: str | None) -> None:
    found = manifest_from(read(name), read(overlay) if overlay else None).manifest
    assert found is not None
    assert there_and_back(found) == found


def test_the_export_says_what_only_agents_need() -> None:
    action = {
        "name": "buy",
        "description": "Buy.",
        "method": "POST",
        "path": "/agent/buy",
        "effect": "spend",
        "scope": "checkout",
        "input": {
            "type": "object",
            "properties": {"price": {"type": "number"}},
            "required": ["price"],
            "additionalProperties": False,
        },
        "cost": {"field": "price", "currency": "USD"},
        "title": "Buy it now",
        "confirm": "person",
        "tags": ["shop"],
    }
    operation = openapi_from(a_manifest(action), origin="https://shop.example")["paths"]["/agent/buy"]["post"]
    assert operation["operationId"] == "buy"
    assert operation["summary"] == "Buy it now"
    assert operation["x-agent-effect"] == "spend"
    assert operation["x-agent-cost"] == {"field": "price", "currency": "USD"}
    assert operation["security"] == [{"agent-grant": []}]
    assert "x-agent-input" not in operation


_words = st.text("abcdefg_", min_size=1, max_size=6).filter(lambda text: text.strip("_") == text)
_leaf = st.one_of(
    st.fixed_dictionaries(
        {"type": st.just("string")}, optional={"maxLength": st.integers(0, 9), "description": _words}
    ),
    st.fixed_dictionaries({"type": st.just("integer")}, optional={"minimum": st.integers(-5, 5)}),
    st.just({"type": ["string", "null"]}),
    st.just({"enum": ["a", None, 1]}),
    st.just({"$ref": "#/$defs/thing"}),
    st.just({"readOnly": True, "type": "string"}),
)
_schema = st.recursive(
    _leaf,
    lambda inner: st.one_of(
        st.fixed_dictionaries({"type": st.just("array"), "items": inner}),
        st.fixed_dictionaries({"anyOf": st.lists(inner, min_size=1, max_size=3)}),
        st.fixed_dictionaries(
            {"type": st.just("object"), "properties": st.dictionaries(_words, inner, max_size=2)},
            optional={"additionalProperties": st.booleans(), "title": _words},
        ),
    ),
    max_leaves=5,
)


@st.composite
def _action(draw: Any, name: str) -> dict[str, Any]:
    method = draw(st.sampled_from(["GET", "POST", "PUT", "PATCH", "DELETE"]))
    properties = draw(st.dictionaries(_words, _schema, max_size=4))
    names = sorted(properties)
    in_path = draw(st.sampled_from([[], names[:1]]))
    schema: dict[str, Any] = {"type": "object", "properties": properties}
    required = sorted(
        {*in_path, *draw(st.lists(st.sampled_from(names), max_size=2) if names else st.just([]))}
    )
    if required:
        schema["required"] = required
    schema |= draw(
        st.fixed_dictionaries(
            {},
            optional={
                "additionalProperties": st.booleans(),
                "description": _words,
                "minProperties": st.just(0),
            },
        )
    )
    if "thing" in str(schema):
        schema["$defs"] = {"thing": {"type": "array", "items": {"$ref": "#/$defs/thing"}}}
    effect = "read" if method == "GET" else draw(st.sampled_from(["write", "send", "delete"]))
    whole = (
        draw(st.sampled_from([schema, schema, schema, {}, True, {"type": "string"}]))
        if not in_path
        else schema
    )
    entry = {
        "name": name,
        "description": draw(_words),
        "method": method,
        "path": f"/a/{name}" + "".join(f"/{{{each}}}" for each in in_path),
        "effect": effect,
        "input": whole if method not in {"GET", "DELETE"} else schema,
    }
    return entry | draw(
        st.fixed_dictionaries(
            {},
            optional={
                "scope": st.just("a:b"),
                "title": _words,
                "output": _leaf.filter(lambda leaf: "$ref" not in leaf),
                "example": st.just({"a": 1}),
                "consequential": st.booleans(),
                "idempotent": st.booleans(),
                "tags": st.just(["one", "two"]),
            },
        )
    )


@settings(max_examples=examples(60), deadline=None)
@given(st.data())
def test_any_manifest_comes_back(data: st.DataObject) -> None:
    names = data.draw(st.lists(_words, unique=True, min_size=1, max_size=3))
    document = a_manifest(*(data.draw(_action(name)) for name in names))
    assert there_and_back(document) == document
