"""What docs/reference/aip.md says of inputs and of invoking holds."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.contrib.auth.models import User

from agentweb import action
from agentweb.aip.projection import NotOffered, Projection, project
from agentweb.catalog.registry import registry
from agentweb.testing import TestAgent
from agentweb.wire.errors import Code
from tests.catalog.declarations import published
from tests.docs.pages import DOCS, blocks
from tests.docs.running import running

PAGE = "reference/aip.md"
TEXT = (DOCS / PAGE).read_text(encoding="utf-8")


def shown() -> list[Any]:
    return [json.loads(block.text) for block in blocks(PAGE, "json")]


@pytest.mark.django_db(transaction=True)
def test_the_calls_of_the_page_are_answered_as_it_says() -> None:
    schemas, sent, answered, refused = shown()
    with running(PAGE):
        agent = TestAgent.with_session(scopes=["requests:approve"], user=User.objects.create_user("ann"))
        manifest = agent.get("/control-panel.json").json()
        # The same URL for everybody, and the example works as it stands.
        assert manifest["invoke_url"].endswith("/__aim/invoke")
        by_id = {each["id"]: each for each in manifest["actions"]}
        assert [by_id[name]["input_schema"] for name in ("search_products", "approve_request")] == schemas
        assert by_id["approve_request"]["input_example"] == "req-3"
        assert agent.post("/__aim/invoke", sent).json() == answered
        wrapped = agent.post("/__aim/invoke", {**sent, "input": {"id": "req-3"}}).json()
        assert {**wrapped, "error": {**wrapped["error"], "request_id": "rq_…"}} == refused
        for value in ("1e3", "yes", " 5", "٣"):
            answer = agent.post(
                "/__aim/invoke", {"actionId": "search_products", "input": {"query": "x", "limit": value}}
            )
            assert answer.json()["error"]["code"] == "invalid_input"


MEMBERS: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    ("string", {"type": "string", "minLength": 1}, {"minLength": 1}),
    ("string that may be null", {"type": ["string", "null"]}, {}),
    ("integer", {"type": "integer", "minimum": 1, "maximum": 9}, {"pattern": "^[1-9]$"}),
    (
        "number",
        {"type": "number", "minimum": 0, "multipleOf": 0.01},
        {"pattern": r"^(?:0|[1-9][0-9]{0,19})(?:\.[0-9]{1,2})?$"},
    ),
    ("boolean", {"type": "boolean"}, {"enum": ["true", "false"]}),
    (
        "integer, number or boolean that may be null",
        {"type": ["boolean", "null"]},
        {"enum": ["true", "false", "null"]},
    ),
    ("`enum`, `const`", {"enum": [1, 2, 3], "minimum": 2}, {"enum": ["2", "3"]}),
]


def test_every_row_of_the_table_of_members_is_so() -> None:
    rows = [
        line.split(" | ")[0].removeprefix("| ") for line in TEXT.partition("| a member |")[2].splitlines()[2:]
    ]
    assert rows[: len(MEMBERS)] == [name for name, _, _ in MEMBERS]
    assert not rows[len(MEMBERS)]
    for _, rule, made in MEMBERS:
        schema = {"type": "object", "properties": {"a": rule, "b": {"type": "string"}}}
        found = project(published(input=schema, method="POST"))
        assert isinstance(found, Projection)
        stated = dict(found.schema["properties"]["a"])
        assert {name: value for name, value in stated.items() if name not in {"type", "description"}} == made


def test_what_the_page_calls_nested_is_not_offered() -> None:
    nested = {"type": "object", "properties": {"lines": {"type": "array", "items": {"type": "string"}}}}
    any_name = {"type": "object", "additionalProperties": {"type": "string"}}
    for schema in (nested, any_name, {"type": "object", "properties": {"x": {}}}):
        assert isinstance(project(published(input=schema, method="POST")), NotOffered)


def test_the_codes_of_the_page_are_codes() -> None:
    rows = TEXT.partition("| code | when |")[2].splitlines()[2:]
    named = [
        name.strip("`")
        for row in rows
        if row.startswith("| `")
        for name in row.split(" | ")[0][2:].split(", ")
    ]
    assert len(named) == 9
    assert set(named) <= set(Code)


@pytest.mark.django_db(transaction=True)
def test_no_input_may_be_left_out() -> None:
    with registry.only():
        action("orders", description="All orders.")(lambda _, ctx: [])
        for sent in ({"actionId": "orders"}, {"actionId": "orders", "input": {}}):
            assert TestAgent().post("/__aim/invoke", sent).json()["result"] == []
