"""Refunds in the admin: given in full or in part, asked for by agents and decided by staff, and nothing by a GET."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from agentweb.access import site_keys
from agentweb.ledger import refunds
from agentweb.models import Mandate, Receipt, Refund
from tests.support.calls import agent_caller, do
from tests.support.payments import provider
from tests.support.staff import boss, browser, errors_of, page, staff, text_of

__all__ = ["provider"]

pytestmark = pytest.mark.django_db(transaction=True)

IDENT = "rf_" + "a" * 22


@pytest.fixture
def client(db: None) -> Client:
    site_keys.ensure_active_key()
    return browser(boss())


def paid(item: str = "tea", number: int = 1) -> Receipt:
    caller = agent_caller(spending="USD:100.00/900.00", nonce="A" * 22)
    do("pay", {"item": item, "price": Decimal(100)}, caller, key=f"refunded-{number:09d}")
    return Receipt.objects.filter(kind="charge").latest("seq")


def waiting(receipt: Receipt, amount: int = 6_000, reason: str = "Too weak.") -> Refund:
    refund = refunds.new(receipt, amount, reason=reason, request_id="rq_" + "a" * 22, asked_by="ed25519:x")
    refunds.wait(refund)
    return refund


def give(client: Client, receipt: Receipt, amount: str, **more: Any) -> Any:
    sent = {"amount": amount, "reason": "Cold.", "ident": IDENT, **more}
    return client.post(page("receipt", "refund", receipt.pk), sent, follow=True)


def test_staff_refund_a_part_and_then_the_rest(client: Client) -> None:
    receipt = paid()
    address = page("receipt", "refund", receipt.pk)
    assert address in client.get(page("receipt", "change", receipt.pk)).content.decode()
    said = text_of(client.get(address))
    assert "100.00 USD was charged for tea ; 100.00 USD of it was not given back." in said
    assert "moving the money is yours" in said
    assert "Refunded." in text_of(give(client, receipt, "30.00"))
    assert 'value="70.00"' in client.get(address).content.decode()
    give(client, receipt, "70", ident="rf_" + "b" * 22)
    assert list(Receipt.objects.order_by("seq").values_list("kind", "amount")) == [
        ("charge", 10_000),
        ("refund", 3_000),
        ("refund", 7_000),
    ]
    assert Mandate.objects.get().spent == 0
    assert [each.change_message for each in LogEntry.objects.order_by("pk")] == [
        "Refunded 30.00 USD: Cold.",
        "Refunded 70.00 USD: Cold.",
    ]
    assert "nothing left to give back" in text_of(client.get(address, follow=True))
    assert address not in client.get(page("receipt", "change", receipt.pk)).content.decode()
    assert Refund.objects.first().decided_by == boss()


def test_a_form_that_is_sent_twice_refunds_once(client: Client) -> None:
    receipt = paid()
    for _ in range(2):
        assert "Refunded." in text_of(give(client, receipt, "30.00"))
    assert (Refund.objects.count(), LogEntry.objects.count()) == (1, 1)


@pytest.mark.parametrize("amount", ["0", "-5", "1.001", "tea", "100.01", ""])
def test_an_amount_that_cannot_be_given_back_is_told_on_the_form(client: Client, amount: str) -> None:
    receipt = paid()
    assert errors_of(give(client, receipt, amount))
    assert (Refund.objects.count(), Mandate.objects.get().spent) == (0, 10_000)


def test_a_get_refunds_nothing_and_a_post_needs_the_token(client: Client) -> None:
    receipt = paid()
    refund = waiting(receipt)
    sent = {"amount": "30.00", "reason": "Cold.", "ident": IDENT}
    client.get(page("receipt", "refund", receipt.pk), sent)
    client.get(page("refund", "give", refund.pk))
    strict = browser(boss(), enforce_csrf_checks=True)
    assert strict.post(page("receipt", "refund", receipt.pk), sent).status_code == 403
    assert strict.post(page("refund", "give", refund.pk)).status_code == 403
    assert [each.state for each in Refund.objects.all()] == ["pending"]


@pytest.mark.parametrize("permission", ["view_receipt", "view_refund", "change_refund", "give_refund"])
def test_only_staff_with_the_permission_refund(client: Client, permission: str) -> None:
    receipt = paid()
    refund = waiting(receipt)
    clerk = browser(staff(permission))
    assert give(clerk, receipt, "30.00").status_code == 403
    assert clerk.post(page("refund", "give", refund.pk)).status_code == 403
    assert clerk.post(page("refund", "refuse", refund.pk)).status_code == 403
    allowed = browser(staff("view_receipt", "view_refund", "give_refund", name="boss2"))
    assert "Refunded." in text_of(give(allowed, receipt, "30.00"))
    assert "Refunded." in text_of(allowed.post(page("refund", "give", refund.pk), follow=True))


def test_what_agents_ask_for_stands_first_and_is_given(client: Client) -> None:
    receipt = paid()
    give(client, receipt, "10.00")
    refund = waiting(receipt)
    listed = client.get(page("refund"))
    assert [each.pk for each in listed.context["cl"].result_list] == [refund.pk, IDENT]
    assert "waiting" in text_of(listed)
    asked = text_of(client.get(page("refund", "give", refund.pk)))
    assert "60.00 USD" in asked
    assert "100.00 USD for tea; 90.00 USD of it was not given back" in asked
    assert "Too weak." in asked
    assert "Refunded." in text_of(client.post(page("refund", "give", refund.pk), follow=True))
    assert (Receipt.objects.get(kind="charge").refunded, Mandate.objects.get().spent) == (7_000, 3_000)
    again = client.post(page("refund", "give", refund.pk), follow=True)
    assert "nothing to decide here any more" in text_of(again)


def test_a_refusal_has_a_reason_for_the_agent(client: Client) -> None:
    refund = waiting(paid())
    client.post(page("refund", "refuse", refund.pk), {"reason": "It was drunk."})
    refund.refresh_from_db()
    assert refunds.as_document(refund)["reason"] == "It was drunk."
    assert (refund.state, Mandate.objects.get().spent) == ("refused", 10_000)


def test_what_is_too_much_by_now_is_said_and_stays_waiting(client: Client) -> None:
    receipt = paid()
    refund = waiting(receipt)
    give(client, receipt, "60.00")
    said = text_of(client.post(page("refund", "give", refund.pk), follow=True))
    assert "only 40.00 USD of this charge is left" in said
    assert Refund.objects.get(pk=refund.pk).state == "pending"


@pytest.mark.parametrize(
    ("item", "said", "state"),
    [
        ("tea", "Refunded.", "done"),
        ("refuse-refund", "The payment provider does not give it back: The provider does not", "declined"),
        ("lose-refund", "The payment provider has not answered yet.", "processing"),
    ],
)
def test_a_refund_through_a_provider_says_what_came_of_it(
    provider: Any, client: Client, item: str, said: str, state: str
) -> None:
    receipt = paid(item)
    assert "payment provider" in text_of(client.get(page("receipt", "refund", receipt.pk)))
    assert said in text_of(give(client, receipt, "30.00"))
    assert Refund.objects.get().state == state
    assert client.get(page("refund", "change", IDENT)).status_code == 200


def test_texts_of_agents_are_harmless(client: Client) -> None:
    refund = waiting(paid(), reason="<script>alert(1)</script>\u202e")
    for address in (page("refund"), page("refund", "change", refund.pk), page("refund", "give", refund.pk)):
        content = client.get(address).content.decode()
        assert "<script>alert" not in content
        assert "\u202e" not in content


def test_the_list_takes_as_many_queries_for_many_as_for_one(client: Client) -> None:
    def queries() -> int:
        with CaptureQueriesContext(connection) as captured:
            assert client.get(page("refund")).status_code == 200
        return len(captured)

    receipt = paid()
    give(client, receipt, "1.00")
    one = queries()
    for number in range(20):
        give(client, receipt, "1.00", ident=f"rf_{number:022d}")
    assert queries() == one


@pytest.mark.parametrize(
    "sent",
    [
        {"ident": "\0"},
        {"ident": "rf_\0"},
        {"ident": "x" * 5_000},
        {"amount": "\0"},
        {"amount": "1e5"},
        {"reason": "\0"},
    ],
    ids=["nul", "nul-behind", "long", "amount-nul", "amount-float", "reason-nul"],
)
def test_a_form_that_is_none_of_ours_is_shown_again_and_gives_nothing(
    client: Client, sent: dict[str, str]
) -> None:
    receipt = paid()
    answer = give(client, receipt, **{"amount": "1.00", **sent})
    assert (answer.status_code, Refund.objects.count()) == (200, 0)
    assert set(sent) <= set(errors_of(answer))
