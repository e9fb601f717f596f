from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from tests.client.site import Site, running_site

ROOMS = ("aip", "awp", "aim", "index", "agent_actions")
HERE = "127.0.0.1"


@pytest.fixture(autouse=True)
def _with_the_index(settings: Any) -> None:
    settings.ROOT_URLCONF = "tests.index.urls"
    settings.AGENTWEB = {
        "ORIGIN": "https://index.example",
        "ROOMS": list(ROOMS),
        "INDEX": {"ALLOW_HOSTS": [HERE], "SUBMISSION_RATE": (100, 1000)},
    }


@pytest.fixture
def site() -> Iterator[Site]:
    """A site on this machine, which the index may call here."""
    with running_site() as site:
        yield site


@pytest.fixture
def sites() -> Iterator[Callable[[], Site]]:
    with ExitStack() as stack:
        yield lambda: stack.enter_context(running_site())
