"""``catalog.only``: fewer actions for a block, a test or a test case, and everything again afterwards."""

from __future__ import annotations

import asyncio
import unittest
from typing import Any

import pytest

from agentweb import action, flow
from agentweb.catalog.registry import registry
from agentweb.testing import TestAgent, catalog
from tests.catalog.declarations import handler


def tea(_: None, ctx: Any) -> Any:
    """Make tea."""
    return {"made": "tea"}


@pytest.fixture(autouse=True)
def kitchen() -> Any:
    with registry.only():
        action("make_tea")(tea)
        action("make_more_tea")(tea)
        action("wash_up")(handler)
        flow("tea_time", description="Tea.", steps=[{"action": "make_tea", "with": {}}])
        flow(
            "all",
            description="All.",
            steps=[{"action": name, "with": {}} for name in ("make_tea", "wash_up")],
        )
        yield


def names() -> list[str]:
    return [each.name for each in catalog.actions()]


ALL = ["make_more_tea", "make_tea", "wash_up"]


def test_a_block_has_the_actions_of_these_names_and_flows_of_nothing_else() -> None:
    version = registry.version
    with catalog.only("make_tea", "wash_up"):
        assert names() == ["make_tea", "wash_up"]
        assert [each.name for each in catalog.flows()] == ["all", "tea_time"]
        with catalog.only("make_tea") as narrowed:
            assert narrowed is catalog
            assert [each.name for each in catalog.flows()] == ["tea_time"]
            assert (catalog.get("wash_up"), catalog.faults()) == (None, [])
        assert names() == ["make_tea", "wash_up"]
    assert (names(), registry.version) == (ALL, version)


def test_a_function_stands_for_all_that_it_declares() -> None:
    with catalog.only(tea, "make_tea"):
        assert names() == ["make_more_tea", "make_tea"]


@pytest.mark.django_db
def test_what_is_left_out_does_not_answer() -> None:
    with catalog.only("wash_up"):
        assert TestAgent().get("/agent/make_tea").status_code == 404
    assert TestAgent().get("/agent/make_tea").json() == {"made": "tea"}


def test_what_is_declared_inside_is_forgotten() -> None:
    with catalog.only():
        action("dry")(handler)
        assert names() == ["dry"]
    assert names() == ALL


def test_it_goes_over_a_function_and_reads_the_catalog_when_that_is_called() -> None:
    @catalog.only("dry")
    def only_dry(more: str) -> list[str]:
        return [*names(), more]

    @catalog.only("make_tea")
    async def only_tea() -> list[str]:
        await asyncio.sleep(0)
        return names()

    with pytest.raises(LookupError, match="no action 'dry'; it has make_more_tea, make_tea, wash_up"):
        only_dry("x")
    action("dry")(handler)
    assert only_dry("x") == only_dry("x") == ["dry", "x"]
    assert asyncio.run(only_tea()) == ["make_tea"]
    assert names() == ["dry", *ALL]


def test_it_is_entered_in_set_up() -> None:
    seen: list[list[str]] = []

    class Case(unittest.TestCase):
        def setUp(self) -> None:
            self.enterContext(catalog.only("make_tea"))

        def test_names(self) -> None:
            seen.append(names())

    assert Case("test_names").run().wasSuccessful()  # type: ignore[union-attr]
    assert (seen, names()) == ([["make_tea"]], ALL)
    with pytest.raises(TypeError, match="enterContext"):
        catalog.only("make_tea")(Case)


def test_an_error_inside_leaves_the_catalog_as_it_was() -> None:
    with pytest.raises(ZeroDivisionError), catalog.only():
        raise ZeroDivisionError
    assert names() == ALL
