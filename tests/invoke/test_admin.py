"""The audit log and the idempotency records in the admin: for looking at, however long they are."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from agentweb.access.admin.base import BoundedPaginator, LogAdmin
from agentweb.invoke.models import AuditEntry, IdempotencyRecord
from agentweb.testing import TestAgent
from agentweb.wire.clock import now_datetime
from tests.support.staff import boss, browser, page, staff, text_of

pytestmark = pytest.mark.django_db

XSS = "<script>alert(1)</script>"


@pytest.fixture
def client(db: None) -> Client:
    return browser(boss())


def entries(count: int, **changed: Any) -> list[AuditEntry]:
    values: dict[str, Any] = {
        "request_id": "rq_0",
        "at": now_datetime(),
        "protocol": "agent-actions",
        "action": "echo",
        "effect": "read",
        "caller_kind": "agent",
        "subject": "ed25519:x",
        "status": 200,
        "outcome": "ok",
        "duration_us": 1_500,
        **changed,
    }
    return AuditEntry.objects.bulk_create(AuditEntry(**values) for _ in range(count))


def listed(client: Client, **query: str) -> list[int]:
    return [row.pk for row in client.get(page("auditentry"), query).context["cl"].result_list]


def test_a_call_and_a_refusal_are_listed_with_who_and_what(client: Client) -> None:
    person = User.objects.create_user("ann")
    agent = TestAgent(scopes=["notes:write"], user=person)
    agent.post("/agent/write_note", {"text": "hello"}, key="audit-0123456789ab")
    agent.post("/agent/pay", {"item": "tea", "price": 1})
    said = text_of(client.get(page("auditentry")))
    for words in ("write_note", "ok 200", "insufficient_scope 403", "ann", agent.key.public[:16]):
        assert words in said
    for row in AuditEntry.objects.all():
        assert row.request_id in text_of(client.get(page("auditentry", "change", row.pk)))
    record = IdempotencyRecord.objects.get()
    for address in (page("idempotencyrecord"), page("idempotencyrecord", "change", record.pk)):
        response = client.get(address)
        assert "audit-0123456789ab" in text_of(response)
        assert "hello" not in response.content.decode(), "the kept answer is the agent's"
        assert record.lease_token not in response.content.decode()


def test_a_hundred_calls_take_as_many_queries_as_one(client: Client) -> None:
    def queries(address: str) -> int:
        with CaptureQueriesContext(connection) as captured:
            assert client.get(address).status_code == 200
        return len(captured)

    person = User.objects.create_user("ann")
    entries(1, user=person)
    one = queries(page("auditentry"))
    entries(99, user=person)
    assert queries(page("auditentry")) == one <= 6


def test_no_query_of_the_list_counts_or_sorts_the_whole_table(client: Client) -> None:
    entries(5)
    with CaptureQueriesContext(connection) as captured:
        client.get(page("auditentry"), {"o": "2"})
    ours = [query["sql"] for query in captured if "agentweb_auditentry" in query["sql"]]
    assert len(ours) == 2
    assert all("LIMIT" in sql for sql in ours if "COUNT" in sql)
    assert all('ORDER BY "agentweb_auditentry"."id" DESC' in sql for sql in ours if "COUNT" not in sql)


def test_the_log_goes_on_behind_what_is_counted(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(BoundedPaginator, "MOST", 4)
    monkeypatch.setattr(LogAdmin, "list_per_page", 2)
    rows = [row.pk for row in entries(9)]
    changelist = client.get(page("auditentry"), {"p": "2"}).context["cl"]
    assert [row.pk for row in changelist.result_list] == sorted(rows, reverse=True)[2:4]
    older = client.get(page("auditentry") + changelist.older)
    assert [row.pk for row in older.context["cl"].result_list] == sorted(rows, reverse=True)[4:6]
    assert "Older than" in text_of(older)
    for value in ("x", "9" * 60, "\0", "-1", ""):
        assert client.get(page("auditentry"), {"before": value}, follow=True).status_code == 200


def test_calls_are_found_by_whole_ids(client: Client) -> None:
    entries(2)
    [by_request] = entries(1, request_id="rq_1")
    [by_subject] = entries(1, subject="session:ss_1")
    [by_grant] = entries(1, grant="gr_1")
    assert listed(client, q="rq_1") == [by_request.pk]
    assert listed(client, q="session:ss_1") == [by_subject.pk]
    assert listed(client, q="gr_1") == [by_grant.pk]
    assert listed(client, q="rq_") == []


def test_calls_are_filtered_by_outcome_action_protocol_person_and_time(client: Client) -> None:
    from datetime import timedelta

    person = User.objects.create_user("ann")
    [refused] = entries(1, status=403, outcome="insufficient_scope")
    [failed] = entries(1, status=500, outcome="handler_error")
    [replayed] = entries(1, outcome="replayed")
    [other] = entries(1, action="write_note", protocol="aip", user=person)
    [old] = entries(1, at=now_datetime() - timedelta(days=3))
    assert listed(client, result="refused") == [refused.pk]
    assert listed(client, result="failed") == [failed.pk]
    assert listed(client, result="replayed") == [replayed.pk]
    assert set(listed(client, result="ok")) == {other.pk, old.pk}
    assert listed(client, action_name="write_note") == [other.pk]
    assert other.pk not in listed(client, protocol_name="agent-actions")
    assert listed(client, person=str(person.pk)) == [other.pk]
    assert old.pk not in listed(client, when="day")
    assert old.pk in listed(client, when="week")
    assert len(listed(client, result="nonsense", when="nonsense")) == 5


def test_texts_of_strangers_are_harmless(client: Client) -> None:
    [row] = entries(
        1, action=XSS, outcome=XSS[:60], subject=XSS, protocol="<b>x</b>", idempotency_key=XSS + "\u202e"
    )
    record = IdempotencyRecord.objects.create(
        subject=XSS,
        action=XSS,
        key=XSS + "\u202e",
        fingerprint="sha256:x",
        lease_token="t",
        lease_until=now_datetime(),
        request_id="rq_1",
        body=XSS,
        created_at=now_datetime(),
        expires_at=now_datetime(),
    )
    for address in (
        page("auditentry"),
        page("auditentry", "change", row.pk),
        page("idempotencyrecord"),
        page("idempotencyrecord", "change", record.pk),
    ):
        content = client.get(address).content.decode()
        assert "<script>alert" not in content
        assert "<b>x" not in content
        if address != page("auditentry"):
            assert "[U+202E]" in content


@pytest.mark.parametrize("model", ["auditentry", "idempotencyrecord"])
@pytest.mark.parametrize("what", ["view", "change", "add", "delete"])
def test_logs_are_for_looking_at_only(client: Client, model: str, what: str) -> None:
    [row] = entries(1)
    clerk = browser(staff(f"{what}_{model}"))
    assert clerk.get(page(model)).status_code == (200 if what in {"view", "change"} else 403)
    for who in (clerk, client):
        assert who.get(page(model, "add")).status_code == 403
        assert who.post(page(model, "delete", row.pk), {"post": "yes"}).status_code in {403, 302}
        who.post(page(model), {"action": "delete_selected", "_selected_action": [row.pk], "post": "yes"})
    assert AuditEntry.objects.filter(pk=row.pk).exists()
