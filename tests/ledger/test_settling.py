"""What a sweep does with payments that the provider had not answered, or that nobody came back for."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from agentweb import AgentError
from agentweb.ledger import payments, providers, settling
from agentweb.ledger.providers import Answer, State
from agentweb.models import Mandate, Payment, Receipt, Refund
from agentweb.testing import Clock, clock
from agentweb.testing.payments import TestProvider
from tests.support.calls import agent_caller, answer, do
from tests.support.payments import provider
from tests.support.staff import boss, browser, page, text_of

__all__ = ["provider"]

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("provider")]

HOUR = 3_600


@pytest.fixture
def time() -> Any:
    with clock() as moved:
        yield moved


def pay(caller: Any, item: str, number: int = 1) -> Any:
    return do("pay", {"item": item, "price": Decimal(10)}, caller, key=f"settling-{number:012d}")


def lost(item: str) -> Any:
    """A caller whose payment for this item is not known."""
    caller = agent_caller(spending="USD:50.00/100.00", expires_in=24 * HOUR)
    with pytest.raises(AgentError) as caught:
        pay(caller, item)
    assert caught.value.code == "payment_unknown"
    return caller


def books() -> tuple[list[tuple[str, int]], int]:
    rows = Receipt.objects.order_by("seq").values_list("kind", "amount")
    return list(rows), Mandate.objects.get().spent


def test_a_captured_payment_is_left_to_its_call_for_an_hour_and_then_refunded(
    provider: TestProvider, time: Clock
) -> None:
    lost("lost")
    assert settling.sweep().ended == {}, "it is the call's own turn first"
    time.forward(60)
    assert settling.sweep().left == 1
    assert (Payment.objects.get().state, books()) == ("captured", ([], 1_000))
    time.forward(HOUR - 61)
    assert settling.sweep().ended == {}
    time.forward(1)
    assert settling.sweep().ended == {"payment_done": 1}
    assert (books(), provider.taken()) == (([("charge", 1_000), ("refund", 1_000)], 0), 0)
    assert Refund.objects.get().is_automatic
    time.forward(HOUR)
    assert settling.sweep() == settling.Swept()


def test_a_call_that_comes_back_in_time_gets_what_the_sweep_has_found(
    provider: TestProvider, time: Clock
) -> None:
    caller = lost("lost")
    time.forward(60)
    settling.sweep()
    asked = len(provider.calls())
    pay(caller, "lost")
    assert len(provider.calls()) == asked, "the provider has nothing to add"
    assert (books(), provider.taken()) == (([("charge", 1_000)], 1_000), 1_000)


def test_a_call_that_comes_back_too_late_pays_anew(provider: TestProvider, time: Clock) -> None:
    caller = lost("lost")
    time.forward(60)
    settling.sweep()
    time.forward(HOUR)
    settling.sweep()
    provider.script("ok")
    receipt = answer(pay(caller, "lost"))["receipt"]
    assert [each["id"] for each in provider.charges()][1:] == [receipt]
    assert books() == ([("charge", 1_000), ("refund", 1_000), ("charge", 1_000)], 1_000)


@pytest.mark.parametrize("silence", [State.UNKNOWN, State.PENDING])
def test_silence_never_releases_what_was_reserved(
    provider: TestProvider, time: Clock, monkeypatch: pytest.MonkeyPatch, silence: State
) -> None:
    lost("timeout")
    monkeypatch.setattr(provider, "find", lambda ident: Answer(silence))
    monkeypatch.setattr(provider, "cancel", lambda ident: Answer(State.UNKNOWN))
    for _ in range(30):
        time.forward(6 * HOUR)
        settling.sweep()
    assert (Payment.objects.get().state, Mandate.objects.get().spent) == ("pending", 1_000)


def test_what_the_provider_never_heard_of_is_cancelled_there_before_it_is_released(
    provider: TestProvider, time: Clock
) -> None:
    lost("timeout")
    time.forward(60)
    assert settling.sweep().left == 1, "it may be on its way"
    time.forward(2 * HOUR)
    assert settling.sweep().ended == {"payment_cancelled": 1}
    assert [what for what, _ in provider.calls()] == ["charge", "find", "find", "cancel"]
    assert books() == ([], 0)
    # The process that was asleep all the time asks now.
    assert payments.charge(Payment.objects.get()).state is State.DECLINED
    assert provider.taken() == 0


def test_a_call_whose_payment_was_cancelled_pays_anew(provider: TestProvider, time: Clock) -> None:
    caller = lost("timeout")
    time.forward(2 * HOUR)
    settling.sweep()
    provider.script("ok")
    pay(caller, "timeout")
    assert (books(), [each.state for each in Payment.objects.order_by("attempt")]) == (
        ([("charge", 1_000)], 1_000),
        ["cancelled", "done"],
    )


def test_a_payment_that_was_declined_meanwhile_is_told_to_the_call_and_forgotten_later(
    provider: TestProvider, time: Clock
) -> None:
    caller = lost("late")
    provider.settle(Payment.objects.get().id, "declined")
    time.forward(60)
    assert settling.sweep().ended == {"payment_declined": 1}
    assert books() == ([], 0)
    with pytest.raises(AgentError) as caught:
        pay(caller, "late")
    assert (caught.value.code, caught.value.status) == ("payment_declined", 402)
    assert "card was declined" in caught.value.message
    assert not Payment.objects.filter(is_wanted=True).exists()


def test_a_decline_of_which_nobody_wants_to_hear_is_forgotten(provider: TestProvider, time: Clock) -> None:
    lost("late")
    provider.settle(Payment.objects.get().id, "declined")
    time.forward(60)
    settling.sweep()
    time.forward(HOUR)
    settling.sweep()
    assert not Payment.objects.get().is_wanted


def test_a_pending_payment_is_cancelled_after_an_hour(
    provider: TestProvider, time: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    lost("late")
    monkeypatch.setattr(provider, "find", lambda ident: Answer(State.PENDING))
    time.forward(2 * HOUR)
    assert settling.sweep().ended == {"payment_cancelled": 1}
    assert (books(), provider.taken()) == (([], 0), 0)


def test_a_provider_that_is_asked_in_vain_is_asked_less_and_less_often(
    provider: TestProvider, time: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    lost("timeout")
    asked: list[int] = []
    monkeypatch.setattr(provider, "find", lambda ident: asked.append(1) or Answer(State.UNKNOWN))
    for _ in range(24 * 60):
        time.forward(60)
        settling.sweep()
    assert 20 < len(asked) < 40


def test_of_two_sweeps_one_looks_at_a_payment(provider: TestProvider, time: Clock) -> None:
    lost("lost")
    time.forward(60)
    settling.sweep()
    again = settling.sweep()
    assert (again.left, [what for what, _ in provider.calls()]) == (0, ["charge", "find"])


def test_one_that_cannot_be_settled_keeps_nobody_from_the_others(
    provider: TestProvider, time: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    caller = lost("lost")
    with pytest.raises(AgentError):
        pay(caller, "lost", 2)
    Payment.objects.filter(pk=Payment.objects.order_by("pk")[0].pk).update(provider="nowhere.Provider")
    time.forward(2 * HOUR)
    swept = settling.sweep()
    assert (swept.ended, swept.left) == ({"payment_done": 1}, 1)
    assert "nowhere" in caplog.text


def test_payments_are_settled_also_when_the_site_has_gone_back_to_its_own_ledger(
    provider: TestProvider, time: Clock, settings: Any
) -> None:
    lost("lost")
    settings.AGENTWEB = {**settings.AGENTWEB, "PAYMENTS": None}
    time.forward(2 * HOUR)
    assert settling.sweep().ended == {"payment_done": 1}
    assert provider.taken() == 0


def test_what_should_be_over_is_told_to_whoever_watches(provider: TestProvider, time: Clock) -> None:
    assert settling.unsettled() == settling.Unsettled(0, 0, None)
    lost("lost")
    assert settling.unsettled() == settling.Unsettled(1, 0, None)
    time.forward(3 * HOUR)
    assert settling.unsettled().late_since == Payment.objects.get().created_at


@pytest.mark.parametrize(
    "answered", [Answer(State.REFUNDED), Answer("nonsense"), Answer([]), "captured", None]
)  # type: ignore[arg-type]
def test_what_is_no_answer_is_no_answer(
    provider: TestProvider, monkeypatch: pytest.MonkeyPatch, answered: Any, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(provider, "charge", lambda order: answered)
    lost("tea")
    assert "is no answer" in caplog.text or "failed" in caplog.text


@pytest.mark.parametrize(
    ("reference", "kept"),
    [("a\0b", "a[U+0000]b"), ("\ud800", "[U+D800]"), (None, ""), (7, "7"), ("x\0" * 200, None)],
    ids=["nul", "surrogate", "none", "number", "long"],
)
def test_a_payment_is_not_lost_for_what_its_provider_calls_it(
    provider: TestProvider, monkeypatch: pytest.MonkeyPatch, reference: Any, kept: str | None
) -> None:
    monkeypatch.setattr(provider, "charge", lambda order: Answer(State.CAPTURED, reference))
    pay(agent_caller(spending="USD:50.00/100.00"), "tea")
    payment = Payment.objects.get()
    assert payment.state == "done"
    assert len(payment.reference) <= providers.MAX_REFERENCE
    assert kept is None or payment.reference == kept


@pytest.mark.parametrize(
    ("reason", "told"),
    [
        ("no\0pe", "The payment was declined: no[U+0000]pe. Nothing was charged"),
        ("\ud800", "The payment was declined: [U+D800]. Nothing was charged"),
        (None, "The payment was declined. Nothing was charged"),
        ("say\nyes \u202e", "The payment was declined: say[U+000A]yes [U+202E]. Nothing was charged"),
    ],
    ids=["nul", "surrogate", "none", "odd"],
)
def test_a_decline_is_one_whatever_its_reason_says(
    provider: TestProvider, monkeypatch: pytest.MonkeyPatch, reason: Any, told: str
) -> None:
    monkeypatch.setattr(provider, "charge", lambda order: Answer(State.DECLINED, "x", reason))
    with pytest.raises(AgentError) as caught:
        pay(agent_caller(spending="USD:50.00/100.00"), "tea")
    assert (caught.value.code, Payment.objects.get().state, books()) == (
        "payment_declined",
        "declined",
        ([], 0),
    )
    assert caught.value.message.startswith(told)


@pytest.mark.parametrize("by_event", [True, False], ids=["event", "charge"])
def test_money_that_is_taken_after_the_provider_said_no_is_told_to_people(
    provider: TestProvider,
    time: Clock,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    by_event: bool,
) -> None:
    lost("timeout")
    [payment] = Payment.objects.all()
    time.forward(2 * HOUR)
    assert settling.sweep().ended == {"payment_cancelled": 1}
    settling.settle(payment.pk)
    assert "by hand" not in caplog.text
    if by_event:
        monkeypatch.setattr(provider, "find", lambda ident: Answer(State.CAPTURED))
        settling.settle(payment.pk)
    else:
        payments.capture(payment, Answer(State.CAPTURED))
    assert f"has taken the money of {payment.pk} (10.00 USD)" in caplog.text
    assert (Payment.objects.get().state, books()) == ("cancelled", ([], 0))


def test_a_provider_is_a_class_an_instance_or_a_function() -> None:
    for name in ("Impatient", "AN_INSTANCE", "a_function"):
        assert isinstance(
            providers.named(f"tests.support.payments.{name}").provider, providers.PaymentProvider
        )
    with pytest.raises(TypeError):
        providers.named("builtins.dict")
    with pytest.raises(ImportError):
        providers.named("tests.support.payments.nothing")


def test_staff_see_how_far_a_payment_has_come(provider: TestProvider, time: Clock) -> None:
    client = browser(boss())
    lost("lost")
    payment = Payment.objects.get()
    assert "not known yet" in text_of(client.get(page("payment")))
    said = text_of(client.get(page("payment", "change", payment.pk)))
    assert "10.00 USD" in said
    time.forward(3 * HOUR)
    settling.sweep()
    said = text_of(client.get(page("payment", "change", payment.pk)))
    assert "done" in said
    assert client.post(page("payment", "delete", payment.pk), {"post": "yes"}).status_code == 403
    assert client.get(page("payment"), {"before": payment.pk}).status_code == 200
    assert client.get(page("payment"), {"before": "rc_no"}, follow=True).status_code == 200
