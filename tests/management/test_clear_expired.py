"""``manage.py clear_expired`` deletes what no check will ask for again, and nothing else."""

from __future__ import annotations

import io
import json
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.core.management import call_command
from django.db import connection
from django.test.utils import CaptureQueriesContext

from agentweb.access import grants, limits, retention, revocations, rows
from agentweb.access.models import Approval, Bucket, Grant, Mandate, Nonce, Pairing, Revocation, Session
from agentweb.aip.models import BrowserCall, OpenPage
from agentweb.invoke.models import AuditEntry, IdempotencyRecord
from agentweb.testing import TestAgent, clock
from agentweb.wire.clock import from_unix, now_datetime
from agentweb.wire.encoding import random_id
from agentweb.wire.errors import AuthenticationError
from agentweb.wire.grants import parse_grant
from tests.access.signing import deliver, signed, site_grant

pytestmark = pytest.mark.django_db

NOON = 1_790_000_000.0
SECOND = timedelta(seconds=1)
_CONTENT = ("content_runs", "agent_requests")
_MESSENGER = ("erased_messages", "events", "messages", "requests", "emptied_messages", "used_challenges")


def clear() -> dict[str, int]:
    out = io.StringIO()
    call_command("clear_expired", "--json", stdout=out)
    counts: dict[str, int] = json.loads(out.getvalue())
    return counts


def record(key: str, expires_at: datetime) -> None:
    IdempotencyRecord.objects.create(
        subject="s",
        action="a",
        key=key,
        fingerprint="f",
        lease_token="t",
        lease_until=expires_at,
        request_id="rq",
        created_at=expires_at,
        expires_at=expires_at,
    )


def audit(at: datetime) -> None:
    AuditEntry.objects.create(
        request_id="rq",
        at=at,
        protocol="agent-actions",
        action="a",
        effect="write",
        caller_kind="agent",
        subject="s",
        status=200,
        outcome="ok",
        duration_us=1,
    )


def approval(expires_at: datetime, state: str = "denied") -> Approval:
    return Approval.objects.create(
        id=random_id("ap_"),
        digest=random_id("sha256:"),
        action="a",
        effect="send",
        subject="s",
        input='{"password":"hunter2"}',
        shown='{"password":"[hidden]"}',
        state=state,
        created_at=expires_at,
        expires_at=expires_at,
    )


def session(expires_at: datetime) -> Session:
    return Session.objects.create(
        id=random_id("ss_"),
        token_digest=random_id("digest"),
        grant_id=parse_grant(site_grant()[0]).id,
        created_at=expires_at,
        expires_at=expires_at,
    )


def pairing(expires_at: datetime) -> Pairing:
    return Pairing.objects.create(
        id=random_id("ss_"),
        token_digest=random_id("digest"),
        code_digest=random_id("digest"),
        client_name="Desk",
        wanted="{}",
        created_at=expires_at,
        expires_at=expires_at,
    )


def test_the_exact_input_of_an_approval_goes_when_nothing_can_come_of_it(settings: Any) -> None:
    with clock(NOON):
        at = now_datetime()
        over = [approval(at - SECOND, state) for state in ("pending", "approved")]
        open_ones = [approval(at + SECOND, state) for state in ("pending", "approved")]
        assert clear()["approvals"] == 0
        for row in over:
            row.refresh_from_db()
            assert (row.state, row.input) == ("expired", "")
        for row in open_ones:
            row.refresh_from_db()
            assert (row.state in {"pending", "approved"}, bool(row.input)) == (True, True)


def test_each_kind_goes_when_it_is_over_and_not_before(settings: Any) -> None:
    settings.AGENTWEB = {**settings.AGENTWEB, "AUDIT_DAYS": 30}
    with clock(NOON):
        at = now_datetime()
        for expires_at in (at - SECOND, at + SECOND):
            Nonce.objects.create(key="k", nonce=str(expires_at), expires_at=expires_at)
            Revocation.objects.create(ident=str(expires_at), at=at, expires_at=expires_at)
            record(str(expires_at), expires_at)
            audit(expires_at - timedelta(days=30))
            approval(expires_at - timedelta(days=30))
            session(expires_at - timedelta(days=30))
            pairing(expires_at - timedelta(hours=1))
        Revocation.objects.create(ident="for good", at=at)
        Bucket.objects.create(key="idle", tat=int((NOON - 3_601) * 1e6))
        Bucket.objects.create(key="busy", tat=int((NOON - 3_599) * 1e6))
        once = dict.fromkeys(("nonces", "buckets", "revocations", "sessions", "pairings", "approvals"), 1)
        once |= {"idempotency_records": 1, "audit_entries": 1}
        once |= {"browser_calls": 0, "open_pages": 0, "mandates": 0, "grants": 0, "payments": 0}
        once |= {"negotiations": 0, "agreements": 0}
        once |= dict.fromkeys((*_CONTENT, *_MESSENGER), 0)
        assert clear() == once
        assert clear() == dict.fromkeys(once, 0)
    assert Revocation.objects.filter(ident="for good").exists()
    assert list(Bucket.objects.values_list("key", flat=True)) == ["busy"]


def test_grants_and_mandates_go_with_the_audit_rows_of_their_time(settings: Any) -> None:
    settings.AGENTWEB = {**settings.AGENTWEB, "AUDIT_DAYS": 30}
    with clock(NOON) as time:
        agent = TestAgent(scopes=["*"], spending="USD:5.00/5.00", expires_in=600)
        Session.objects.create(
            id=random_id("ss_"),
            token_digest=random_id("digest"),
            grant_id=agent.grant.id,
            created_at=now_datetime(),
            expires_at=now_datetime(),
        )
        time.forward(30 * 86_400 + 599)
        counts = clear()
        assert (counts["grants"], counts["mandates"]) == (0, 0)
        time.forward(2)
        counts = clear()
        assert (counts["grants"], counts["mandates"]) == (1, 1)
        assert not Grant.objects.exists()
        assert not Mandate.objects.exists()


def test_a_claim_on_an_id_that_never_came_goes_after_the_longest_life_of_a_grant(settings: Any) -> None:
    settings.AGENTWEB = {**settings.AGENTWEB, "GRANT_MAX_DAYS": 10}
    with clock(NOON) as time:
        revocations.write_claim(random_id("gr_"), "ed25519:x", "")
        time.forward(20 * 86_400 - 1)
        assert clear()["revocations"] == 0
        time.forward(2)
        assert clear()["revocations"] == 1


def test_a_replay_is_refused_for_as_long_as_its_signature_could_pass() -> None:
    with clock(NOON) as time:
        request = signed(grant=site_grant())
        deliver(request)
        time.forward(60)
        clear()
        with pytest.raises(AuthenticationError) as caught:
            deliver(request)
        assert caught.value.code == "request_replayed"
        time.forward(61)
        assert clear()["nonces"] == 1
        with pytest.raises(AuthenticationError) as caught:
            deliver(request)
        assert caught.value.code == "signature_expired"


def test_a_revocation_outlives_the_grant() -> None:
    with clock(NOON) as time:
        chain = site_grant(expires_in=600)
        grants.revoke(parse_grant(chain[0]).id)
        time.forward(599)
        assert clear()["revocations"] == 0
        with pytest.raises(AuthenticationError) as caught:
            deliver(signed(grant=chain))
        assert caught.value.code == "grant_revoked"
        time.forward(2)
        assert clear()["revocations"] == 1
        with pytest.raises(AuthenticationError) as caught:
            deliver(signed(grant=chain))
        assert caught.value.code == "grant_expired"


def test_a_cleared_limit_starts_full() -> None:
    with clock(NOON) as time:
        limits.take("k", (0.01, 1))
        time.forward(3_800)
        assert clear()["buckets"] == 1
        limits.take("k", (0.01, 1))


def test_rows_are_deleted_in_portions() -> None:
    at = from_unix(NOON)
    Nonce.objects.bulk_create(Nonce(key="k", nonce=str(n), expires_at=at) for n in range(25))
    with CaptureQueriesContext(connection) as captured:
        assert rows.delete_in_batches(Nonce.objects.all(), size=10) == 25
    deletes = [query["sql"] for query in captured.captured_queries if query["sql"].startswith("DELETE")]
    assert len(deletes) == 3
    assert not Nonce.objects.exists()


def test_a_row_that_was_renewed_meanwhile_stays() -> None:
    """A limiter that is used between the look and the deletion is not forgotten."""
    Bucket.objects.create(key="k", tat=0)
    expired = Bucket.objects.filter(tat__lt=10)

    def renew(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        if sql.startswith("DELETE"):
            execute("UPDATE agentweb_bucket SET tat = 99", (), False, context)
        return execute(sql, params, many, context)

    with connection.execute_wrapper(renew):
        rows.delete_in_batches(expired)
    assert Bucket.objects.get().tat == 99


def test_people_get_a_line_for_each_kind() -> None:
    out = io.StringIO()
    call_command("clear_expired", stdout=out)
    assert out.getvalue().splitlines() == [
        "nonces: 0",
        "buckets: 0",
        "revocations: 0",
        "sessions: 0",
        "pairings: 0",
        "mandates: 0",
        "grants: 0",
        "approvals: 0",
        "browser calls: 0",
        "open pages: 0",
        "content runs: 0",
        "agent requests: 0",
        "erased messages: 0",
        "events: 0",
        "messages: 0",
        "requests: 0",
        "emptied messages: 0",
        "used challenges: 0",
        "negotiations: 0",
        "agreements: 0",
        "idempotency records: 0",
        "payments: 0",
        "audit entries: 0",
    ]
    kinds = ("nonces", "buckets", "revocations", "sessions", "pairings", "mandates", "grants", "approvals")
    assert retention.clear_expired(now_datetime()) == dict.fromkeys(kinds, 0)


def test_pages_that_were_closed_go_with_what_was_asked_of_them(django_user_model: Any) -> None:
    user = django_user_model.objects.create_user("ada")
    for number, hours in enumerate((3, 0)):
        at = now_datetime() - timedelta(hours=hours)
        page = OpenPage.objects.create(
            id=f"op_{number}", user=user, page="/", active_at=at, connected_until=at
        )
        BrowserCall.objects.create(
            id=f"bc_{number}", page=page, user=user, slot=number, action="a", input="{}", deadline=at
        )
    counts = clear()
    assert (counts["browser_calls"], counts["open_pages"]) == (1, 1)
    assert list(OpenPage.objects.values_list("pk", flat=True)) == ["op_1"]
    assert list(BrowserCall.objects.values_list("pk", flat=True)) == ["bc_1"]
