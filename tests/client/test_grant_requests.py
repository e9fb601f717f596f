"""Asking a person for a grant through their site."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from agentweb.client import AgentClient, KeyStore
from agentweb.client.files import write_private
from agentweb.client.grant_requests import GrantRequest
from agentweb.wire.errors import AgentError
from agentweb.wire.grants import Mandate, encode_chain, new_grant
from tests.client.conftest import AGENT, PERSON
from tests.client.site import Reply, Site, Time, error, running_site

GRANTS, ONE = "/agent-actions/grants", "/agent-actions/grants/requests/gq_1"
ASKED = {
    "request_id": "gq_1",
    "user_code": "WDJB-MJHT",
    "approve_url": "https://shop.example/connect",
    "retry_after": 5,
    "expires": 1_790_000_900,
}
WAITING = Reply(202, {"request_id": "gq_1", "state": "pending", "retry_after": 5, "expires": 1_790_000_900})


@pytest.fixture(autouse=True)
def offers(site: Site) -> None:
    site.manifest["endpoints"] = {"grants": GRANTS}
    site.script(GRANTS, Reply(202, ASKED), Reply(202, {**ASKED, "request_id": "gq_2"}))


def ask(client: AgentClient, site: Site) -> GrantRequest:
    return client.request_grant(site.url, ["cart:*"], mandate="USD:10.00/30.00", reason="To shop.")


def refusal(call: Callable[[], object]) -> AgentError:
    with pytest.raises(AgentError) as caught:
        call()
    return caught.value


def test_the_same_request_asks_how_it_stands_and_brings_the_grant(
    site: Site, client: AgentClient, time: Time
) -> None:
    asked = ask(client, site)
    assert asked.as_dict() == {name: ASKED[name] for name in asked.as_dict()}
    (seen,) = site.calls(GRANTS)
    assert seen.json == {
        "scopes": ["cart:*"],
        "mandate": {"currency": "USD", "per_tx": "10.00", "total": "30.00"},
        "expires_in": 86_400,
        "reason": "To shop.",
    }
    assert site.signer_of(seen) == AGENT.public
    given = new_grant(
        issuer=PERSON,
        subject=AGENT.public,
        audience=site.authority,
        scopes=["cart:write"],
        not_before=int(time.now),
        expires=int(time.now) + 3_600,
        mandate=Mandate("USD", 5_00, 5_00),
    )
    approved = {
        "request_id": "gq_1",
        "state": "approved",
        "grant": given,
        "header": encode_chain([given]),
    }
    site.script(ONE, WAITING, Reply(200, approved))
    still = ask(client, site)
    assert (still.grant, still.user_code, still.approve_url) == (None, "WDJB-MJHT", ASKED["approve_url"])
    assert ask(client, site).grant == encode_chain([given])
    assert [held["scopes"] for held in client.grants()] == [["cart:write"]]
    # It is over: the next is a new one.
    assert ask(client, site).id == "gq_2"


@pytest.mark.parametrize(
    ("status", "code"), [(403, "approval_denied"), (410, "request_expired"), (404, "not_found")]
)
def test_a_request_that_is_over_is_forgotten(site: Site, client: AgentClient, status: int, code: str) -> None:
    ask(client, site)
    site.script(ONE, error(status, code))
    assert refusal(lambda: ask(client, site)).code == code
    assert client.grants() == []
    assert ask(client, site).id == "gq_2"


def test_a_grant_for_another_key_is_not_kept(site: Site, client: AgentClient, time: Time) -> None:
    ask(client, site)
    other = new_grant(
        issuer=PERSON,
        subject=PERSON.public,
        audience=site.authority,
        scopes=["*"],
        not_before=int(time.now),
        expires=int(time.now) + 3_600,
    )
    site.script(ONE, Reply(200, {"request_id": "gq_1", "state": "approved", "grant": other}))
    assert refusal(lambda: ask(client, site)).code == "grant_invalid"
    assert client.grants() == []


def test_a_mandate_that_is_none_is_said_before_anything_is_sent(site: Site, client: AgentClient) -> None:
    caught = refusal(lambda: client.request_grant(site.url, ["cart:*"], mandate="ten dollars"))
    assert (caught.code, caught.field) == ("invalid_input", "mandate")
    assert site.seen[1:] == []


@pytest.mark.parametrize(
    "answer",
    [Reply(200, {"request_id": "gq_1", "state": "cancelled"}), Reply(204, body=b"")],
    ids=["told", "empty"],
)
def test_a_request_that_is_taken_back_is_a_new_one_the_next_time(
    site: Site, client: AgentClient, answer: Reply
) -> None:
    asked = ask(client, site)
    site.script(ONE, answer)
    client.take_back_request(site.url, asked.id)
    (seen,) = site.calls(ONE)
    assert (seen.method, seen.body, site.signer_of(seen)) == ("DELETE", b"", AGENT.public)
    assert ask(client, site).id == "gq_2"


def test_a_lost_answer_to_taking_back_is_asked_for_again(site: Site, client: AgentClient) -> None:
    asked = ask(client, site)
    done = {"request_id": "gq_1", "state": "cancelled"}
    site.script(ONE, Reply(200, done, drop=True), Reply(200, done))
    client.take_back_request(site.url, asked.id)
    assert [seen.method for seen in site.calls(ONE)] == ["DELETE", "DELETE"]


@pytest.mark.parametrize(
    ("status", "code", "next_id"),
    [(409, "conflict", "gq_1"), (403, "approval_denied", "gq_2"), (404, "not_found", "gq_2")],
)
def test_what_was_decided_is_not_taken_back_and_only_what_brings_a_grant_is_kept(
    site: Site, client: AgentClient, status: int, code: str, next_id: str
) -> None:
    asked = ask(client, site)
    site.script(ONE, error(status, code), WAITING)
    assert refusal(lambda: client.take_back_request(site.url, asked.id)).code == code
    assert ask(client, site).id == next_id


def test_the_request_of_another_site_with_the_same_id_stays(site: Site, client: AgentClient) -> None:
    ask(client, site)
    with running_site() as other:
        other.manifest["endpoints"] = {"grants": GRANTS}
        other.script(ONE, Reply(200, {"request_id": "gq_1", "state": "cancelled"}))
        client.take_back_request(other.url, "gq_1")
    site.script(ONE, WAITING)
    assert ask(client, site).id == "gq_1"


def test_a_damaged_request_beside_it_does_not_stand_in_the_way(
    site: Site, client: AgentClient, keystore: KeyStore
) -> None:
    asked = ask(client, site)
    folder = keystore.path.with_name(f"{keystore.path.name}.requests")
    write_private(folder / "damaged.json", b"{}", replace=True)
    site.script(ONE, Reply(200, {"request_id": "gq_1", "state": "cancelled"}))
    client.take_back_request(site.url, asked.id)
    assert [path.name for path in folder.iterdir()] == ["damaged.json"]


def test_where_nobody_asks_nothing_is_taken_back(site: Site, client: AgentClient) -> None:
    site.manifest["endpoints"] = {}
    caught = refusal(lambda: client.take_back_request(site.url, "gq_1"))
    assert (caught.code, site.seen[1:]) == ("not_found", [])
