"""The tutorial's site, made once for all tests that call a real one."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.docs.tutorial import Site


@pytest.fixture(scope="session")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    site = Site(tmp_path_factory.mktemp("teashop"))
    try:
        site.follow()
        yield site
    finally:
        site.stop()
