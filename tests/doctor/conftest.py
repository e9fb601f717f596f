"""A sound site for the doctor: what it says of this one is what a test has broken."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.db import connection

from agentweb import action
from agentweb.access import site_keys
from agentweb.agent_actions import published
from agentweb.awp.publishing import published as awp_published
from agentweb.catalog.registry import registry
from agentweb.doctor.examination import Finding, examine
from agentweb.doctor.probes import all_probes
from agentweb.http.probes import Level

QUERY = {
    "type": "object",
    "required": ["query"],
    "properties": {"query": {"type": "string"}, "tags": {"type": "array", "items": {"type": "string"}}},
    "additionalProperties": False,
}
ORDER = {
    "type": "object",
    "required": ["id"],
    "properties": {"id": {"type": "integer", "minimum": 1}},
    "additionalProperties": False,
}
DEEP = {"type": "object", "properties": {"deep": {"type": "object"}}}
FOUND = {"type": "object", "required": ["found"], "properties": {"found": {"type": "array"}}}


@pytest.fixture
def site(db: None, settings: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Production settings, a key, and one action of each kind that is asked differently."""
    settings.AGENTWEB = {"ORIGIN": "https://shop.example"}
    settings.ALLOWED_HOSTS = ["shop.example"]
    settings.SECURE_SSL_REDIRECT = True
    if connection.vendor == "sqlite":
        options = {"timeout": 20, "transaction_mode": "IMMEDIATE"}
        monkeypatch.setitem(connection.settings_dict, "OPTIONS", options)
    published.forget()
    awp_published.forget()
    site_keys.create()
    with registry.only():

        @action(
            description="Find.", input=QUERY, output=FOUND, example={"query": "tea & co", "tags": ["a", "b"]}
        )
        def search(inp: Any, ctx: Any) -> Any:
            return {"found": [inp["query"], *inp["tags"]]}

        @action(description="One.", input=ORDER, path="/orders/{id}", example={"id": 7})
        def order(inp: Any, ctx: Any) -> Any:
            return {"id": inp["id"]}

        @action(description="By POST.", input=DEEP, method="POST", example={"deep": {"er": 1}})
        def compare(inp: Any, ctx: Any) -> Any:
            return inp

        @action(effect="write", scope="cart:write", description="Put.", input=ORDER, example={"id": 1})
        def put(inp: Any, ctx: Any) -> Any:
            raise AssertionError("the doctor called a write")

        @action(description="Hidden.", input=None, visible=lambda user: user.is_staff)
        def report(_inp: Any, ctx: Any) -> Any:
            raise AssertionError("the doctor called what it may not see")

        yield
    published.forget()


@pytest.fixture
def wrong(site: None) -> Callable[[], list[Finding]]:
    """Everything that the doctor has to complain about."""
    # Loaded now: a module that is loaded while a fault is planted would keep the fault.
    all_probes()

    def examined() -> list[Finding]:
        return [found for found in examine(all_probes()) if found.level is not Level.OK]

    return examined
