"""An agent bargains with a site of this package over real HTTP, and pays what was agreed on."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from agentweb import action
from agentweb.access import grants, site_keys
from agentweb.client import AgentClient, AgentError, ApprovalPolicy, KeyStore, SiteError
from agentweb.client.command_line import main
from agentweb.testing import mandate
from agentweb.wire.signing import SigningKey
from tests.support.web_fixtures import catalog, many_callers

__all__ = ["catalog", "many_callers"]

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("catalog", "many_callers")]

TERMS = {"product_id": "sku-1", "quantity": 2}
ORDER = {"product_id": "sku-1", "quantity": 2, "price": Decimal("100.00")}


@pytest.fixture
def shop(request: pytest.FixtureRequest, settings: Any) -> str:
    """The origin of a shop that sells two of something for 100, and bargains down to 70."""
    # Django's live server serves the files of an app too, and has to be told from where.
    settings.STATIC_URL = "/unused/"
    live_server = request.getfixturevalue("live_server")
    settings.AGENTWEB = {
        **settings.AGENTWEB,
        "ORIGIN": live_server.url,
        "NEGOTIATOR": "tests.negotiation.negotiators.bargain",
    }
    site_keys.ensure_active_key()

    @action(
        effect="spend",
        scope="checkout",
        cost={"field": "price", "currency": "USD"},
        description="Buy two of it.",
        input={
            "type": "object",
            "required": ["product_id", "quantity", "price"],
            "properties": {
                "product_id": {"type": "string"},
                "quantity": {"type": "integer"},
                "price": {"type": "number"},
            },
        },
    )
    def buy(inp: Any, ctx: Any) -> Any:
        deal = ctx.agreement({"product_id": inp["product_id"], "quantity": inp["quantity"]})
        return ctx.charge(deal["price"] if deal else "100.00", "USD", item=inp["product_id"])

    return str(live_server.url)


@pytest.fixture
def agent(shop: str, tmp_path: Path) -> Iterator[AgentClient]:
    store = KeyStore(tmp_path / "agent.json", key=SigningKey.generate())
    with AgentClient(store, approval=ApprovalPolicy.never_ask()) as client:
        yield client


@pytest.fixture
def issue(agent: AgentClient, shop: str) -> Callable[[str], str]:
    def add(spending: str) -> str:
        chain = grants.issue(
            subject=agent.keystore.key.public,
            scopes=["checkout"],
            expires_in=3_600,
            site=shop.removeprefix("http://"),
            mandate=mandate(spending),
        )
        return agent.add_grant([grant.document for grant in chain]).id

    return add


def test_what_was_agreed_on_is_paid_once_and_the_next_time_costs_the_list_price(
    shop: str, agent: AgentClient, issue: Callable[[str], str]
) -> None:
    held = issue("USD:100.00/300.00")
    talk = agent.negotiate(shop, TERMS, 75, "USD", note="for the office")
    assert (talk.state, talk.round, talk.agreement) == ("countered", 1, None)
    assert agent.negotiate(shop, TERMS, 75, "USD") == talk
    with pytest.raises(SiteError) as lower:
        talk.counter(74)
    assert lower.value.code == "offer_invalid"
    later = talk.counter("76.50")
    assert later.round == 2
    with pytest.raises(SiteError) as stale:
        talk.accept()
    assert (stale.value.code, agent.negotiation(shop, talk.id, "USD")) == ("negotiation_changed", later)

    agreement = later.accept().agreement
    assert agreement is not None
    assert later.offer is not None
    assert (agreement["price"], agreement["terms"]) == (later.offer["price"], TERMS)
    assert later.refresh().agreement == agreement
    for _ in range(2):
        agent.call_action(shop, "buy", ORDER)
    paid = agent.receipts(shop)
    assert [each["amount"] for each in paid] == [agreement["price"], "100.00"]
    assert [each.get("agreement") for each in paid] == [agreement["id"], None]
    assert agent.keystore.site(shop.removeprefix("http://")).spent == {
        held: 100_00 + int(Decimal(agreement["price"]) * 100)
    }


def test_an_agent_of_two_grants_finds_its_negotiation_again_whichever_it_began_under(
    shop: str, agent: AgentClient, issue: Callable[[str], str]
) -> None:
    wide, narrow = issue("USD:100.00/300.00"), issue("USD:10.00/10.00")
    talk = agent.negotiate(shop, TERMS, 75, "USD")
    assert agent.negotiation(shop, talk.id, "USD") == talk
    agreement = agent.negotiation(shop, talk.id, "USD").accept().agreement
    assert agreement is not None
    assert agreement["buyer"]["root"] == wide != narrow
    with pytest.raises(AgentError) as unknown:
        agent.negotiation(shop, "ng_" + "A" * 22, "USD")
    assert unknown.value.code == "not_found"


def test_it_is_done_from_the_command_line(
    shop: str, agent: AgentClient, issue: Callable[[str], str], capsys: pytest.CaptureFixture[str]
) -> None:
    issue("USD:100.00/300.00")

    def say(*arguments: str, code: int = 0) -> Any:
        assert (
            main(["--key-store", str(agent.keystore.path), "--json", "negotiate", shop, *arguments]) == code
        )
        return json.loads(capsys.readouterr().out)

    talk = say(json.dumps(TERMS), "--price", "75.00", "--currency", "USD")
    assert say(talk["id"]) == talk
    assert say(talk["id"], "--accept", "1")["agreement"]["price"] == talk["offer"]["price"]
    assert say(talk["id"], "--reject", code=1)["error"]["code"] == "negotiation_closed"
