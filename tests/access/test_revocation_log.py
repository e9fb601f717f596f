"""The public list: gapless numbers, an unbroken chain of hashes, a signed end, and a beginning that is cut off."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext

from agentweb.access import grants, revocation_log, site_keys
from agentweb.access.models import Revocation, RevocationHead
from agentweb.testing import clock
from agentweb.wire.clock import now_datetime
from agentweb.wire.grants import parse_grant
from agentweb.wire.receipts import verify_head as verify_receipts_head
from agentweb.wire.revocations import entry_hash, verify_head, verify_list
from agentweb.wire.signing import SigningKey
from tests.access.signing import SITE, site_grant

pytestmark = pytest.mark.django_db

NOON = 1_790_000_000.0


@pytest.fixture(autouse=True)
def site_key(db: None) -> None:
    site_keys.ensure_active_key()


def listed() -> list[dict[str, Any]]:
    items, cursor = revocation_log.page(after=0, limit=500)
    assert cursor is None
    return items


def revoke(expires_in: int = 600) -> str:
    ident = parse_grant(site_grant(expires_in=expires_in)[0]).id
    grants.revoke(ident)
    return ident


def revoke_key() -> str:
    public = SigningKey.generate().public
    grants.revoke(public)
    return public


def holds() -> bool:
    return verify_list(listed(), revocation_log.signed_head(SITE)) is None


def test_entries_are_numbered_chained_and_signed_for() -> None:
    with clock(NOON):
        idents = [revoke(), revoke_key(), revoke()]
        head = revocation_log.signed_head(SITE)
    items = listed()
    assert [item["id"] for item in items] == idents
    assert [item["seq"] for item in items] == [1, 2, 3]
    assert [item["at"] for item in items] == [int(NOON)] * 3
    assert [item["prev"] for item in items] == [None, entry_hash(items[0]), entry_hash(items[1])]
    assert head["type"] == "agent-revocations-head/0.1"
    assert (head["site"], head["seq"], head["hash"], head["at"]) == (SITE, 3, entry_hash(items[2]), int(NOON))
    assert verify_head(head, site_keys.published_keys()) is None
    assert verify_receipts_head(head, site_keys.published_keys()) == "malformed"
    assert verify_list(items, head) is None


def test_an_empty_list_has_a_head_too() -> None:
    head = revocation_log.signed_head(SITE)
    assert (head["seq"], head["hash"]) == (0, None)
    assert verify_list([], head) is None


def test_revoking_again_adds_no_entry() -> None:
    ident = revoke()
    grants.revoke(ident)
    assert [item["id"] for item in listed()] == [ident]


def test_what_is_rolled_back_leaves_no_gap() -> None:
    revoke()
    with transaction.atomic():
        revoke()
        transaction.set_rollback(True)
    revoke()
    assert [item["seq"] for item in listed()] == [1, 2]
    assert holds()


def test_pages_follow_one_another() -> None:
    idents = [revoke_key() for _ in range(5)]
    first, cursor = revocation_log.page(after=0, limit=2)
    assert cursor == "2"
    rest, cursor = revocation_log.page(after=2, limit=3)
    assert cursor is None
    assert [item["id"] for item in first + rest] == idents


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda items: items[1].update(at=1), "prev"),
        (lambda items: items.pop(1), "order"),
        (lambda items: items.pop(), "truncated"),
        (lambda items: items[-1].update(at=1), "head"),
        (lambda items: items[0].update(more=1), "malformed"),
        (lambda items: items[0].update(id="gr_short"), "malformed"),
        (lambda items: items[0].update(prev="sha256:" + "0" * 64), "malformed"),
    ],
)
def test_a_list_that_was_changed_does_not_end_with_its_head(change: Any, reason: str) -> None:
    for _ in range(3):
        revoke()
    items = listed()
    change(items)
    assert verify_list(items, revocation_log.signed_head(SITE)) == reason


def test_a_list_that_was_cut_at_its_beginning_still_ends_with_its_head() -> None:
    with clock(NOON) as time:
        revoke(60)
        revoke(60)
        left = revoke(600)
        before = revocation_log.signed_head(SITE)
        time.forward(61)
        assert revocation_log.prune(now_datetime()) == 2
        [item] = listed()
        assert (item["id"], item["seq"]) == (left, 3)
        after = revocation_log.signed_head(SITE)
    assert (after["seq"], after["hash"]) == (before["seq"], before["hash"])
    assert holds()


def test_what_expired_behind_what_still_counts_waits_for_company() -> None:
    with clock(NOON) as time:
        keys = [revoke_key() for _ in range(3)]
        gone = revoke(60)
        time.forward(61)
        assert revocation_log.prune(now_datetime()) == 0
        assert [item["id"] for item in listed()] == [*keys, gone]


def test_what_still_counts_is_repeated_at_the_end_with_its_old_time() -> None:
    with clock(NOON) as time:
        revoke(60)
        key = revoke_key()
        revoke(60)
        time.forward(61)
        last = revoke(600)
        assert revocation_log.prune(now_datetime()) == 2
        items = listed()
        assert [(item["seq"], item["id"], item["at"]) for item in items] == [
            (4, last, int(NOON) + 61),
            (5, key, int(NOON)),
        ]
        assert holds()
        assert revocation_log.prune(now_datetime()) == 0


def test_a_list_of_which_everything_expired_counts_on() -> None:
    with clock(NOON) as time:
        revoke(60)
        time.forward(61)
        revocation_log.prune(now_datetime())
        assert listed() == []
        assert holds()
        revoke(600)
        assert [item["seq"] for item in listed()] == [2]
        assert holds()


def test_a_long_list_is_cut_in_portions_of_few_statements(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(revocation_log, "_PORTION", 10)
    at = now_datetime()
    revocation_log.lock()
    # Every third one stays.
    rows = [
        Revocation(ident=f"gr_{n:022}", at=at, expires_at=at + timedelta(days=-1 if n % 3 else 1))
        for n in range(60)
    ]
    revocation_log.append(rows)
    Revocation.objects.bulk_create(rows)
    with CaptureQueriesContext(connection) as captured:
        assert revocation_log.prune(at) == 40
    assert len(captured) < 100
    assert sorted(item["id"] for item in listed()) == [f"gr_{n:022}" for n in range(0, 60, 3)]
    assert holds()


def test_the_lock_is_one_statement_once_the_row_is_there() -> None:
    revocation_log.lock()
    with CaptureQueriesContext(connection) as captured:
        revocation_log.lock()
    assert len(captured) == 1
    assert RevocationHead.objects.count() == 1
