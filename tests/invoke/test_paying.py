"""Spends through a payment provider: what is committed when, and what comes of every way in which it can end."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from decimal import Decimal
from threading import Event
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import OperationalError, connection, transaction
from django.test.utils import CaptureQueriesContext

from agentweb import AgentError, action
from agentweb.access import approvals, site_keys
from agentweb.catalog.registry import registry
from agentweb.ledger import payments, receipts, settling
from agentweb.models import (
    Agreement,
    Approval,
    AuditEntry,
    IdempotencyRecord,
    Mandate,
    Payment,
    Receipt,
    Refund,
)
from agentweb.signals import receipt_issued
from agentweb.testing import clock, mandate
from agentweb.testing.payments import TestProvider
from agentweb.wire.clock import now_datetime
from agentweb.wire.encoding import b64url
from agentweb.wire.receipts import verify_chain
from agentweb.wire.strict_json import loads
from tests.ledger.agreed import conclude
from tests.site.models import Note, Stock
from tests.support.calls import SITE, agent_caller, answer, attenuate, caller_with, chain_of, do, seed
from tests.support.payments import provider
from tests.support.staff import boss

__all__ = ["provider"]

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("provider")]

PRICED: dict[str, Any] = {
    "type": "object",
    "properties": {"price": {"type": "string"}},
    "required": ["price"],
}


def key(number: int = 1) -> str:
    return f"paying-{number:012d}"


def buyer(spending: str = "USD:50.00/100.00", **more: Any) -> Any:
    return agent_caller(spending=spending, **more)


def pay(caller: Any, price: str = "10.00", number: int = 1, item: str = "tea", name: str = "pay") -> Any:
    return do(name, {"item": item, "price": Decimal(price)}, caller, key=key(number))


def refused(run: Callable[[], Any]) -> AgentError:
    with pytest.raises(AgentError) as caught:
        run()
    return caught.value


@contextmanager
def selling(handler: Any, **declared: Any) -> Iterator[None]:
    """``handler`` is the only action, ``till``, whose declared price is the input ``price``."""
    with registry.only():
        action(
            "till",
            effect="spend",
            scope="shop:pay",
            description="Take money.",
            cost={"field": "price", "currency": "USD"},
            input=PRICED,
            **declared,
        )(handler)
        yield


def sell(caller: Any, price: str = "10.00", number: int = 1) -> Any:
    return do("till", {"price": price}, caller, key=key(number))


def spent() -> list[tuple[int, int]]:
    return [(row.spent, row.uses) for row in Mandate.objects.order_by("pk")]


def books() -> list[tuple[str, int]]:
    """The receipts in their order; the chain that they form verifies."""
    rows = list(Receipt.objects.order_by("seq"))
    documents = [loads(row.document.encode()) for row in rows]
    assert verify_chain(documents, receipts.signed_head(SITE), keys=site_keys.published_keys()) is None
    return [(row.kind, row.amount) for row in rows]


def states() -> list[str]:
    return list(Payment.objects.order_by("created_at", "ordinal", "attempt").values_list("state", flat=True))


# -- it goes well


def test_a_charge_is_captured_by_the_provider_and_commits_with_its_receipt(provider: TestProvider) -> None:
    outcome = pay(buyer())
    [charge] = provider.charges()
    [document] = outcome.receipts
    assert answer(outcome) == {"receipt": document["id"]} == {"receipt": charge["id"]}
    assert (charge["amount"], charge["currency"], charge["item"], charge["state"]) == (
        1_000,
        "USD",
        "tea",
        "captured",
    )
    assert (books(), spent(), states()) == ([("charge", 1_000)], [(1_000, 1)], ["done"])
    assert IdempotencyRecord.objects.get().state == "done"
    assert [row.outcome for row in AuditEntry.objects.all()] == ["ok"]
    assert provider.calls() == [("charge", charge["id"])]


def test_a_repeated_call_answers_the_same_and_asks_the_provider_nothing(provider: TestProvider) -> None:
    caller = buyer()
    first, second = pay(caller), pay(caller)
    assert (second.body, second.replayed) == (first.body, True)
    assert len(provider.calls()) == 1


def test_the_provider_is_told_who_pays_for_what(
    provider: TestProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    orders = []
    charge = provider.charge
    monkeypatch.setattr(provider, "charge", lambda order: orders.append(order) or charge(order))

    def till(inp: Any, ctx: Any) -> None:
        ctx.charge(5, "USD", item="tea", metadata={"card": "pm_1"})

    caller = buyer()
    with selling(till):
        sell(caller)
    [order] = orders
    assert (order.amount_text, order.currency, order.item, dict(order.metadata)) == (
        "5.00",
        "USD",
        "tea",
        {"card": "pm_1"},
    )
    assert (order.agent, order.grant, order.site, order.action) == (
        caller.subject,
        caller.grant.id,
        SITE,
        "till",
    )
    assert Receipt.objects.get().metadata == {"card": "pm_1"}


def test_a_receipt_notes_what_the_provider_was_told_and_not_what_a_later_run_would_say(
    provider: TestProvider,
) -> None:
    cards = iter(["pm_1", "pm_2"])
    with selling(lambda inp, ctx: ctx.charge(5, "USD", item="tea", metadata={"card": next(cards)})):
        sell(buyer())
    assert Receipt.objects.get().metadata == Payment.objects.get().metadata == {"card": "pm_1"}


def test_what_a_handler_writes_before_and_after_it_charges_is_there_once() -> None:
    Stock.objects.create(name="tea", left=3)

    def till(inp: Any, ctx: Any) -> Any:
        Note.objects.create(text="before")
        with transaction.atomic():
            receipt = ctx.charge("2.50", "USD", item="tea")
            Note.objects.create(text="inside")
        Stock.objects.filter(pk="tea").update(left=2)
        return {"receipt": receipt["id"]}

    with selling(till):
        sell(buyer())
    assert sorted(Note.objects.values_list("text", flat=True)) == ["before", "inside"]
    assert Stock.objects.get().left == 2


def test_no_transaction_is_open_while_the_provider_is_asked(
    provider: TestProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[tuple[bool, str]] = []
    ask = payments.charge

    def look(payment: Any) -> Any:
        seen.append((connection.in_atomic_block, Payment.objects.get(pk=payment.pk).state))
        return ask(payment)

    monkeypatch.setattr(payments, "charge", look)
    pay(buyer())
    assert seen == [(False, "pending")]


def test_several_charges_of_one_call_are_paid_one_after_the_other(provider: TestProvider) -> None:
    runs = []

    def till(inp: Any, ctx: Any) -> Any:
        runs.append(1)
        return [ctx.charge(amount, "USD", item=item)["id"] for amount, item in ((6, "tea"), (4, "cups"))]

    with selling(till):
        outcome = sell(buyer())
    assert [each["id"] for each in provider.charges()] == answer(outcome)
    assert (books(), spent(), len(runs)) == ([("charge", 600), ("charge", 400)], [(1_000, 1)], 3)


def test_an_async_handler_pays_too(provider: TestProvider) -> None:
    async def till(inp: Any, ctx: Any) -> Any:
        await asyncio.sleep(0)
        return (await ctx.acharge(5, "USD", item="tea"))["id"]

    with selling(till):
        outcome = sell(buyer())
    assert [each["id"] for each in provider.charges()] == [answer(outcome)]
    assert books() == [("charge", 500)]


def test_a_spend_that_charges_nothing_asks_nobody(provider: TestProvider) -> None:
    with selling(lambda inp, ctx: {"free": True}):
        sell(buyer())
    assert (provider.calls(), states(), spent()) == ([], [], [(0, 1)])


def test_each_receipt_is_told_once_after_the_commit() -> None:
    told: list[str] = []

    def listen(receipt: Any, **more: Any) -> None:
        told.append(receipt["kind"])

    receipt_issued.connect(listen)
    try:
        pay(buyer())
        refused(lambda: pay(buyer(), number=2, name="pay_and_refuse"))
    finally:
        receipt_issued.disconnect(listen)
    assert told == ["charge", "charge", "refund"]


def test_all_grants_of_a_chain_pay(provider: TestProvider) -> None:
    parent = chain_of(spending="USD:50.00/100.00", delegate=1)
    child = attenuate(parent, seed(7), subject=seed(8).public, mandate=mandate("USD:20.00/30.00"))
    pay(caller_with(child))
    assert spent() == [(1_000, 1), (1_000, 1)]
    refused(lambda: pay(caller_with(child), "10.02", 2))
    assert spent() == [(1_000, 1), (1_000, 1)]


# -- it is refused


def test_a_declined_payment_gives_the_reservation_back_and_is_the_answer(provider: TestProvider) -> None:
    caller = buyer()
    error = refused(lambda: pay(caller, item="tea decline"))
    assert (error.code, error.status, error.retry_after) == ("payment_declined", 402, None)
    assert "The card was declined" in error.message
    assert (books(), spent(), states()) == ([], [(0, 0)], ["declined"])
    again = refused(lambda: pay(caller, item="tea decline"))
    assert (again.code, again.headers.get("Idempotent-Replayed")) == ("payment_declined", "true")
    assert len(provider.calls()) == 1
    pay(caller, number=2)
    assert spent() == [(1_000, 1)]


def test_what_was_captured_before_a_declined_charge_goes_back_in_full(provider: TestProvider) -> None:
    def till(inp: Any, ctx: Any) -> None:
        ctx.charge(6, "USD", item="tea")
        ctx.charge(4, "USD", item="cups decline")

    with selling(till):
        error = refused(lambda: sell(buyer()))
    assert error.code == "payment_declined"
    [told] = error.extra["payments"]
    refund = Refund.objects.get()
    assert told == {"charge": provider.charges()[0]["id"], "refund": refund.id}
    assert (books(), spent()) == ([("charge", 600), ("refund", 600)], [(0, 0)])
    assert (provider.taken(), refund.state, refund.is_automatic) == (0, "done", True)


def test_a_mandate_is_asked_before_the_provider(provider: TestProvider) -> None:
    error = refused(lambda: pay(buyer("USD:5.00/100.00")))
    assert error.code == "mandate_exceeded"
    assert (provider.calls(), states()) == ([], [])


def test_a_handler_may_catch_what_the_mandate_refuses_and_offer_something_cheaper(
    provider: TestProvider,
) -> None:
    def till(inp: Any, ctx: Any) -> Any:
        try:
            receipt = ctx.charge("9.00", "USD", item="good tea")
        except AgentError:
            receipt = ctx.charge("3.00", "USD", item="tea")
        return receipt["item"]

    chain = chain_of(spending="USD:50.00/10.00")
    caller = caller_with(chain)
    with selling(till):
        assert answer(sell(caller, "9.00")) == "good tea"
        with pytest.raises(AgentError):
            sell(caller, "9.00", 2)  # declared more than is left
    assert provider.taken() == 900


@pytest.mark.parametrize("swallowed", [BaseException, payments.Unpaid])
def test_a_handler_that_swallows_the_signal_is_not_paid_by_that(
    provider: TestProvider, swallowed: type[BaseException]
) -> None:
    runs = []

    def till(inp: Any, ctx: Any) -> Any:
        runs.append(1)
        try:
            receipt = ctx.charge(5, "USD", item="tea")
        except swallowed:
            if len(runs) == 1:
                return {"paid": False}
            raise AgentError("till_broken", "The till is broken.") from None
        return receipt["id"]

    with selling(till):
        assert answer(sell(buyer())) == provider.charges()[0]["id"]
    assert books() == [("charge", 500)]


# -- the handler fails


def test_a_refusal_after_the_capture_refunds_in_full_and_says_so(provider: TestProvider) -> None:
    caller = buyer()
    error = refused(lambda: pay(caller, name="pay_and_refuse"))
    assert (error.code, error.status) == ("closed", 409)
    [charge], [refund] = provider.charges(), provider.refunds()
    assert error.extra["payments"] == [{"charge": charge["id"], "refund": refund["id"]}]
    assert (books(), spent(), provider.taken()) == ([("charge", 1_000), ("refund", 1_000)], [(0, 0)], 0)
    row = Receipt.objects.get(kind="refund")
    assert (row.refund_of, row.id) == (charge["id"], Refund.objects.get().refund_receipt)
    again = refused(lambda: pay(caller, name="pay_and_refuse"))
    assert again.extra["payments"] == error.extra["payments"]
    assert len(provider.charges()) == 1


def test_a_crash_after_the_capture_refunds_in_full_and_frees_the_key(provider: TestProvider) -> None:
    broken = [True]

    def till(inp: Any, ctx: Any) -> Any:
        ctx.charge(5, "USD", item="tea")
        if broken:
            raise RuntimeError("hunter2")
        return {"ok": True}

    caller = buyer()
    with selling(till):
        error = refused(lambda: sell(caller))
        assert (error.code, error.status) == ("handler_error", 500)
        assert "hunter2" not in json.dumps(error.as_dict())
        assert len(error.extra["payments"]) == 1
        assert (books(), spent(), provider.taken()) == ([("charge", 500), ("refund", 500)], [(0, 0)], 0)
        assert not IdempotencyRecord.objects.exists()
        broken.clear()
        sell(caller)
    assert (len(books()), spent(), provider.taken()) == (3, [(500, 1)], 500)
    assert len({each["id"] for each in provider.charges()}) == 2


def test_a_refund_whose_answer_is_lost_is_finished_by_the_sweep(provider: TestProvider) -> None:
    with clock() as time:
        error = refused(lambda: pay(buyer(), item="lose-refund", name="pay_and_refuse"))
        refund = Refund.objects.get()
        assert error.extra["payments"][0]["refund"] == refund.id
        assert (refund.state, books(), spent()) == ("processing", [("charge", 1_000)], [(1_000, 0)])
        assert settling.sweep().ended == {}  # its time has not come
        time.forward(60)
        assert settling.sweep().ended == {"refund_done": 1}
    assert (books(), spent()) == ([("charge", 1_000), ("refund", 1_000)], [(0, 0)])
    assert len(provider.refunds()) == 1


def test_a_refund_that_the_provider_declines_stays_visible_and_is_no_refund(
    provider: TestProvider, caplog: pytest.LogCaptureFixture
) -> None:
    refused(lambda: pay(buyer(), item="refuse-refund", name="pay_and_refuse"))
    assert Refund.objects.get().state == "declined"
    assert (books(), Receipt.objects.get().refunded, spent()) == ([("charge", 1_000)], 0, [(1_000, 0)])
    assert "give it back by hand" in caplog.text


def test_a_handler_that_charges_something_else_when_it_runs_again_pays_that_and_gets_the_rest_back(
    provider: TestProvider,
) -> None:
    prices = iter(["5.00", "7.00", "7.00", "7.00"])

    def till(inp: Any, ctx: Any) -> Any:
        return ctx.charge(next(prices), "USD", item="tea")["amount"]

    with selling(till):
        assert answer(sell(buyer())) == "7.00"
    assert books() == [("charge", 500), ("refund", 500), ("charge", 700)]
    assert (spent(), provider.taken()) == ([(700, 1)], 700)


def test_a_handler_that_charges_less_often_when_it_runs_again_gets_the_rest_back(
    provider: TestProvider,
) -> None:
    runs = []

    def till(inp: Any, ctx: Any) -> Any:
        runs.append(1)
        if len(runs) < 3:
            ctx.charge(6, "USD", item="tea")
            ctx.charge(2, "USD", item="cups")
        return len(runs)

    with selling(till):
        assert answer(sell(buyer())) == 3
    assert sorted(books()) == [("charge", 200), ("charge", 600), ("refund", 200), ("refund", 600)]
    assert (spent(), provider.taken()) == ([(0, 1)], 0), "it has done something all the same"


@pytest.mark.parametrize("place", [0, 1])
def test_a_handler_that_never_charges_the_same_twice_is_stopped(
    provider: TestProvider, place: int, caplog: pytest.LogCaptureFixture
) -> None:
    """Money is taken and given back twice: a price may change once in between, and not each time."""
    orders = iter(range(100))

    def till(inp: Any, ctx: Any) -> None:
        for _ in range(place):
            ctx.charge(1, "USD", item="cups")
        ctx.charge(2, "USD", item=f"Order {next(orders)}")

    caller = buyer()
    with selling(till):
        error = refused(lambda: sell(caller))
    # For all that the site knows the price is what changes: who buys looks again, and the log names the handler.
    assert (error.code, error.status, len(error.extra["payments"]) > 0) == ("conflict", 409, True)
    assert "charged for something else each time" in caplog.text
    assert not IdempotencyRecord.objects.exists(), "the key is free"
    assert len([each for each in provider.charges() if each["amount"] == 200]) == 2
    assert (spent(), provider.taken(), set(states())) == ([(0, 0)], 0, {"done"})


# -- nobody knows


def test_a_time_out_before_the_capture_is_resumed_by_the_same_call(provider: TestProvider) -> None:
    caller = buyer()
    error = refused(lambda: pay(caller, item="tea timeout"))
    assert (error.code, error.status, error.retry_after) == ("payment_unknown", 503, 5)
    assert (states(), spent(), books()) == (["pending"], [(1_000, 1)], [])
    assert error.extra["payments"] == [{"charge": Payment.objects.get().id, "refund": None}]
    provider.script("ok")
    outcome = pay(caller, item="tea timeout")
    assert answer(outcome)["receipt"] == error.extra["payments"][0]["charge"]
    assert (spent(), books(), provider.taken()) == ([(1_000, 1)], [("charge", 1_000)], 1_000)


@pytest.mark.parametrize("item", ["lost", "late"])
def test_a_capture_whose_answer_was_lost_or_comes_late_is_paid_once(
    provider: TestProvider, item: str
) -> None:
    caller = buyer()
    tries = 0
    while True:
        tries += 1
        try:
            pay(caller, item=item)
        except AgentError as error:
            assert error.code == "payment_unknown"  # noqa: PT017 - and then it goes on
            continue
        break
    assert tries == {"lost": 2, "late": 3}[item]
    assert (len(provider.charges()), provider.taken()) == (1, 1_000)
    assert (spent(), books(), states()) == ([(1_000, 1)], [("charge", 1_000)], ["done"])


def test_a_provider_that_hangs_is_waited_for_no_longer_than_the_setting_says(
    provider: TestProvider, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.AGENTWEB = {**settings.AGENTWEB, "PAYMENT_TIMEOUT_SECONDS": 1}
    gate = Event()
    hanging = payments.providers.named(settings.AGENTWEB["PAYMENTS"]).provider
    monkeypatch.setattr(hanging, "hang", gate.wait)
    try:
        assert refused(lambda: pay(buyer(), item="lost")).code == "payment_unknown"
    finally:
        gate.set()


def test_the_key_of_a_payment_that_is_not_known_is_bound_to_its_input(provider: TestProvider) -> None:
    caller = buyer()
    refused(lambda: pay(caller, item="timeout"))
    error = refused(lambda: pay(caller, "11.00", item="timeout"))
    assert error.code == "idempotency_key_reused"
    assert states() == ["pending"]


def test_a_busy_database_after_the_capture_keeps_what_was_captured(
    provider: TestProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    caller = buyer()
    finish = payments.finish

    def busy(*args: Any, **more: Any) -> Any:
        raise OperationalError("the database is on its way")

    monkeypatch.setattr(payments, "finish", busy)
    error = refused(lambda: pay(caller))
    assert (error.code, error.status) == ("unavailable", 503)
    assert (states(), provider.taken()) == (["captured"], 1_000)
    monkeypatch.setattr(payments, "finish", finish)
    pay(caller)
    assert (books(), spent(), len(provider.calls())) == ([("charge", 1_000)], [(1_000, 1)], 1)


def test_a_refusal_while_a_payment_is_not_known_leaves_it_to_the_sweep(provider: TestProvider) -> None:
    shop = ["open"]

    def till(inp: Any, ctx: Any) -> Any:
        if not shop:
            raise AgentError("closed", "The shop has just closed.")
        return ctx.charge(5, "USD", item="lost")["id"]

    caller = buyer()
    with selling(till), clock() as time:
        assert refused(lambda: sell(caller)).code == "payment_unknown"
        shop.clear()
        error = refused(lambda: sell(caller))
        assert (error.code, error.extra["payments"][0]["refund"]) == ("closed", None)
        assert provider.taken() == 500
        time.forward(1)
        assert settling.sweep().ended == {"payment_done": 1}
    assert (books(), spent(), provider.taken()) == ([("charge", 500), ("refund", 500)], [(0, 0)], 0)


@pytest.mark.parametrize("ending", ["pay", "pay_and_refuse"])
def test_a_key_that_is_replaced_while_the_provider_is_asked_signs_nothing_afterwards(
    provider: TestProvider, monkeypatch: pytest.MonkeyPatch, ending: str
) -> None:
    ask = provider.charge
    with clock() as time:

        def slow(order: Any) -> Any:
            site_keys.rotate()
            time.forward(2 * site_keys.RETIREMENT_MARGIN_SECONDS)
            return ask(order)

        monkeypatch.setattr(provider, "charge", slow)
        if ending == "pay":
            pay(buyer())
        else:
            assert refused(lambda: pay(buyer(), name=ending)).code == "closed"
        kinds = ["charge"] if ending == "pay" else ["charge", "refund"]
        assert [kind for kind, _amount in books()] == kinds


# -- grants and people


def two_people() -> tuple[Any, Any]:
    """One agent under a grant of Ann and under one of Bob; both were used before."""
    people = [User.objects.create_user(name) for name in ("ann", "bob")]
    callers = [
        caller_with(chain_of(spending="USD:50.00/60.00", nonce=b64url(bytes([number]) * 16)), user_id=each.pk)
        for number, each in enumerate(people)
    ]
    for number, caller in enumerate(callers):
        pay(caller, "1.00", 90 + number)
    return callers[0], callers[1]


@pytest.mark.parametrize("behaviour", ["lost", "timeout"])
def test_what_one_person_has_begun_to_pay_buys_nothing_for_another(
    provider: TestProvider, behaviour: str
) -> None:
    ann, bob = two_people()
    served: list[str] = []

    def till(inp: Any, ctx: Any) -> str:
        receipt: str = ctx.charge(inp["price"], "USD", item="tea")["id"]
        served.append(ctx.user.get_username())
        return receipt

    with selling(till), clock() as time:
        provider.script(behaviour)
        assert refused(lambda: sell(ann, "50.00")).code == "payment_unknown"
        receipt = answer(sell(bob, "50.00"))
        payment = Payment.objects.get(pk=receipt)
        assert set(served) == {"bob"}
        assert (payment.user_key, payment.grants) == (str(bob.user_id), [bob.grant.id])
        assert Receipt.objects.get(pk=receipt).grant == bob.grant.id
        time.forward(1)
        settling.sweep()
    spent_by = dict(Mandate.objects.values_list("grant_id", "spent"))
    assert spent_by == {ann.grant.id: 100, bob.grant.id: 5_100}
    assert provider.taken() == 5_200


def test_a_mandate_is_no_larger_by_what_another_grant_has_reserved(provider: TestProvider) -> None:
    ann, bob = two_people()
    pay(bob, "50.00", 92)
    with selling(lambda inp, ctx: ctx.charge(inp["price"], "USD", item="tea")):
        provider.script("lost")
        assert refused(lambda: sell(ann, "50.00")).code == "payment_unknown"
        assert refused(lambda: sell(bob, "50.00")).code == "mandate_exceeded"


def test_an_approval_of_one_person_lets_no_call_through_for_another(provider: TestProvider) -> None:
    ann, bob = two_people()
    buying = selling(lambda inp, ctx: ctx.charge(inp["price"], "USD", item="tea"), confirm="person")
    with buying, clock() as time:
        asked = refused(lambda: sell(ann))
        assert approvals.approve(asked.extra["approval"], by=ann.user)
        provider.script("lost")
        assert refused(lambda: sell(ann)).code == "payment_unknown"
        assert refused(lambda: sell(bob)).code == "needs_human"
        time.forward(1)
        settling.sweep()
    assert Approval.objects.get(pk=asked.extra["approval"]).state == "approved", "it is Ann's again"


@pytest.mark.parametrize("behaviour", ["ok", "lost", "timeout"])
def test_a_one_time_grant_is_used_once_also_when_the_call_charges_nothing_in_the_end(
    provider: TestProvider, behaviour: str
) -> None:
    caller = buyer(one_time=True)
    runs: list[int] = []

    def till(inp: Any, ctx: Any) -> int:
        runs.append(1)
        if len(runs) == 1:
            ctx.charge(inp["price"], "USD", item="tea")
        return len(runs)

    with selling(till), clock() as time:
        provider.script(behaviour)
        if behaviour != "ok":
            assert refused(lambda: sell(caller)).code == "payment_unknown"
        assert answer(sell(caller)) == 2
        time.forward(60)
        settling.sweep()
        assert refused(lambda: sell(caller, number=2)).code == "grant_used"
    assert (spent(), provider.taken()) == ([(0, 1)], 0)


@pytest.mark.parametrize("behaviour", ["ok", "lost", "timeout"])
def test_an_approval_lets_one_call_through_also_when_that_charges_nothing_in_the_end(
    provider: TestProvider, behaviour: str
) -> None:
    caller = caller_with(chain_of(spending="USD:50.00/60.00"))
    is_free: list[bool] = []

    def till(inp: Any, ctx: Any) -> None:
        if not is_free:
            is_free.append(True)
            ctx.charge(inp["price"], "USD", item="tea")
        Note.objects.create(text="done")

    with selling(till, confirm="person"), clock() as time:
        asked = refused(lambda: sell(caller))
        assert approvals.approve(asked.extra["approval"], by=boss())
        provider.script(behaviour)
        if behaviour != "ok":
            assert refused(lambda: sell(caller)).code == "payment_unknown"
        sell(caller)
        time.forward(60)
        settling.sweep()
        assert refused(lambda: sell(caller, number=2)).code == "needs_human"
    assert (Note.objects.count(), spent(), provider.taken()) == (1, [(0, 1)], 0)


def test_a_grant_that_is_revoked_while_the_provider_is_asked_buys_nothing(
    provider: TestProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    ask = payments.charge

    def revoking(payment: Any) -> Any:
        Mandate.objects.update(revoked_at=now_datetime())
        return ask(payment)

    monkeypatch.setattr(payments, "charge", revoking)
    assert refused(lambda: pay(buyer())).code == "grant_revoked"
    assert (provider.taken(), spent()) == (0, [(0, 0)])


def test_a_one_time_grant_is_used_by_what_succeeds_and_not_by_what_is_declined(
    provider: TestProvider,
) -> None:
    caller = buyer(one_time=True)
    assert refused(lambda: pay(caller, item="decline")).code == "payment_declined"
    assert refused(lambda: pay(caller, number=2, name="pay_and_refuse")).code == "closed"
    pay(caller, number=3)
    assert refused(lambda: pay(caller, number=4)).code == "grant_used"
    assert (spent(), provider.taken()) == ([(1_000, 1)], 1_000)


def test_a_one_time_grant_that_is_held_by_a_payment_is_nobody_elses(provider: TestProvider) -> None:
    caller = buyer(one_time=True)
    assert refused(lambda: pay(caller, item="lost")).code == "payment_unknown"
    assert refused(lambda: pay(caller, number=2)).code == "grant_used"
    pay(caller, item="lost")
    assert (spent(), provider.taken()) == ([(1_000, 1)], 1_000)


def approving(caller: Any, handler: Any = None) -> Any:
    def till(inp: Any, ctx: Any) -> Any:
        return ctx.charge(Decimal(inp["price"]), "USD", item="lost")["id"]

    return selling(handler or till, confirm="person")


def approve() -> None:
    Approval.objects.filter(state="pending").update(state="approved")


def test_an_approval_is_used_by_the_payment_and_good_for_its_retries(provider: TestProvider) -> None:
    caller = buyer()
    with approving(caller), clock() as time:
        assert refused(lambda: sell(caller)).code == "needs_human"
        approve()
        assert refused(lambda: sell(caller)).code == "payment_unknown"
        assert Approval.objects.get().state == "used"
        assert refused(lambda: sell(caller, number=2)).code == "needs_human", "it is used"
        time.forward(1_200)  # the approval is over; what it allowed has begun
        sell(caller)
    assert provider.taken() == 1_000


def test_an_approval_is_given_back_when_the_payment_is_declined(provider: TestProvider) -> None:
    caller = buyer()

    def till(inp: Any, ctx: Any) -> Any:
        return ctx.charge(Decimal(inp["price"]), "USD", item="tea")["id"]

    with approving(caller, till):
        refused(lambda: sell(caller))
        approve()
        provider.script("decline")
        assert refused(lambda: sell(caller)).code == "payment_declined"
        assert Approval.objects.get().state == "approved"
        sell(caller, number=2)
    assert Approval.objects.get().state == "used"


def test_charging_more_than_was_declared_is_refused_before_anybody_pays(provider: TestProvider) -> None:
    with selling(lambda inp, ctx: ctx.charge("10.01", "USD", item="tea")):
        assert refused(lambda: sell(buyer())).code == "cost_mismatch"
    assert provider.calls() == []


def test_the_whole_mandate_can_be_spent_in_one_call(provider: TestProvider) -> None:
    pay(buyer("USD:50.00/10.00"))
    assert spent() == [(1_000, 1)]


def test_a_spend_takes_a_bounded_number_of_queries(provider: TestProvider) -> None:
    caller = buyer()
    pay(caller)
    with CaptureQueriesContext(connection) as captured:
        pay(caller, number=2)
    control = ("BEGIN", "COMMIT", "SAVEPOINT", "RELEASE", "ROLLBACK", "DELETE FROM")
    statements = [each["sql"] for each in captured if not each["sql"].startswith(control)]
    assert len(statements) <= 32, statements


# -- agreements


def agreeing(caller: Any, price: int = 700) -> str:
    return str(conclude(caller, {"product_id": "tea"}, price=price, minutes=15)["id"])


def agreed_till(inp: Any, ctx: Any) -> Any:
    agreement = ctx.agreement({"product_id": "tea"})
    price = "9.00" if agreement is None else agreement["price"]
    return ctx.charge(price, "USD", item="tea")


def test_an_agreement_is_used_up_by_the_payment_and_good_for_its_retries(provider: TestProvider) -> None:
    caller = buyer()
    ident = agreeing(caller)
    provider.script("lost")
    with selling(agreed_till), clock() as time:
        assert refused(lambda: sell(caller)).code == "payment_unknown"
        assert answer(sell(caller, number=2))["amount"] == "9.00", "it is held by the first"
        time.forward(1_800)  # the agreement is over; what it was for has begun
        newer = agreeing(caller, 800)
        assert answer(sell(caller)) == {
            "id": provider.charges()[0]["id"],
            "amount": "7.00",
            "currency": "USD",
            "item": "tea",
            "agreement": ident,
        }
    assert Receipt.objects.get(amount=700).document.count(ident) == 1
    assert [Agreement.objects.get(pk=each).receipt for each in (ident, newer)] == [
        provider.charges()[0]["id"],
        None,
    ]


@pytest.mark.parametrize("end", ["decline", "refuse"])
def test_an_agreement_is_free_again_when_its_payment_comes_to_nothing(
    provider: TestProvider, end: str
) -> None:
    broken = [end == "refuse"]

    def till(inp: Any, ctx: Any) -> Any:
        charge = agreed_till(inp, ctx)
        if broken[0]:
            raise AgentError("closed", "The shop has just closed.")
        return charge

    caller = buyer()
    ident = agreeing(caller)
    provider.script(*(["decline"] if end == "decline" else []))
    with selling(till):
        refused(lambda: sell(caller))
        assert [row.document for row in Receipt.objects.all() if ident in row.document] == []
        broken[0] = False
        assert answer(sell(caller, number=2))["agreement"] == ident
    assert provider.taken() == 700
