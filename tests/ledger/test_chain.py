"""Looking the chain of receipts over: every kind of damage is found, at its place, in bounded steps."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from agentweb.access import revocations, site_keys
from agentweb.ledger import chain
from agentweb.ledger.models import Receipt, ReceiptHead
from tests.support.calls import SITE, agent_caller, do

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def five_receipts(db: None) -> None:
    site_keys.ensure_active_key()
    caller = agent_caller(spending="USD:5.00/200.00")
    for number in range(5):
        do("pay", {"item": "tea", "price": Decimal("1.00")}, caller, key=f"chain-{number:012d}")


def faults(**options: Any) -> list[tuple[int, str]]:
    return [(seq, reason) for seq, _pk, reason in chain.look_over(SITE, **options).faults]


def test_a_whole_chain_holds_with_few_queries() -> None:
    with CaptureQueriesContext(connection) as captured:
        stretch = chain.look_over(SITE)
    assert (stretch.first, stretch.last, stretch.faults, stretch.reaches_beginning) == (1, 5, (), True)
    assert len(captured) <= 3
    assert chain.sites() == [SITE]


def test_it_goes_back_stretch_by_stretch() -> None:
    newest = chain.look_over(SITE, count=2)
    assert (newest.first, newest.last, newest.reaches_beginning) == (4, 5, False)
    older = chain.look_over(SITE, last=newest.first - 1, count=2)
    assert (older.first, older.last) == (2, 3)
    assert not newest.faults
    assert not older.faults


@pytest.mark.parametrize(
    ("damage", "expected"),
    [
        ({"amount": 1}, [(3, "row")]),
        ({"item": "coffee"}, [(3, "row")]),
        ({"currency": "EUR"}, [(3, "row")]),
        ({"currency": "???"}, [(3, "row")]),
        ({"grant": "gr_x"}, [(3, "row")]),
        ({"document": "{}"}, [(3, "malformed")]),
        ({"document": "not json"}, [(3, "malformed")]),
        ({"document": "[]"}, [(3, "malformed")]),
        ({"hash": "sha256:0"}, [(3, "row"), (4, "prev")]),
    ],
)
def test_a_row_that_was_changed_shows(damage: dict[str, Any], expected: list[tuple[int, str]]) -> None:
    Receipt.objects.filter(seq=3).update(**damage)
    assert faults() == expected


def test_a_document_that_was_changed_shows() -> None:
    row = Receipt.objects.get(seq=3)
    Receipt.objects.filter(seq=3).update(document=row.document.replace('"1.00"', '"9.00"'), amount=900)
    assert faults() == [(3, "signature")]


def test_a_missing_receipt_shows_and_so_does_a_missing_end() -> None:
    Receipt.objects.filter(seq=3).delete()
    assert faults() == [(3, "missing"), (4, "missing")]
    Receipt.objects.filter(seq=5).delete()
    assert faults() == [(3, "missing"), (4, "missing"), (5, "missing")]
    ReceiptHead.objects.update(hash="sha256:0", seq=4)
    assert faults() == [(3, "missing"), (4, "missing"), (4, "head")]


def test_receipts_of_a_retired_key_hold_and_those_of_a_revoked_one_do_not() -> None:
    old = site_keys.active_key().public
    site_keys.rotate()
    assert faults() == []
    revocations.revoke(old)
    assert faults() == [(number, "unknown_key") for number in range(1, 6)]


def test_a_site_without_receipts_has_nothing_to_look_over() -> None:
    stretch = chain.look_over("other.example")
    assert (stretch.last, stretch.faults, stretch.reaches_beginning) == (0, (), True)
