"""A site that bargains, by a script."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from agentweb.access import site_keys
from tests.negotiation import negotiators


@pytest.fixture
def script(settings: Any, transactional_db: None) -> Iterator[list[Any]]:
    """What the negotiator will answer, to be filled by the test; all of it must be asked for."""
    settings.AGENTWEB = {**settings.AGENTWEB, "NEGOTIATOR": "tests.negotiation.negotiators.scripted"}
    site_keys.ensure_active_key()
    for kept in (negotiators.script, negotiators.seen, negotiators.contexts):
        kept.clear()
    yield negotiators.script
    assert negotiators.script == []
