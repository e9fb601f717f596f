"""Receipts in the admin: amounts as people write them, and a verdict that is worked out."""

from __future__ import annotations

from decimal import Decimal

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from agentweb.access import site_keys
from agentweb.access.admin.base import BoundedPaginator, LogAdmin
from agentweb.ledger.models import Receipt
from tests.support.calls import SITE, agent_caller, do
from tests.support.staff import boss, browser, page, staff, text_of

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def client(db: None) -> Client:
    site_keys.ensure_active_key()
    return browser(boss())


def pay(count: int = 1, item: str = "tea") -> list[Receipt]:
    caller = agent_caller(spending="USD:5.00/900.00")
    for number in range(count):
        do("pay", {"item": item, "price": Decimal("1.50")}, caller, key=f"admin-{item[:3]}-{number:09d}")
    return list(Receipt.objects.order_by("seq"))


def copies(row: Receipt, count: int, **changed: object) -> None:
    """More rows, to fill pages with; they do not verify."""
    rows = []
    for number in range(count):
        values = {field.attname: getattr(row, field.attname) for field in Receipt._meta.concrete_fields}
        values |= {"id": f"rc_copy{number:018d}", "seq": row.seq + 1 + number, **changed}
        rows.append(Receipt(**values))
    Receipt.objects.bulk_create(rows)


def test_the_list_takes_as_many_queries_for_a_hundred_as_for_one(client: Client) -> None:
    def queries() -> int:
        with CaptureQueriesContext(connection) as captured:
            assert "1.50 USD" in text_of(client.get(page("receipt")))
        return len(captured)

    [row] = pay()
    one = queries()
    copies(row, 99)
    assert queries() == one <= 6


def test_a_receipt_is_shown_with_its_document_and_its_verdict(client: Client) -> None:
    rows = pay(2)
    for row in rows:
        said = text_of(client.get(page("receipt", "change", row.pk)))
        assert "signature valid, chain intact" in said
        assert f'"id": "{row.pk}"' in said
    Receipt.objects.filter(pk=rows[0].pk).update(amount=1)
    said = text_of(client.get(page("receipt", "change", rows[0].pk)))
    assert "does not hold" in said
    assert "the table says something else" in said


def test_the_chain_is_verified_a_stretch_at_a_time(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = pay(3)
    address = page("receipt", "chain")
    assert address in client.get(page("receipt")).content.decode()
    said = text_of(client.get(address))
    assert f"Receipts 1 to 3 of {SITE} were looked over" in said
    assert "All of them hold." in said
    assert "beginning of the chain" in said
    Receipt.objects.filter(pk=rows[1].pk).update(item="coffee")
    assert "2 : the table says something else" in text_of(client.get(address))
    for query in (
        {"last": "1"},
        {"last": "9" * 30},
        {"last": "x"},
        {"last": "-1"},
        {"site": "\0"},
        {"site": "no"},
    ):
        assert client.get(address, query).status_code == 200


def test_a_site_without_receipts_says_so(client: Client) -> None:
    assert "no receipts yet" in text_of(client.get(page("receipt", "chain")))


def test_beyond_what_is_counted_the_list_goes_on_by_a_link(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(BoundedPaginator, "MOST", 20)
    monkeypatch.setattr(LogAdmin, "list_per_page", 10)
    [row] = pay()
    copies(row, 24)
    seen: list[int] = []
    address = "?p=1"
    while address:
        changelist = client.get(page("receipt") + address).context["cl"]
        assert changelist.result_count <= 20
        seen += [each.seq for each in changelist.result_list]
        last, address = address, changelist.older
    seen += [each.seq for each in client.get(page("receipt") + last + "&p=2").context["cl"].result_list]
    assert seen == list(range(25, 0, -1))
    assert client.get(page("receipt"), {"before": "rc_unknown"}, follow=True).status_code == 200
    assert client.get(page("receipt"), {"before": "\0"}, follow=True).status_code == 200


def test_texts_in_receipts_are_harmless(client: Client) -> None:
    [row] = pay(1, item="<script>alert(1)</script>")
    Receipt.objects.update(item="<script>alert(1)</script>\u202e", metadata={"a": "</pre><script>alert(2)"})
    for address in (page("receipt"), page("receipt", "change", row.pk)):
        content = client.get(address).content.decode()
        assert "<script>alert" not in content
        assert "\u202e" not in content


@pytest.mark.parametrize("permission", ["view_receipt", "change_receipt", "add_receipt", "delete_receipt"])
def test_receipts_are_for_looking_at_only(client: Client, permission: str) -> None:
    [row] = pay()
    clerk = browser(staff(permission))
    sees = permission in {"view_receipt", "change_receipt"}
    for address in (page("receipt"), page("receipt", "change", row.pk), page("receipt", "chain")):
        assert clerk.get(address).status_code == (200 if sees else 403)
    for who in (clerk, client):
        assert who.get(page("receipt", "add")).status_code == 403
        assert who.post(page("receipt", "delete", row.pk), {"post": "yes"}).status_code == 403
        who.post(page("receipt", "change", row.pk), {"item": "coffee"})
    assert Receipt.objects.get().item == "tea"
