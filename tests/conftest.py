"""Fixtures for the whole suite."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.urls import set_script_prefix

from tests.support.races import KINDS, Database, fresh_database


@pytest.fixture(params=KINDS)
def race_database(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Database]:
    """A database for real processes: SQLite with a site's default options, then PostgreSQL."""
    with fresh_database(request.param, tmp_path) as database:
        yield database


_DATABASE_FIXTURES = {"db", "transactional_db", "live_server", "django_db_reset_sequences"}


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """The run on PostgreSQL leaves out what the run on SQLite has shown: tests that touch no database, and races,
    which bring databases of both kinds themselves."""
    if (
        os.environ.get("AGENTWEB_TEST_DB") != "postgres"
        or config.getoption("keyword")
        or config.args != ["tests"]
    ):
        return
    kept, left_out = [], []
    for item in items:
        fixtures = set(getattr(item, "fixturenames", ()))
        touches = item.get_closest_marker("django_db") is not None or fixtures & _DATABASE_FIXTURES
        (kept if touches and "race_database" not in fixtures else left_out).append(item)
    config.hook.pytest_deselected(items=left_out)
    items[:] = kept


@pytest.fixture
def script_name(settings: Any) -> Iterator[None]:
    """The site mounted by its server under /shop, as ``django.setup()`` finds it in FORCE_SCRIPT_NAME."""
    settings.FORCE_SCRIPT_NAME = "/shop"
    set_script_prefix("/shop/")
    try:
        yield
    finally:
        set_script_prefix("/")


@pytest.fixture(autouse=True)
def _open_addresses() -> Iterator[None]:
    """No address is closed for what an earlier test sent from it."""
    from agentweb.access import failures

    yield
    failures.forget()
