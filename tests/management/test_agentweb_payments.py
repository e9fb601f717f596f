"""``manage.py agentweb_payments``: what is due is settled, what is open is listed."""

from __future__ import annotations

import io
import json
import logging
from datetime import UTC, datetime
from typing import Any

import pytest
from django.core.management import call_command

from agentweb import beat, tasks, upkeep
from agentweb.models import Payment
from agentweb.testing import clock
from tests.ledger.test_settling import lost
from tests.support.payments import provider

__all__ = ["provider"]

pytestmark = pytest.mark.django_db(transaction=True)


def said(*arguments: str) -> str:
    out = io.StringIO()
    call_command("agentweb_payments", *arguments, stdout=out)
    return out.getvalue()


def test_what_is_open_is_listed_and_nobody_is_asked(provider: Any) -> None:
    lost("lost")
    payment = Payment.objects.get()
    asked = len(provider.calls())
    told = json.loads(said("--list", "--json"))
    assert told["ended"] == {}
    [row] = told["open"]
    assert (row["id"], row["state"], row["amount"], row["what"]) == (
        payment.id,
        "pending",
        "10.00",
        "pay: lost",
    )
    assert payment.id in said("--list")
    assert len(provider.calls()) == asked


def test_what_is_due_is_settled(provider: Any) -> None:
    with clock() as time:
        lost("lost")
        time.forward(2 * 3_600)
        assert said().splitlines() == ["1 payment done", "0 open"]
    assert provider.taken() == 0


def test_several_are_told_in_the_plural_and_times_as_people_write_them(provider: Any) -> None:
    with clock(datetime(2027, 1, 31, 9, 0, tzinfo=UTC).timestamp()) as time:
        lost("timeout")
        lost("timeout")
        assert "  2027-01-31 09:00:00 UTC  pay: timeout" in said("--list")
        time.forward(2 * 3_600)
        assert said().splitlines() == ["2 payments cancelled", "0 open"]


def test_what_is_named_is_looked_at_now(provider: Any) -> None:
    lost("lost")
    payment = Payment.objects.get()
    assert "captured" in said(payment.id, "rc_unknown", "rf_unknown")


def test_the_task_of_celery_does_the_same(provider: Any) -> None:
    with clock() as time:
        lost("lost")
        time.forward(2 * 3_600)
        assert tasks.payments() == {"ended": {"payment_done": 1}, "left": 0}
    assert tasks.payments.ignore_result
    assert beat.SCHEDULE["agentweb-payments"]["schedule"] == 30


def test_a_worker_settles_them_in_its_turn(provider: Any, caplog: pytest.LogCaptureFixture) -> None:
    with clock() as time:
        lost("lost")
        time.forward(2 * 3_600)
        with caplog.at_level(logging.INFO, "agentweb.worker"):
            out = io.StringIO()
            call_command("agentweb_worker", "--once", stdout=out)
            assert out.getvalue().endswith("; settled: 1 payment done\n")
            out = io.StringIO()
            call_command("agentweb_worker", "--once", "--json", stdout=out)
            assert json.loads(out.getvalue())["settled"] == {}
        assert "Settled: 1 payment done" in caplog.text
        assert upkeep.settle_payments_if_due(lambda: False) is not None
        assert upkeep.settle_payments_if_due(lambda: False) is None, "somebody did just now"
        assert upkeep.settle_payments_if_due(lambda: True) is None


def test_payments_that_came_to_nothing_are_cleared_with_the_audit_rows_of_their_time(provider: Any) -> None:
    with clock() as time:
        lost("timeout")
        time.forward(2 * 3_600)
        said()
        assert upkeep.clear_expired()["payments"] == 0
        time.forward(91 * 86_400)
        assert upkeep.clear_expired()["payments"] == 1
