"""Negotiating: offers travel as exact texts, and an agreement is believed only when it is the site's and ours."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from agentweb.client import AgentClient
from agentweb.wire.agreements import build_agreement
from agentweb.wire.errors import AgentError
from agentweb.wire.signing import SigningKey, jwk
from tests.client.conftest import AGENT
from tests.client.site import Reply, Site, error
from tests.client.test_receipts import SITE_KEY

Grant = Callable[..., str]
TALK, ONE = "/agent-actions/negotiation", "/agent-actions/negotiation/ng_1"
TERMS = {"product_id": "sku-1", "quantity": 2}


@pytest.fixture
def paying(site: Site, grant: Grant) -> str:
    site.manifest["endpoints"] = {"negotiation": TALK}
    site.manifest["keys"] = [jwk(SITE_KEY.public)]
    grant("look:x")
    return grant("checkout", spending=("USD", 200_00, 200_00))


def standing(state: str, round: int, **more: Any) -> Reply:
    return Reply(
        200,
        {
            "id": "ng_1",
            "state": state,
            "terms": TERMS,
            "currency": "USD",
            "offer": {"by": "site", "price": "90.00"},
            "round": round,
            "rounds_left": 5 - round,
            "expires": 1_790_000_900,
            "agreement": None,
            **more,
        },
    )


def agreement(shop: Site, root: str, **changes: Any) -> dict[str, Any]:
    members: dict[str, Any] = {
        "key": SITE_KEY,
        "id": "ag_" + "A" * 22,
        "site": shop.authority,
        "agent": AGENT.public,
        "root": root,
        "terms": TERMS,
        "price": 85_00,
        "currency": "USD",
        "issued_at": 1_790_000_500,
        "expires": 1_790_004_000,
    }
    return build_agreement(**(members | changes))


def test_offer_counter_and_acceptance_under_the_grant_that_can_pay(
    site: Site, client: AgentClient, paying: str
) -> None:
    site.script(TALK, standing("countered", 1))
    site.script(ONE, standing("countered", 2), standing("accepted", 2, agreement=agreement(site, paying)))
    first = client.negotiate(site.url, TERMS, 80, "USD", note="for the office")
    assert (first.state, first.round, first.offer) == ("countered", 1, {"by": "site", "price": "90.00"})
    done = first.counter("85").accept()
    assert (done.state, done.agreement is not None) == ("accepted", True)
    sent = [seen.json for seen in site.calls("/agent-actions/")]
    assert sent == [
        {"terms": TERMS, "price": "80.00", "currency": "USD", "note": "for the office"},
        {"offer": "85.00"},
        {"accept": 2},
    ]
    for seen in site.calls("/agent-actions/"):
        assert site.signer_of(seen) == AGENT.public
        assert seen.headers["agent-grant"] == client.keystore.chains[1].header


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"key": SigningKey.generate()}, "unknown_key"),
        ({"site": "other.example"}, "site"),
        ({"root": "gr_" + "B" * 22}, "buyer"),
        ({"agent": SigningKey.generate().public}, "buyer"),
    ],
    ids=["key", "site", "root", "agent"],
)
def test_an_agreement_that_is_not_the_site_s_with_us_is_refused(
    site: Site, client: AgentClient, paying: str, changes: dict[str, Any], reason: str
) -> None:
    signed = agreement(site, changes.get("root", paying), **{k: v for k, v in changes.items() if k != "root"})
    site.script(TALK, standing("accepted", 1, agreement=signed))
    with pytest.raises(AgentError) as caught:
        client.negotiate(site.url, TERMS, 90, "USD")
    assert (caught.value.code, caught.value.extra["reason"]) == ("response_invalid", reason)


def test_a_stale_acceptance_a_rejection_and_going_on_later(
    site: Site, client: AgentClient, paying: str
) -> None:
    site.script(
        ONE,
        standing("countered", 2),
        error(409, "negotiation_changed", round=3),
        standing("rejected", 3),
    )
    found = client.negotiation(site.url, "ng_1", "USD")
    with pytest.raises(AgentError) as caught:
        found.accept(1)
    assert (caught.value.code, caught.value.extra["round"]) == ("negotiation_changed", 3)
    assert found.reject().state == "rejected"


def test_an_amount_that_is_none_and_a_site_that_does_not_bargain(
    site: Site, client: AgentClient, paying: str
) -> None:
    for price in ("80.001", "-1", "free"):
        with pytest.raises(AgentError):
            client.negotiate(site.url, TERMS, price, "USD")
    site.manifest["endpoints"] = {}
    with pytest.raises(AgentError) as caught:
        client.negotiate(site.url, TERMS, 80, "USD")
    assert caught.value.code == "not_found"
    assert site.calls("/agent-actions/") == []
