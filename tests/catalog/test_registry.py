"""The registry: reading, replacing for tests, versions and threads."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from agentweb import action
from agentweb.catalog.registry import Registry, registry
from tests.catalog.declarations import published

ID = {"type": "object", "properties": {"id": {"type": "string"}}, "required": ["id"]}


def test_actions_are_sorted_by_name() -> None:
    with registry.only(published("b"), published("a"), published("c")):
        assert [found.name for found in registry.actions()] == ["a", "b", "c"]


def test_an_action_is_found_by_name_and_by_route() -> None:
    order = published("order", path="/orders/{id}", input=ID)
    drop = published("drop", effect="delete", method="DELETE", path="/orders/{id}/", input=ID)
    with registry.only(order, drop):
        assert registry.get("order") is order
        assert registry.get("nothing") is None
        assert registry.by_route("GET", "/orders/{id}") is order
        assert registry.by_route("DELETE", "/orders/{id}") is drop
        assert registry.by_route("POST", "/orders/{id}") is None
        assert registry.by_route("GET", "/other") is None
        assert registry.routes() == {"/orders/{}": {"GET": order, "DELETE": drop}}


def test_only_restores_everything() -> None:
    before = (registry.version, registry.actions(), registry.flows(), registry.faults())
    with registry.only():
        action("thing", effect="nonsense")(lambda inp, ctx: None)
        assert registry.actions() == ()
        assert registry.faults() != []
    assert (registry.version, registry.actions(), registry.flows(), registry.faults()) == before


def test_only_restores_after_an_error() -> None:
    before = registry.version
    with pytest.raises(RuntimeError), registry.only(published()):
        raise RuntimeError
    assert registry.version == before


def test_only_can_be_nested() -> None:
    with registry.only(published("outer")):
        with registry.only(published("inner")):
            assert [found.name for found in registry.actions()] == ["inner"]
        assert [found.name for found in registry.actions()] == ["outer"]


def test_a_version_is_never_used_for_two_contents() -> None:
    own = Registry()
    seen: dict[int, tuple[Any, ...]] = {own.version: own.actions()}
    with own.only(published("a")):
        assert own.version not in seen
        seen[own.version] = own.actions()
    assert seen[own.version] == own.actions()
    own.register(published("b"))
    assert own.version not in seen
    seen[own.version] = own.actions()
    with own.only():
        assert own.version not in seen


def test_every_registration_changes_the_version() -> None:
    own = Registry()
    versions = {own.version}
    for name in ("a", "b", "a"):
        own.register(published(name))
        versions.add(own.version)
    assert len(versions) == 4
    assert len(own.faults()) == 1


def test_registrations_of_many_threads_are_all_kept() -> None:
    own = Registry()
    actions = [published(f"a{number}") for number in range(80)]

    def register(part: int) -> None:
        for found in actions[part::4]:
            own.register(found)
            assert own.get(found.name) is found

    threads = [threading.Thread(target=register, args=(part,)) for part in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert set(own.actions()) == set(actions)
    assert own.faults() == []


def test_another_thread_sees_what_a_test_declares() -> None:
    seen: list[str] = []
    with registry.only(published("here")):
        thread = threading.Thread(target=lambda: seen.extend(found.name for found in registry.actions()))
        thread.start()
        thread.join()
    assert seen == ["here"]


def test_what_was_read_does_not_change_under_the_reader() -> None:
    own = Registry()
    own.register(published("a"))
    routes, actions = own.routes(), own.actions()
    own.register(published("b"))
    assert len(routes) == len(actions) == 1
    with pytest.raises(TypeError):
        routes["/x"] = {}  # type: ignore[index]
