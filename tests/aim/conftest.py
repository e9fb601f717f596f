"""Fixtures of the messenger's tests."""

from __future__ import annotations

from typing import Any

import pytest

from tests.aim.agents import Person, person


@pytest.fixture
def easy_work(settings: Any) -> None:
    """Challenges that are solved at once, and limits of addresses that a test's own requests do not meet."""
    many = {"CHALLENGES_PER_HOUR": 10_000, "REGISTRATIONS_PER_HOUR": 10_000}
    settings.AGENTWEB = {**settings.AGENTWEB, "CHALLENGE_DIFFICULTY": 2, **many}


@pytest.fixture
def alice(db: None) -> Person:
    return person("alice")


@pytest.fixture
def bob(db: None) -> Person:
    """A stranger to alice."""
    return person("bob")
