"""Mistakes that others made public, where no other test shows the right behaviour; see tests/spec/known_mistakes.py."""

from __future__ import annotations

import secrets
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import AnonymousUser
from django.db import IntegrityError, transaction

from agentweb.access import nonces, retention
from agentweb.access.models import Nonce
from agentweb.catalog.words import action
from agentweb.ledger import refunds
from agentweb.models import Mandate, Payment, Receipt, Refund
from agentweb.testing import TestAgent, clock
from agentweb.wire.clock import now, now_datetime
from agentweb.wire.encoding import random_id
from agentweb.wire.errors import AgentError, AuthenticationError
from agentweb.wire.grants import parse_grant
from tests.support.calls import chain_of
from tests.support.payments import provider

__all__ = ["provider"]

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("catalog", "many_callers")]
KEY = "one-and-the-same-key"


def sells(name: str, scope: str, currency: str = "USD") -> None:
    """An action that takes the price that it is told."""

    @action(
        name,
        effect="spend",
        scope=scope,
        description="Pay.",
        cost={"field": "price", "currency": currency},
        input={"type": "object", "required": ["price"], "properties": {"price": {"type": "integer"}}},
    )
    def pay(inp: Any, ctx: Any) -> Any:
        return {"receipt": ctx.charge(inp["price"], currency, item=name)["id"]}


def error_of(answer: Any) -> tuple[int, str]:
    return answer.status_code, answer.json()["error"]["code"]


def test_a_negative_refund_passes_neither_the_statement_nor_the_table() -> None:
    sells("tea", "pay")
    buyer = TestAgent(scopes=["pay"], spending="USD:100.00/100.00")
    receipt = Receipt.objects.get(pk=buyer.post("/agent/tea", {"price": 100}).json()["receipt"])
    for amount in (-1, 0):
        with pytest.raises(AgentError) as caught, transaction.atomic():
            refunds._reserve(receipt, amount)
        assert caught.value.code == "refund_exceeds_charge"
        with pytest.raises(IntegrityError), transaction.atomic():
            refunds.new(receipt, amount, reason="", request_id="rq_1").save(force_insert=True)
        with pytest.raises((AgentError, IntegrityError)):
            refunds.give(receipt.pk, amount, reason="", by=AnonymousUser(), ident=random_id("rf_"))
    receipt.refresh_from_db()
    assert (receipt.refunded, Refund.objects.count(), Mandate.objects.get().spent) == (0, 0, 10_000)


def test_a_grant_for_a_cart_opens_no_cartel() -> None:
    for name, scope in (("add", "cart:write"), ("join", "cartel:write"), ("look", "cart")):
        action(name, effect="write", scope=scope, description="Do it.", input={"type": "object"})(
            lambda inp, ctx: {}
        )
    agent = TestAgent(scopes=["cart:*"])
    assert agent.post("/agent/add").status_code == 200
    for name, scope in (("join", "cartel:write"), ("look", "cart")):
        answer = agent.post(f"/agent/{name}")
        assert error_of(answer) == (403, "insufficient_scope")
        assert answer.json()["error"]["required_scope"] == [scope]


def test_a_key_with_another_body_is_422_over_http() -> None:
    sells("tea", "pay")
    buyer = TestAgent(scopes=["pay"], spending="USD:10.00/100.00")
    first = buyer.post("/agent/tea", {"price": 5}, key=KEY)
    assert error_of(buyer.post("/agent/tea", {"price": 6}, key=KEY)) == (422, "idempotency_key_reused")
    assert buyer.post("/agent/tea", {"price": 5}, key=KEY).json() == first.json()
    assert (Receipt.objects.count(), Mandate.objects.get().spent) == (1, 500)


def test_a_thousand_yen_are_a_thousand_yen_at_both_ends(provider: Any) -> None:
    sells("tea", "pay", "JPY")
    buyer = TestAgent(scopes=["pay"], spending="JPY:1000/1000")
    receipt = buyer.post("/agent/tea", {"price": 1000}).json()["receipt"]
    assert [(row["amount"], row["currency"]) for row in provider.charges()] == [(1000, "JPY")]
    document = buyer.get(f"/agent-actions/receipts/{receipt}").json()
    assert (document["amount"], document["currency"]) == ("1000", "JPY")
    assert (Payment.objects.get().amount, Mandate.objects.get().spent) == (1000, 1000)
    assert error_of(buyer.post("/agent/tea", {"price": 1})) == (403, "mandate_exceeded")


def test_no_flood_of_nonces_makes_room_for_an_old_one() -> None:
    old, until = "o" * 22, now() + 120
    nonces.burn("k", old, until)
    for _ in range(3):
        rows = [secrets.token_urlsafe(16) for _ in range(700)]
        expires = now_datetime() + timedelta(seconds=120)
        Nonce.objects.bulk_create([Nonce(key="k", nonce=each, expires_at=expires) for each in rows])
        retention.clear_expired(now_datetime())
        with pytest.raises(AuthenticationError) as caught:
            nonces.burn("k", old, until)
        assert caught.value.code == "request_replayed"
    assert Nonce.objects.count() == 2_101
    with clock() as time:
        time.forward(1_000)
        retention.clear_expired(now_datetime())
    assert not Nonce.objects.exists()


@pytest.mark.parametrize(
    "audience", [["shop.example", "other.example"], "shop.example,other.example", "*", ""]
)
def test_a_grant_names_exactly_one_site(audience: Any) -> None:
    [document] = chain_of(spending="USD:1.00/1.00")
    assert parse_grant(document).audience == "shop.example"
    with pytest.raises(AgentError) as caught:
        parse_grant({**document, "audience": audience})
    assert (caught.value.code, caught.value.extra["reason"]) == ("grant_invalid", "malformed")
