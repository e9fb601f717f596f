"""Sessions in the admin: who is connected, and ending a connection."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from agentweb.access import sessions
from agentweb.access.models import Session
from tests.access.signing import SITE
from tests.support.staff import browser, page, staff, text_of

pytestmark = pytest.mark.django_db


def begin(person: User | None, name: str = "Desk") -> tuple[Session, str]:
    return sessions.create(user=person, scopes=["notes:write"], expires_in=3_600, site=SITE, client_name=name)


def test_a_hundred_sessions_take_as_many_queries_as_one(client: Client, person: User) -> None:
    def queries() -> int:
        with CaptureQueriesContext(connection) as captured:
            assert client.get(page("session")).status_code == 200
        return len(captured)

    begin(person)
    one = queries()
    for number in range(99):
        begin(person, f"Desk {number}")
    assert queries() == one <= 6


def test_a_session_is_revoked_and_its_token_with_it(client: Client, person: User) -> None:
    row, token = begin(person)
    client.post(page("session", "revoke", row.pk), {"reason": "lost"})
    answer = Client().post(
        "/agent/write_note",
        {"text": "x"},
        content_type="application/json",
        headers={"Authorization": f"Bearer {token}"},
    )
    assert answer.json()["error"]["code"] == "session_revoked"
    assert "revoked" in text_of(client.get(page("session")))


def test_many_sessions_are_revoked_from_the_list(client: Client, person: User) -> None:
    rows = [begin(person)[0].pk for _ in range(3)]
    client.post(
        page("session"), {"action": "revoke_selected", "_selected_action": rows[:2], "decided": "yes"}
    )
    assert Session.objects.get(revoked_at=None).pk == rows[2]


def test_a_clients_name_is_harmless(client: Client, person: User) -> None:
    row, _token = begin(person)
    Session.objects.update(client_name="<script>alert(1)</script>\u202e")
    for address in (page("session"), page("session", "change", row.pk), page("session", "revoke", row.pk)):
        content = client.get(address).content.decode()
        assert "<script>alert" not in content
        assert "\u202e" not in content
        assert "[U+202E]" in content


@pytest.mark.parametrize("permission", ["change_session", "delete_session", "issue_grant"])
def test_other_permissions_do_not_end_sessions(person: User, permission: str) -> None:
    row, _token = begin(person)
    client = browser(staff("view_session", permission))
    assert client.get(page("session", "change", row.pk)).status_code == 200
    assert client.post(page("session", "revoke", row.pk)).status_code == 403
    assert client.post(page("session", "delete", row.pk), {"post": "yes"}).status_code == 403
    row.refresh_from_db()
    assert row.revoked_at is None
