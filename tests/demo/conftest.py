"""A shop that runs, for the tests that only ask it things."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from demo_project.running import running
from tests.demo.shopping import Desk, Shop, demo_environment


@pytest.fixture(scope="session")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shop]:
    """The demo's site in a process of its own, on a database of its own."""
    environment = demo_environment(str(tmp_path_factory.mktemp("shop") / "shop.sqlite3"))
    desk = Desk(environment)
    try:
        desk.ask("prepare")
        with running(environment) as site:
            yield Shop(site.origin, desk)
    finally:
        desk.close()
