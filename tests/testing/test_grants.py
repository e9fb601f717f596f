"""Grants for the tests of a site: of the site, of a person, handed on, and as a session."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.models import User

from agentweb import action
from agentweb.access.models import Grant
from agentweb.testing import PersonKey, TestAgent, catalog, clock, grant
from agentweb.wire.errors import AuthenticationError, InputError
from agentweb.wire.signing import SigningKey

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def shop() -> Any:
    with catalog.only():

        @action("read_cart", scope="cart:read")
        def read_cart(_: None, ctx: Any) -> Any:
            """Read the cart."""
            return {"user": ctx.user.get_username(), "kind": ctx.caller.kind}

        @action("fill_cart", effect="write", scope="cart:write")
        def fill_cart(_: None, ctx: Any) -> Any:
            """Fill the cart."""
            return {"filled": True}

        yield


def code_of(answer: Any) -> str:
    return str(answer.json()["error"]["code"])


@pytest.fixture
def person() -> User:
    return User.objects.create(username="ada")


def test_a_grant_of_the_site_is_for_whoever_holds_the_key(person: User) -> None:
    agent = TestAgent()
    given = grant(agent, ["cart:*"], user=person, spending="USD:5.00/9.00", delegate=1, note="For the test")
    assert [each.id for each in given.chain] == [given.id]
    assert (given.chain[0].subject, given.chain[0].delegate) == (agent.key.public, 1)
    assert code_of(agent.get("/agent/read_cart")) == "grant_required"
    agent.act_under(given)
    assert agent.grant is given
    assert agent.get("/agent/read_cart").json() == {"user": "ada", "kind": "agent"}
    assert given.revoke() is True
    assert code_of(agent.get("/agent/read_cart")) == "grant_revoked"


@pytest.mark.parametrize("holder", ["agent", "key", "text"])
def test_a_holder_is_an_agent_a_key_or_its_text(holder: str) -> None:
    key = SigningKey.generate()
    held = {"agent": TestAgent(key=key), "key": key, "text": key.public}[holder]
    assert grant(held, ["cart:read"]).chain[0].subject == key.public


def test_what_the_site_would_not_issue_is_not_issued() -> None:
    with pytest.raises(InputError, match="problem"):
        grant("nobody", ["Cart"], expires_in=0)
    assert not Grant.objects.exists()


def test_an_agent_hands_a_narrower_grant_on() -> None:
    first = TestAgent(scopes=["cart:*"], delegate=1)
    second = TestAgent()
    handed = first.delegate_to(second, scopes=["cart:read"], expires_in=60)
    assert [each.subject for each in handed.chain] == [first.key.public, second.key.public]
    assert second.get("/agent/read_cart").status_code == 200
    assert code_of(second.post("/agent/fill_cart")) == "insufficient_scope"
    with clock() as time:
        time.forward(61)
        assert code_of(second.get("/agent/read_cart")) == "grant_expired"
        assert first.get("/agent/read_cart").status_code == 200


def test_more_than_one_has_cannot_be_handed_on() -> None:
    agent = TestAgent(scopes=["cart:read"], delegate=1)
    with pytest.raises(AuthenticationError, match="scope cart:write"):
        agent.delegate_to(SigningKey.generate(), scopes=["cart:write"])
    with pytest.raises(AuthenticationError, match="delegate must be smaller"):
        TestAgent(scopes=["cart:read"]).delegate_to(SigningKey.generate().public)
    with pytest.raises(RuntimeError, match="no grant to hand on"):
        TestAgent().delegate_to(agent)


def test_a_person_gives_a_grant_that_the_site_has_not_seen(person: User) -> None:
    agent, key = TestAgent(), PersonKey(person, label="laptop")
    agent.act_under(key.grant(agent, ["cart:read"], spending="USD:5.00/9.00", delegate=1))
    assert not Grant.objects.exists()
    assert agent.get("/agent/read_cart").json() == {"user": "ada", "kind": "agent"}
    helper = TestAgent()
    agent.delegate_to(helper)
    assert helper.get("/agent/read_cart").json()["user"] == "ada"
    assert key.revoke("Laptop lost") is True
    assert agent.get("/agent/read_cart").status_code == helper.get("/agent/read_cart").status_code == 401


def test_a_key_belongs_to_one_person(person: User) -> None:
    key = PersonKey(person).key
    with pytest.raises(InputError):
        PersonKey(User.objects.create(username="bob"), key=key)


def test_a_session_is_shown_by_its_token(person: User) -> None:
    agent = TestAgent.with_session(scopes=["cart:read"], user=person, client_name="Claude")
    assert agent.session is not None
    assert agent.session.client_name == "Claude"
    assert "Signature" not in agent.signed_headers("GET", "/agent/read_cart")
    assert agent.get("/agent/read_cart").json() == {"user": "ada", "kind": "session"}
    assert code_of(agent.post("/agent/fill_cart")) == "insufficient_scope"
    with clock() as time:
        time.forward(3_601)
        assert code_of(agent.get("/agent/read_cart")) == "session_expired"
