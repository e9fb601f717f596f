"""What `manage.py check` says of payments and refunds, and what the doctor sees."""

from __future__ import annotations

from typing import Any

import pytest

from agentweb.checks import check_settings
from agentweb.conf import runs
from agentweb.doctor.money_probes import unsettled_payments
from agentweb.ledger.checks import check_money
from agentweb.models import Payment
from agentweb.testing import clock
from tests.ledger.test_settling import lost
from tests.support.payments import PATH, provider

__all__ = ["provider"]


def nothing(receipt: Any, amount: Any) -> str:
    return "approve"


async def later(receipt: Any, amount: Any, ctx: Any) -> str:
    return "approve"


def found(settings: Any, **values: Any) -> list[str | None]:
    settings.AGENTWEB = {"ORIGIN": "https://shop.example", **values}
    return [each.id for each in check_money(None)]


@pytest.fixture
def production(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the checks see where no test runs."""
    monkeypatch.setattr(runs, "is_test", lambda: False)


@pytest.mark.usefixtures("production")
@pytest.mark.parametrize(
    ("path", "ids"),
    [
        ("nowhere.Provider", ["agentweb.E045"]),
        ("tests.support.payments.nothing", ["agentweb.E045"]),
        ("builtins.dict", ["agentweb.E045"]),
        ("agentweb.ledger.providers.PaymentProvider", ["agentweb.E045"]),
        (PATH, []),
        ("agentweb.testing.payments.TestProvider", ["agentweb.W045"]),
    ],
)
def test_a_provider_that_is_none_and_one_that_takes_no_money_are_told(
    settings: Any, path: str, ids: list[str]
) -> None:
    assert found(settings, PAYMENTS=path) == ids


def test_the_test_provider_may_be_used_in_a_test_run(settings: Any) -> None:
    assert settings.DEBUG is False
    assert found(settings, PAYMENTS="agentweb.testing.payments.TestProvider") == []


@pytest.mark.usefixtures("production")
def test_the_test_provider_may_be_tried_under_debug(settings: Any) -> None:
    settings.DEBUG = True
    assert found(settings, PAYMENTS="agentweb.testing.payments.TestProvider") == []


@pytest.mark.parametrize("name", ["gone", "nothing", "later", "PATH"])
def test_a_policy_that_cannot_decide_is_told(settings: Any, name: str) -> None:
    assert found(settings, REFUND_POLICY=f"tests.ledger.test_checks.{name}") == ["agentweb.E046"]


def test_a_policy_that_can_is_fine(settings: Any) -> None:
    assert found(settings, REFUND_POLICY="tests.agent_actions.test_refunds.policy") == []


@pytest.mark.parametrize("key", ["PAYMENTS", "REFUND_POLICY"])
def test_what_is_no_dotted_path_is_a_bad_value(settings: Any, key: str) -> None:
    assert found(settings, **{key: 5}) == []
    assert [each.id for each in check_settings()] == ["agentweb.E002"]


@pytest.mark.django_db(transaction=True)
def test_the_doctor_warns_when_nobody_settles_payments(provider: Any, settings: Any) -> None:
    site: Any = None
    assert list(unsettled_payments(site) or []) == []
    with clock() as time:
        lost("lost")
        assert list(unsettled_payments(site) or []) == []
        time.forward(3 * 3_600)
        [problem] = unsettled_payments(site) or []
        assert "1 payments and 0 refunds" in problem.text
    Payment.objects.all().delete()
    settings.AGENTWEB = {**settings.AGENTWEB, "PAYMENTS": None}
    assert unsettled_payments(site) is None
