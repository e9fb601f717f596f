"""Agreements: whose they are, how a handler finds them, and that one charge uses one up."""

from __future__ import annotations

import json
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest
from django.db import transaction

from agentweb import AgentError
from agentweb.access import site_keys
from agentweb.access.callers import anonymous
from agentweb.ledger import agreements
from agentweb.models import Agreement, Mandate, Receipt
from agentweb.testing import clock, mandate
from agentweb.wire.agreements import verify_agreement
from agentweb.wire.receipts import verify_receipt
from tests.ledger.agreed import PRICE, buy, conclude
from tests.support.calls import agent_caller, attenuate, caller_with, chain_of, seed
from tests.support.calls import answer as told

pytestmark = pytest.mark.django_db(transaction=True)

SPENDING = "USD:100.00/500.00"
TERMS = {"product_id": "sku-1"}


@pytest.fixture(autouse=True)
def site_key() -> None:
    site_keys.ensure_active_key()


def key(number: int) -> str:
    return f"agreement-{number:010d}"


def refused(handler: Any, caller: Any, number: int = 1) -> AgentError:
    with pytest.raises(AgentError) as caught:
        buy(handler, caller, key(number))
    return caught.value


def seeds_own(inp: Any, ctx: Any) -> Any:
    """The example of the seed: the price that was negotiated, if any."""
    deal = ctx.agreement(TERMS)
    price = deal["price"] if deal else "99.00"
    return ctx.charge(price, "USD", item="sku-1")


def test_a_handler_charges_the_price_that_was_agreed_once_and_then_the_list_price() -> None:
    caller = agent_caller(spending=SPENDING)
    deal = conclude(caller)
    first, second = (buy(seeds_own, caller, key(number)) for number in (1, 2))
    assert [told(each)["amount"] for each in (first, second)] == ["80.00", "99.00"]
    assert told(first)["agreement"] == deal["id"]
    assert "agreement" not in told(second)
    assert [each.receipts[0]["agreement"] for each in (first, second)] == [deal["id"], None]
    assert verify_receipt(first.receipts[0], site_keys.published_keys()) is None
    assert Agreement.objects.get().receipt == first.receipts[0]["id"]
    assert Mandate.objects.get().spent == PRICE + 99_00


def test_the_document_that_a_handler_gets_is_signed_by_the_site() -> None:
    caller = agent_caller(spending=SPENDING)
    signed = conclude(caller)
    found: list[Any] = []
    buy(lambda inp, ctx: found.append(ctx.agreement(TERMS)), caller, key(1))
    assert found == [signed]
    assert verify_agreement(signed, site_keys.published_keys()) is None
    assert signed["buyer"] == {"agent": caller.subject, "root": caller.root.id}  # type: ignore[union-attr]
    assert json.loads(Agreement.objects.get().document) == signed


@pytest.mark.parametrize(
    ("terms", "pairs", "is_found"),
    [
        ({"n": 1}, {"n": 1}, True),
        ({"n": 1}, {"n": "1"}, False),
        ({"n": "1"}, {"n": 1}, False),
        ({"n": 1}, {"n": True}, False),
        ({"n": True}, {"n": 1}, False),
        ({"n": 1}, {"n": Decimal("1.0")}, True),
        ({"n": Decimal("2.0")}, {"n": 2}, True),
        ({"n": None}, {"n": None}, True),
        ({"m": 1}, {"n": None}, False),
        ({"n": [1, {"a": "b"}], "m": 2}, {"n": [1, {"a": "b"}]}, True),
        ({"n": [1]}, {"n": 1}, False),
        ({"n": 1, "m": 2}, {"n": 1, "m": 3}, False),
        ({"n": 1, "m": 2}, {}, True),
    ],
)
def test_every_given_pair_must_be_in_the_terms_with_the_type_that_json_gives_it(
    terms: Any, pairs: Any, is_found: bool
) -> None:
    caller = agent_caller(spending=SPENDING)
    conclude(caller, terms)
    assert (agreements.find(caller, pairs) is not None) == is_found


def test_the_newest_open_agreement_is_found() -> None:
    caller = agent_caller(spending=SPENDING)
    with clock() as time:
        for price, minutes in ((90_00, 60), (80_00, 60), (70_00, 1)):
            conclude(caller, price=price, minutes=minutes)
            time.forward(1)
        prices = []
        for forward in (0, 60, 0, 0):
            time.forward(forward)
            prices.append(told(buy(seeds_own, caller, key(len(prices))))["amount"])
    assert prices == ["70.00", "80.00", "90.00", "99.00"]


def test_an_agreement_is_its_buyers_alone_under_the_same_first_grant() -> None:
    chain = chain_of(spending=SPENDING, delegate=1)
    caller = caller_with(chain)
    deal = conclude(caller)
    again = agent_caller(spending=SPENDING)  # the same key under another grant
    # Another key under the same grant, and the same key under one that it made of it.
    helper, handed_on = (
        caller_with(attenuate(chain, seed(7), subject=seed(number).public, mandate=mandate(SPENDING)))
        for number in (9, 7)
    )
    assert again.subject == caller.subject == handed_on.subject
    for other in (again, helper, anonymous("127.0.0.1")):
        assert agreements.find(other, TERMS) is None
    for other in (again, helper):
        error = refused(lambda inp, ctx: ctx.charge("80.00", "USD", item="x", agreement=deal["id"]), other)
        assert (error.code, error.status, error.extra["agreement"]) == (
            "agreement_not_found",
            404,
            deal["id"],
        )
    found = agreements.find(handed_on, TERMS)
    assert found is not None
    assert found.id == deal["id"]


def test_a_sessions_agreement_names_the_session() -> None:
    caller = replace(
        agent_caller(spending=SPENDING), kind="session", agent_key=None, subject="session:ss_" + "A" * 22
    )
    deal = conclude(caller)
    assert deal["buyer"]["agent"] == caller.subject
    assert verify_agreement(deal, site_keys.published_keys()) is None
    assert agreements.find(caller, TERMS) is not None
    assert agreements.find(replace(caller, subject="session:ss_" + "B" * 22), TERMS) is None


@pytest.mark.parametrize(
    ("amount", "currency", "item", "is_used"),
    [
        ("80.00", "USD", "sku-1", True),
        (80, "USD", "sku-1", True),
        ("80.00", "USD", "2", True),
        ("80.00", "USD", "sku-2", False),
        ("79.99", "USD", "sku-1", False),
        ("80.01", "USD", "sku-1", False),
    ],
)
def test_only_a_charge_of_the_agreed_sum_for_what_the_terms_name_uses_it_up(
    amount: Any, currency: str, item: str, is_used: bool
) -> None:
    caller = agent_caller(spending=SPENDING)
    conclude(caller)

    def handler(inp: Any, ctx: Any) -> Any:
        ctx.agreement(TERMS)
        return ctx.charge(amount, currency, item=item)

    outcome = buy(handler, caller, key(1))
    assert (Agreement.objects.get().receipt is not None) == is_used
    assert (outcome.receipts[0]["agreement"] is not None) == is_used


def test_looking_one_up_uses_nothing_and_a_charge_without_having_looked_neither() -> None:
    caller = agent_caller(spending=SPENDING)
    conclude(caller)
    buy(lambda inp, ctx: ctx.agreement(TERMS), caller, key(1))
    buy(lambda inp, ctx: ctx.agreement(TERMS), caller, key(2), effect="write")
    buy(lambda inp, ctx: ctx.charge("80.00", "USD", item="sku-1"), caller, key(3))
    assert Agreement.objects.get().receipt is None


def test_an_agreement_that_is_named_is_used_up_whatever_the_item_is_called() -> None:
    caller = agent_caller(spending=SPENDING)
    deal = conclude(caller)
    charge = buy(
        lambda inp, ctx: ctx.charge(85, "USD", item="with shipping", agreement=ctx.agreement(TERMS)),
        caller,
        key(1),
    )
    assert charge.receipts[0]["agreement"] == deal["id"]
    error = refused(
        lambda inp, ctx: ctx.charge(85, "USD", item="again", agreement=deal["id"]), caller, number=2
    )
    assert (error.code, error.status, error.extra["agreement"]) == ("agreement_used", 409, deal["id"])


def test_two_agreements_of_one_call_are_used_up_by_their_own_charges() -> None:
    caller = agent_caller(spending=SPENDING)
    tea, cup = conclude(caller, {"product_id": "tea"}), conclude(caller, {"product_id": "cup"}, price=5_00)

    def cart(inp: Any, ctx: Any) -> None:
        deals = {name: ctx.agreement({"product_id": name}) for name in ("cup", "tea")}
        for name in ("tea", "cup"):
            ctx.charge(deals[name]["price"], "USD", item=name)

    receipts = buy(cart, caller, key(1)).receipts
    assert [receipt["agreement"] for receipt in receipts] == [tea["id"], cup["id"]]


def test_an_expired_agreement_is_found_no_more_and_refused_by_its_name() -> None:
    caller = agent_caller(spending=SPENDING)
    with clock() as time:
        deal = conclude(caller, minutes=1)
        time.forward(60)
        assert agreements.find(caller, TERMS) is None
        error = refused(lambda inp, ctx: ctx.charge(80, "USD", item="x", agreement=deal), caller)
    assert (error.code, error.status, error.extra["agreement"]) == ("agreement_expired", 410, deal["id"])
    assert not Receipt.objects.exists()


def test_one_that_expires_between_looking_and_charging_charges_nothing() -> None:
    caller = agent_caller(spending=SPENDING)
    with clock() as time:
        conclude(caller, minutes=1)

        def slow(inp: Any, ctx: Any) -> Any:
            deal = ctx.agreement(TERMS)
            time.forward(60)
            return ctx.charge(deal["price"], "USD", item="sku-1")

        assert refused(slow, caller).code == "agreement_expired"
    assert not Mandate.objects.filter(spent__gt=0).exists()
    assert not Receipt.objects.exists()


def test_a_mandate_that_cannot_pay_leaves_the_agreement_as_it_was() -> None:
    caller = agent_caller(spending="USD:100.00/50.00")
    conclude(caller)
    assert refused(seeds_own, caller).code == "mandate_exceeded"
    assert Agreement.objects.get().receipt is None


def test_a_handler_that_fails_after_its_charge_gives_the_agreement_back() -> None:
    caller = agent_caller(spending=SPENDING)
    conclude(caller)

    def sold_out(inp: Any, ctx: Any) -> None:
        seeds_own(inp, ctx)
        raise AgentError("sold_out", "Somebody was faster.")

    def crash(inp: Any, ctx: Any) -> None:
        seeds_own(inp, ctx)
        raise RuntimeError("no")

    assert [refused(handler, caller, at).code for at, handler in enumerate((sold_out, crash))] == [
        "sold_out",
        "handler_error",
    ]
    assert Agreement.objects.get().receipt is None
    assert not Mandate.objects.filter(spent__gt=0).exists()


def test_a_handler_that_catches_the_refusal_of_an_agreement_may_charge_the_list_price() -> None:
    caller = agent_caller(spending=SPENDING)
    deal = conclude(caller)
    buy(seeds_own, caller, key(1))

    def forgiving(inp: Any, ctx: Any) -> Any:
        try:
            return ctx.charge(80, "USD", item="sku-1", agreement=deal)
        except AgentError:
            return ctx.charge(99, "USD", item="sku-1")

    assert told(buy(forgiving, caller, key(2)))["amount"] == "99.00"
    assert Mandate.objects.get().spent == 80_00 + 99_00


def test_a_charge_that_the_handler_undoes_with_its_agreement_is_a_crash_and_frees_both() -> None:
    caller = agent_caller(spending=SPENDING)
    conclude(caller)

    def undoes(inp: Any, ctx: Any) -> None:
        try:
            with transaction.atomic():
                seeds_own(inp, ctx)
                raise ValueError
        except ValueError:
            return

    assert refused(undoes, caller).code == "handler_error"
    assert Agreement.objects.get().receipt is None


def test_the_same_call_sent_again_uses_no_second_agreement() -> None:
    caller = agent_caller(spending=SPENDING)
    conclude(caller)
    conclude(caller)
    assert buy(seeds_own, caller, key(1)).body == buy(seeds_own, caller, key(1)).body
    assert Agreement.objects.filter(receipt=None).count() == 1


def test_an_async_handler_awaits_its_agreement(caplog: pytest.LogCaptureFixture) -> None:
    caller = agent_caller(spending=SPENDING)
    deal = conclude(caller)

    async def awaits(inp: Any, ctx: Any) -> Any:
        found = await ctx.aagreement(TERMS)
        return await ctx.acharge(found["price"], "USD", item="sku-1")

    async def forgets(inp: Any, ctx: Any) -> Any:
        return ctx.agreement(TERMS)

    assert refused(forgets, caller).code == "handler_error"
    assert "await ctx.aagreement(...)" in caplog.text
    assert told(buy(awaits, caller, key(2)))["agreement"] == deal["id"]


@pytest.mark.parametrize(
    ("given", "currency", "said"),
    [(5, "USD", "not a int"), ({}, "USD", "not a dict"), (None, "EUR", "in EUR for an agreement in USD")],
)
def test_what_only_the_site_can_get_wrong_about_an_agreement_is_a_crash_in_its_log(
    given: Any, currency: str, said: str, caplog: pytest.LogCaptureFixture
) -> None:
    caller = agent_caller(spending=SPENDING)
    named = conclude(caller) if given is None else given
    error = refused(lambda inp, ctx: ctx.charge(80, currency, item="sku-1", agreement=named), caller)
    assert error.code == "handler_error"
    assert said in caplog.text


def test_a_handler_may_change_the_document_that_it_got() -> None:
    caller = agent_caller(spending=SPENDING)
    deal = conclude(caller)

    def careless(inp: Any, ctx: Any) -> Any:
        ctx.agreement(TERMS)["terms"].clear()
        return ctx.charge(80, "USD", item="sku-1")

    assert told(buy(careless, caller, key(1)))["agreement"] == deal["id"]
