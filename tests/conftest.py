"""Fixtures for the whole suite."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.races import KINDS, Database, fresh_database


@pytest.fixture(params=KINDS)
def race_database(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Database]:
    """A database for real processes: SQLite with a site's default options, then PostgreSQL."""
    with fresh_database(request.param, tmp_path) as database:
        yield database
