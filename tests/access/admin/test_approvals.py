"""Approvals in the admin: what waits, what staff see of it, and their word on it."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import User
from django.db import connection, transaction
from django.test import Client
from django.test.utils import CaptureQueriesContext

from agentweb.access import approvals
from agentweb.access.approvals import Wanted
from agentweb.access.callers import AGENT, Caller
from agentweb.access.models import Approval
from agentweb.testing import clock
from tests.support.staff import browser, page, staff, text_of

pytestmark = pytest.mark.django_db


def ask(user: User | None = None, number: int = 1, **more: Any) -> Approval:
    caller = Caller(kind=AGENT, subject=f"ed25519:{number}", user_id=user.pk if user else None)
    given: dict[str, Any] = {
        "site": "shop.example",
        "action": "pay",
        "effect": "spend",
        "caller": caller,
        "value": {"card": "4111", "n": number},
        "shown": {"card": "[removed]", "n": number},
        "amount": 8_200,
        "currency": "USD",
    }
    with transaction.atomic():
        return approvals.ask(Wanted(**{**given, **more}))


def test_what_waits_stands_first(client: Client, person: User) -> None:
    with clock() as time:
        waiting = ask(person, 1)
        time.forward(1)
        decided = ask(person, 2)
        approvals.deny(decided.pk, by=person)
        listed = [row.pk for row in client.get(page("approval")).context["cl"].result_list]
    assert listed == [waiting.pk, decided.pk]


def test_a_hundred_approvals_take_as_many_queries_as_one(client: Client, person: User) -> None:
    def queries() -> int:
        with CaptureQueriesContext(connection) as captured:
            assert client.get(page("approval")).status_code == 200
        return len(captured)

    ask(person, 0)
    one = queries()
    for number in range(1, 100):
        ask(person, number)
    assert queries() == one <= 6


def test_staff_see_the_redacted_input_and_never_the_exact_one(client: Client, person: User) -> None:
    row = ask(person, shown={"card": "[removed]", "text": "<script>alert(1)</script>\u202e"})
    for address in (
        page("approval"),
        *(page("approval", what, row.pk) for what in ("change", "approve", "deny")),
    ):
        content = client.get(address).content.decode()
        assert "4111" not in content
        assert "<script>alert" not in content
        assert "\u202e" not in content
    assert "[removed]" in content
    assert "82.00 USD" in content
    Approval.objects.update(shown="{not json <b>")
    assert "{not json" in text_of(client.get(page("approval", "change", row.pk)))


@pytest.mark.parametrize(("what", "state"), [("approve", "approved"), ("deny", "denied")])
def test_a_decision_is_asked_for_once_more_made_and_logged(person: User, what: str, state: str) -> None:
    row = ask(person)
    clerk = staff("view_approval", "decide_approval")
    client = browser(clerk)
    assert client.get(page("approval", what, row.pk)).status_code == 200
    row.refresh_from_db()
    assert row.state == "pending"
    client.post(page("approval", what, row.pk))
    row.refresh_from_db()
    assert (row.state, row.decided_by) == (state, clerk)
    assert LogEntry.objects.get().object_id == row.pk
    response = client.post(page("approval", "approve", row.pk), follow=True)
    assert "nothing to decide" in text_of(response)
    row.refresh_from_db()
    assert row.state == state


def test_the_second_of_two_deciders_is_told(
    client: Client, person: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    row = ask(person)
    monkeypatch.setattr(approvals, "approve", lambda ident, *, by: False)
    response = client.post(page("approval", "approve", row.pk), follow=True)
    assert "Too late" in text_of(response)
    assert not LogEntry.objects.exists()


def test_an_expired_one_cannot_be_decided(client: Client, person: User) -> None:
    with clock() as time:
        row = ask(person)
        time.forward(30 * 86_400)
        assert (
            page("approval", "approve", row.pk)
            not in client.get(page("approval", "change", row.pk)).content.decode()
        )
        client.post(page("approval", "approve", row.pk))
        assert [
            r.pk for r in client.get(page("approval"), {"state": "expired"}).context["cl"].result_list
        ] == [row.pk]
        assert not client.get(page("approval"), {"state": "pending"}).context["cl"].result_list
    row.refresh_from_db()
    assert row.state == "pending"


@pytest.mark.parametrize(
    "permissions", [("view_approval",), ("change_approval", "delete_approval"), ("decide_approval",)]
)
def test_looking_and_deciding_are_both_needed(person: User, permissions: tuple[str, ...]) -> None:
    row = ask(person)
    client = browser(staff(*permissions))
    assert client.post(page("approval", "approve", row.pk)).status_code == 403
    row.refresh_from_db()
    assert row.state == "pending"


def test_a_decision_needs_its_csrf_token(person: User) -> None:
    row = ask(person)
    client = browser(staff("view_approval", "decide_approval"), enforce_csrf_checks=True)
    assert client.post(page("approval", "approve", row.pk)).status_code == 403
    assert client.get(page("approval", "approve", row.pk)).status_code == 200
    row.refresh_from_db()
    assert row.state == "pending"
