"""``manage.py check`` says which actions of pages AIP leaves out, and why."""

from __future__ import annotations

from typing import Any

from agentweb import action, page
from agentweb.aip.projection_checks import check_projections
from agentweb.catalog.registry import registry

LINES = {"type": "object", "properties": {"lines": {"type": "array", "items": {"type": "string"}}}}


def test_an_action_of_a_page_without_a_form_is_named_with_the_reason() -> None:
    with registry.only():

        @action(
            description="Order.", effect="write", scope="orders:write", input=LINES, pages=["/cart", "/shop"]
        )
        def order(inp: Any, ctx: Any) -> Any: ...

        @action(description="Elsewhere.", effect="write", scope="orders:write", input=LINES)
        def on_no_page(inp: Any, ctx: Any) -> Any: ...

        page(
            "/cart",
            title="Cart",
            browser_actions=[{"name": "mark", "description": "Mark.", "input": LINES}],
        )
        page("/shop", title="Shop", actions=["order"])
        found = check_projections(None)
    assert [(each.id, each.obj) for each in found] == [
        ("agentweb.W072", order.__module__ + "." + order.__qualname__),
        ("agentweb.W072", f"{__name__}: page '/cart'"),
    ]
    assert found[0].msg == (
        "The page /cart offers 'order', which its manifest leaves out: 'lines' is nested, or of a type that is not "
        "said."
    )
    assert "'mark'" in found[1].msg


def test_flat_actions_are_passed_over_in_silence() -> None:
    with registry.only():

        @action(
            description="Find.",
            input={"type": "object", "properties": {"q": {"type": "string"}}},
            pages=["/"],
        )
        def find(inp: Any, ctx: Any) -> Any: ...

        page("/", title="Front page")
        assert check_projections(None) == []
