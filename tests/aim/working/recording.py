"""A receiver that leaves a row for each time that it is told of a message."""

from __future__ import annotations

import os
from typing import Any

from django.conf import settings

from agentweb.access.database import write_patiently
from agentweb.aim import consumers
from agentweb.signals import message_accepted
from tests.site.models import Note


def record(sender: str, recipient: str, message_id: str, **told: Any) -> None:
    write_patiently(lambda: Note.objects.create(text=message_id))


def wake_up_through_redis() -> None:
    """Where the test names one."""
    if url := os.environ.get("AGENTWEB_TEST_WAKE_UPS"):
        settings.AGENTWEB = {**settings.AGENTWEB, "WAKE_UPS": url}


def connect() -> None:
    """Record from now on; and wait for a killed worker no longer than the test wants to."""
    message_accepted.connect(record)
    consumers.LEASE_SECONDS = float(os.environ.get("AGENTWEB_TEST_LEASE", "30"))  # type: ignore[misc]
