"""What docs/reference/action.md shows is declared without a fault, and answers as the page says."""

from __future__ import annotations

import inspect
import json
import sys
from decimal import Decimal

import pytest

from agentweb import action, flow
from agentweb.agent_actions.manifest import action_entry, flow_entry
from agentweb.catalog.effects import Effect, suits
from agentweb.catalog.registry import registry
from agentweb.testing import TestAgent
from tests.docs.pages import DOCS, blocks
from tests.docs.running import running

PAGE = "reference/action.md"


def rows(heading: str) -> list[list[str]]:
    """The rows of the first table under a heading, without its head."""
    section = (
        (DOCS / PAGE).read_text(encoding="utf-8").partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    )
    lines = [line for line in section.splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines[2:]]


def test_the_manifest_entry_is_the_one_shown() -> None:
    [shown] = blocks(PAGE, "json")
    with running(PAGE):
        assert action_entry(registry.get("book_room")) == json.loads(shown.text)


@pytest.mark.parametrize(("heading", "function"), [("Arguments", action), ("`flow`", flow)])
def test_every_argument_stands_in_the_table(heading: str, function: object) -> None:
    assert [row[0].strip("`") for row in rows(heading)] == list(inspect.signature(function).parameters)


def test_the_table_of_effects_is_the_code_s() -> None:
    listed = rows("Effects")
    assert [row[0].strip("`") for row in listed] == [str(effect) for effect in Effect]
    for row in listed:
        effect = Effect(row[0].strip("`"))
        methods = [method for method in ("GET", "POST", "PUT", "PATCH", "DELETE") if suits(effect, method)]
        assert row[2] == ", ".join(methods)


def test_none_stands_inside_annotated() -> None:
    with running(PAGE):
        member = registry.get("search").input_schema["properties"]["most"]
        assert member == {"type": ["integer", "null"], "minimum": 1, "maximum": 50, "default": None}


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="later versions compare what is in a union")
def test_the_other_order_is_an_error_in_python_3_11() -> None:
    with pytest.raises(TypeError, match="unhashable"):
        exec("from typing import Annotated\nAnnotated[int, {'minimum': 1}] | None")  # noqa: S102


@pytest.mark.django_db
def test_the_actions_answer_where_the_page_says() -> None:
    with running(PAGE):
        agent = TestAgent(scopes=["orders:cancel", "rooms:book"], spending="EUR:500.00/500.00")
        order = "7f0c5a0e-1111-4000-8000-000000000000"
        answer = agent.request("DELETE", f"/orders/{order}?reason=changed")
        assert (answer.status_code, answer.json()) == (200, {"cancelled": order})
        answer = agent.get("/agent/search?query=sea&tags=a&tags=b")
        assert answer.json() == {"query": "sea", "most": 10, "tags": ["a", "b"]}
        booking = {"room": "7", "nights": 2, "price": Decimal(160)}
        assert agent.post("/agent/book_room", booking).json()["booked"] == "7"
        answer = agent.post("/agent/book_room", {**booking, "price": Decimal(100)})
        assert (answer.status_code, answer.json()["error"]["code"]) == (409, "cost_mismatch")
        assert answer.json()["error"]["amount"] == "160.00"


@pytest.mark.django_db
def test_the_serializer_decides_and_writes_the_answer() -> None:
    with running(PAGE):
        agent = TestAgent(scopes=["rooms:hold"])
        stay = {"room": "8", "arrival": "2026-01-31", "nights": 2}
        answer = agent.post("/agent/hold_room", stay)
        assert (answer.status_code, answer.json()) == (200, {"room": "8", "until": "2026-02-02"})
        answer = agent.post("/agent/hold_room", {**stay, "nights": 8})
        [problem] = answer.json()["error"]["problems"]
        assert (answer.status_code, problem["pointer"], problem["code"]) == (422, "", "too_long")


def test_the_flow_is_published() -> None:
    with running(PAGE):
        [found] = registry.flows()
        assert flow_entry(found)["input"]["required"] == ["query", "nights", "price"]
