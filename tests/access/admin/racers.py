"""What several processes do at once with one form of the admin."""

from __future__ import annotations

import time
from pathlib import Path

from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import User
from django.test import Client

from agentweb.access import site_keys
from agentweb.access.models import Grant, Session
from tests.access.signing import AGENT
from tests.support.staff import boss, page

INTENT = "A" * 22


def set_up() -> None:
    boss()
    User.objects.create_user("ann")
    site_keys.ensure_active_key()


def send(place: int, processes: int, meeting_point: str) -> list[bool]:
    """Send both forms when everybody is ready; was the text that is shown once among the answers?"""
    client = Client()
    client.force_login(boss())
    common = {"user": User.objects.get(username="ann").pk, "scopes": ["notes:write"], "life": "3600"}
    grant = {**common, "intent": INTENT, "subject": AGENT.public, "delegate": "0"}
    session = {**common, "intent": "B" * 22, "client_name": "Desk"}
    folder = Path(meeting_point)
    folder.mkdir(exist_ok=True)
    (folder / str(place)).touch()
    deadline = time.monotonic() + 60
    while len(list(folder.iterdir())) < processes and time.monotonic() < deadline:
        time.sleep(0.005)
    answers = [client.post(page("grant", "add"), grant), client.post(page("session", "add"), session)]
    assert {answer.status_code for answer in answers} == {200}
    return [b'id="agentweb-value"' in answer.content for answer in answers]


def outcome() -> dict[str, int]:
    return {
        "keys": Grant.objects.filter(subject=AGENT.public).count(),
        "sessions": Session.objects.count(),
        "logged": LogEntry.objects.count(),
    }
