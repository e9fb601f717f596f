"""Staff at their browsers."""

from __future__ import annotations

import pytest
from django.test import Client

from agentweb.access import site_keys
from tests.support.staff import boss, browser


@pytest.fixture(autouse=True)
def site_key(db: None) -> None:
    site_keys.ensure_active_key()


@pytest.fixture
def client(db: None) -> Client:
    """The superuser's browser."""
    return browser(boss())
