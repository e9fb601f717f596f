"""An agent buys over real HTTP what others change while it is being paid."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from agentweb import action
from agentweb.access import grants
from agentweb.client import AgentClient, ApprovalPolicy, KeyStore, SiteError
from agentweb.testing import mandate
from agentweb.testing.payments import TestProvider
from agentweb.wire.signing import SigningKey
from tests.support.payments import provider
from tests.support.web_fixtures import catalog, many_callers

__all__ = ["catalog", "many_callers", "provider"]

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("catalog", "many_callers")]

PRICES = ["5.00", "6.00", "7.00", "9.00"]
"""What the cart costs in one run after another; then it stays as it is."""


@pytest.fixture
def shop(request: pytest.FixtureRequest, settings: Any, provider: TestProvider) -> str:
    # Django's live server serves the files of an app too, and has to be told from where.
    settings.STATIC_URL = "/unused/"
    origin = str(request.getfixturevalue("live_server").url)
    settings.AGENTWEB = {**settings.AGENTWEB, "ORIGIN": origin}
    prices = iter(PRICES)

    @action(
        effect="spend",
        scope="checkout",
        cost={"amount": "9.00", "currency": "USD"},
        description="Order the cart.",
        input={"type": "object"},
    )
    def checkout(inp: Any, ctx: Any) -> Any:
        return ctx.charge(next(prices, PRICES[-1]), "USD", item="cart")

    return origin


@pytest.fixture
def agent(shop: str, tmp_path: Path) -> Iterator[AgentClient]:
    store = KeyStore(tmp_path / "agent.json", key=SigningKey.generate())
    chain = grants.issue(
        subject=store.key.public,
        scopes=["checkout"],
        expires_in=3_600,
        site=shop.removeprefix("http://"),
        mandate=mandate("USD:10.00/20.00"),
    )
    with AgentClient(store, approval=ApprovalPolicy.never_ask()) as client:
        client.add_grant([grant.document for grant in chain])
        yield client


def test_who_buys_what_keeps_changing_is_told_to_look_again_gets_all_back_and_may_buy_it_then(
    shop: str, agent: AgentClient, provider: TestProvider
) -> None:
    with pytest.raises(SiteError) as refused:
        agent.call_action(shop, "checkout", {})
    assert (refused.value.code, refused.value.status) == ("conflict", 409)
    assert (provider.taken(), agent.pending()) == (0, [])

    agent.call_action(shop, "checkout", {})
    assert provider.taken() == 900
    booked = [(each["kind"], each["amount"]) for each in agent.receipts(shop)]
    assert sorted(booked) == [
        ("charge", "5.00"), ("charge", "7.00"), ("charge", "9.00"), ("refund", "5.00"), ("refund", "7.00"),
    ]  # fmt: skip
    [held] = agent.grants()
    assert Decimal(held["mandate"]["remaining"]) == 11
