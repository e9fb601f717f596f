"""Fixtures of the tests that speak HTTP."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from agentweb.access import site_keys
from agentweb.agent_actions import published
from agentweb.catalog.registry import registry
from tests.support import web


@pytest.fixture
def shop(db: None) -> Iterator[None]:
    """The actions of ``tests.support.web``, and nothing that an earlier test left in the process."""
    published.forget()
    with registry.only():
        web.declare()
        assert [fault for fault in registry.faults() if fault.is_error] == []
        yield
    published.forget()


@pytest.fixture
def catalog(db: None) -> Iterator[None]:
    """No actions, for tests that declare their own."""
    published.forget()
    with registry.only():
        yield
    published.forget()


@pytest.fixture
def site_key(db: None) -> None:
    """A site that can sign, as one is after ``agentweb_keys create``."""
    site_keys.ensure_active_key()


@pytest.fixture
def many_callers(settings: Any) -> None:
    """Limits that a test's own requests do not meet."""
    many = (1e6, 10**6)
    names = ("ANONYMOUS_RATE", "CALLER_RATE", "FAILURE_RATE", "NEW_GRANT_RATE")
    settings.AGENTWEB = {**settings.AGENTWEB, **dict.fromkeys(names, many)}
