"""Settings of a server that a test starts: ORIGIN and the path under which it is mounted come from the environment."""

from __future__ import annotations

import os

from tests.settings import *  # noqa: F403

FORCE_SCRIPT_NAME = os.environ.get("AIM_SCRIPT_NAME") or None
AGENTWEB = {
    "ORIGIN": os.environ.get("AIM_ORIGIN", "http://127.0.0.1"),
    "CHALLENGE_DIFFICULTY": 6,
    "CHALLENGES_PER_HOUR": 10_000,
    "REGISTRATIONS_PER_HOUR": 10_000,
    "FAILURE_RATE": (1e6, 10**6),
}
