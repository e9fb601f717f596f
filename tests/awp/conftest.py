"""Fixtures of the room: a site whose documents nobody has asked for yet."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from agentweb.awp.publishing import published
from tests.support.web_fixtures import catalog, many_callers, shop

__all__ = ["awp", "catalog", "many_callers", "shop"]


@pytest.fixture
def awp(shop: None) -> Iterator[None]:
    """The actions of ``tests.support.web``; nothing of an earlier test is kept in the process."""
    published.forget()
    yield
    published.forget()
