"""Settings of the site under the harness: the test site with a database of the harness' own and the messenger on.

Limits are out of the way except the one that is looked at: AGENTWEB_CRASH_QUOTA messages for each agent.
"""

from __future__ import annotations

import os
from typing import Any

from tests.settings import *  # noqa: F403 - the test site with another database
from tests.settings import DATABASES as _DATABASES

DATABASES: dict[str, dict[str, Any]] = {"default": {**_DATABASES["default"]}}
if os.environ.get("AGENTWEB_TEST_DB") == "postgres":
    DATABASES["default"] |= {"CONN_MAX_AGE": 60, "CONN_HEALTH_CHECKS": True}
elif os.environ.get("AGENTWEB_CRASH_RECOMMENDED") == "1":
    DATABASES["default"]["OPTIONS"] = {
        "timeout": 20,
        "transaction_mode": "IMMEDIATE",
        "init_command": "PRAGMA journal_mode=WAL;PRAGMA synchronous=FULL;",
    }

_PLENTY = (1_000_000, 1_000_000)
AGENTWEB = {
    "ORIGIN": "https://aim.example",
    "CALLER_RATE": _PLENTY,
    "ANONYMOUS_RATE": _PLENTY,
    "FAILURE_RATE": _PLENTY,
    "CHALLENGE_DIFFICULTY": 4,
    "CHALLENGES_PER_HOUR": 1_000_000,
    "REGISTRATIONS_PER_HOUR": 1_000_000,
    "MESSAGE_RATE": _PLENTY,
    "MESSAGES_PER_DAY": int(os.environ.get("AGENTWEB_CRASH_QUOTA", "100000000")),
    "NEW_CONTACTS_PER_DAY": 1_000_000,
    "UNACCEPTED_PER_PAIR": 1_000,
    "WAKE_UPS": os.environ.get("AGENTWEB_CRASH_REDIS", ""),
}

LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "handlers": {"stderr": {"class": "logging.StreamHandler"}},
    "root": {"handlers": ["stderr"], "level": "WARNING"},
}
