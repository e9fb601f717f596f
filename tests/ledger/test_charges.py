"""Charging: every limit of the mandate, the declared cost, and money that is no money."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from agentweb import AgentError, action
from agentweb.access import site_keys
from agentweb.catalog.registry import registry
from agentweb.models import Mandate, Receipt
from agentweb.testing import clock
from agentweb.wire.clock import now_datetime
from tests.support.calls import agent_caller, do

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def site_key() -> None:
    site_keys.ensure_active_key()


def key(number: int) -> str:
    return f"charge-{number:012d}"


def refused(value: Any, caller: Any, number: int, name: str = "pay") -> AgentError:
    with pytest.raises(AgentError) as caught:
        do(name, value, caller, key=key(number))
    return caught.value


def test_a_spend_under_a_grant_without_a_mandate_names_what_it_would_cost() -> None:
    error = refused({"item": "tea", "price": Decimal("19.99")}, agent_caller(), 1)
    assert (error.code, error.status) == ("mandate_required", 403)
    assert error.extra == {"amount": "19.99", "currency": "USD"}


@pytest.mark.parametrize(
    ("spending", "price", "limit", "remaining", "advice"),
    [
        ("USD:50.00/200.00", "50.01", "per_tx", "200.00", "a mandate that allows more in one charge."),
        ("USD:50.00/40.00", "41", "total", "40.00", "choose something cheaper, or ask the person for a new"),
        ("JPY:5000/5000", "10", "currency", "5000", "charged; ask the person for a mandate in USD."),
    ],
)
def test_each_limit_is_named_with_what_is_left_and_what_helps(
    spending: str, price: str, limit: str, remaining: str, advice: str
) -> None:
    error = refused({"item": "tea", "price": Decimal(price)}, agent_caller(spending=spending), 1)
    assert (error.code, error.status) == ("mandate_exceeded", 403)
    assert (error.extra["limit"], error.extra["remaining"]) == (limit, remaining)
    assert error.extra["currency"] == spending[:3]
    assert advice in error.message


def test_a_mandate_can_be_spent_to_the_last_cent_and_not_one_further() -> None:
    caller = agent_caller(spending="USD:10.00/20.01")
    do("pay", {"item": "tea", "price": Decimal("10.00")}, caller, key=key(1))
    do("pay", {"item": "tea", "price": Decimal("10.00")}, caller, key=key(2))
    assert refused({"item": "tea", "price": Decimal("0.02")}, caller, 3).extra["remaining"] == "0.01"
    do("pay", {"item": "tea", "price": Decimal("0.01")}, caller, key=key(4))
    assert refused({"item": "tea", "price": Decimal("0.01")}, caller, 5).extra["remaining"] == "0.00"
    assert Mandate.objects.get().spent == 2_001


@pytest.mark.parametrize(
    ("price", "reason"), [("19.999", "precision"), ("0.001", "precision"), ("99999999999999999", "range")]
)
def test_an_amount_that_the_currency_cannot_hold_is_never_rounded(price: str, reason: str) -> None:
    error = refused({"item": "tea", "price": Decimal(price)}, agent_caller(spending="USD:50.00/200.00"), 1)
    assert (error.code, error.status, error.field, error.extra["reason"]) == (
        "amount_invalid",
        422,
        "price",
        reason,
    )


def test_a_revoked_mandate_pays_nothing_even_when_the_caller_passed_the_door() -> None:
    caller = agent_caller(spending="USD:50.00/200.00")
    do("pay", {"item": "tea", "price": Decimal("1")}, caller, key=key(1))
    with clock() as time:
        Mandate.objects.update(revoked_at=now_datetime())
        assert refused({"item": "tea", "price": Decimal("1")}, caller, 2).code == "grant_revoked"
        Mandate.objects.update(revoked_at=None)
        time.forward(3_601)
        assert refused({"item": "tea", "price": Decimal("1")}, caller, 3).code == "grant_expired"


def spend_with(handler: Any, caller: Any, number: int = 1, price: str = "10") -> Any:
    """Declare ``handler`` as the only action and call it for a declared price."""
    with registry.only():
        action(
            "till",
            effect="spend",
            scope="shop:pay",
            description="Take money.",
            cost={"field": "price", "currency": "USD"},
            input={
                "type": "object",
                "properties": {"price": {"type": "string"}},
                "required": ["price"],
            },
        )(handler)
        return do("till", {"price": price}, caller, key=key(number))


def test_charging_less_than_declared_is_fine_and_more_tells_the_real_price() -> None:
    caller = agent_caller(spending="USD:50.00/200.00")
    assert spend_with(lambda inp, ctx: ctx.charge("7.50", "USD", item="tea"), caller)
    with pytest.raises(AgentError) as caught:
        spend_with(lambda inp, ctx: ctx.charge("12.50", "USD", item="tea"), caller, 2)
    assert (caught.value.code, caught.value.status) == ("cost_mismatch", 409)
    assert caught.value.extra == {"amount": "12.50", "currency": "USD"}
    assert Mandate.objects.get().spent == 750


def test_several_charges_of_one_call_keep_to_the_declared_cost_together() -> None:
    caller = agent_caller(spending="USD:50.00/200.00")

    def twice(inp: Any, ctx: Any) -> None:
        ctx.charge(6, "USD", item="tea")
        ctx.charge(4, "USD", item="cups")

    assert len(spend_with(twice, caller).receipts) == 2

    def thrice(inp: Any, ctx: Any) -> None:
        twice(inp, ctx)
        ctx.charge("0.01", "USD", item="a drop more")

    with pytest.raises(AgentError, match=r"10\.01"):
        spend_with(thrice, caller, 2)
    assert Mandate.objects.get().spent == 1_000
    assert Receipt.objects.count() == 2


def test_a_handler_may_catch_a_refused_charge_and_offer_something_cheaper() -> None:
    caller = agent_caller(spending="USD:5.00/200.00")

    def cheaper(inp: Any, ctx: Any) -> Any:
        try:
            return ctx.charge(4, "USD", item="big")
        except AgentError:
            return ctx.charge(1, "USD", item="small")

    with pytest.raises(AgentError):
        spend_with(cheaper, caller, 1, price="6")  # the declared cost itself is over the mandate
    caller = agent_caller(spending="USD:5.00/3.00")
    assert spend_with(cheaper, caller, 2, price="3").receipts[0]["item"] == "small"


@pytest.mark.parametrize(
    ("amount", "currency", "item", "said"),
    [
        (1.5, "USD", "tea", "not as a float: a float has no exact cents"),
        (True, "USD", "tea", "not as a bool"),
        (None, "USD", "tea", "not as a NoneType"),
        (1, "usd", "tea", "not 'usd'"),
        (1, "XYZ", "tea", "not 'XYZ'"),
        (1, None, "tea", "not as a NoneType"),
        (1, "USD", 5, "not as a int"),
        (1, "USD", "", "not 0"),
        (1, "USD", "x" * 201, "not 201"),
    ],
)
def test_what_only_the_site_can_get_wrong_is_a_crash_in_its_log_and_no_refusal(
    amount: Any, currency: Any, item: Any, said: str, caplog: pytest.LogCaptureFixture
) -> None:
    caller = agent_caller(spending="USD:50.00/200.00")
    with pytest.raises(AgentError) as caught:
        spend_with(lambda inp, ctx: ctx.charge(amount, currency, item=item), caller)
    assert (caught.value.code, caught.value.status) == ("handler_error", 500)
    assert said in caplog.text
    assert "Traceback" in caplog.text
    assert not Receipt.objects.exists()


def test_a_charge_in_another_currency_than_declared_is_said_as_that(caplog: pytest.LogCaptureFixture) -> None:
    with pytest.raises(AgentError) as caught:
        spend_with(
            lambda inp, ctx: ctx.charge(1, "EUR", item="tea"), agent_caller(spending="USD:50.00/200.00")
        )
    assert (caught.value.code, caught.value.status) == ("cost_mismatch", 500)
    assert "another currency" in caught.value.message
    assert "charge in EUR; the declared cost is in USD" in caplog.text


def test_an_async_handler_is_told_to_await_its_charge(caplog: pytest.LogCaptureFixture) -> None:
    caller = agent_caller(spending="USD:50.00/200.00")

    async def forgets(inp: Any, ctx: Any) -> Any:
        return ctx.charge(1, "USD", item="tea")

    async def awaits(inp: Any, ctx: Any) -> Any:
        return await ctx.acharge(1, "USD", item="tea")

    with pytest.raises(AgentError) as caught:
        spend_with(forgets, caller)
    assert caught.value.code == "handler_error"
    assert "await ctx.acharge(...)" in caplog.text
    assert len(spend_with(awaits, caller, 2).receipts) == 1


@pytest.mark.parametrize("amount", ["1e2", "-5", "0", Decimal("NaN")])
def test_an_amount_that_is_no_amount_is_refused(amount: Any) -> None:
    caller = agent_caller(spending="USD:50.00/200.00")
    with pytest.raises(AgentError) as caught:
        spend_with(lambda inp, ctx: ctx.charge(amount, "USD", item="tea"), caller)
    assert caught.value.code == "amount_invalid"
    assert not Receipt.objects.exists()


def test_only_a_spend_may_charge() -> None:
    with registry.only():
        action("sneaky", effect="write", scope="notes:write", description="Charge in a write.")(
            lambda inp, ctx: ctx.charge(1, "USD", item="tea")
        )
        with pytest.raises(AgentError) as caught:
            do("sneaky", {}, agent_caller(spending="USD:50.00/200.00"), key=key(1))
    assert caught.value.code == "handler_error"
    assert not Receipt.objects.exists()
