"""Taking grants back and handing them on, by the client, against the package's own site."""

from __future__ import annotations

from pathlib import Path

import pytest
from django.contrib.auth.models import User

from agentweb.access import grants, principals
from agentweb.client import GrantChain
from agentweb.client.agent import AgentClient
from agentweb.client.errors import SiteError
from agentweb.client.keystore import KeyStore
from agentweb.wire.errors import AgentError
from agentweb.wire.grants import encode_chain, new_grant
from agentweb.wire.signing import SigningKey
from tests.client.test_real_site import ORIGIN, agent, issue, network, refusal  # noqa: F401

pytestmark = pytest.mark.django_db


@pytest.fixture
def helper(tmp_path: Path, agent: AgentClient) -> AgentClient:  # noqa: F811
    """Another agent, that talks to the same site in this process."""
    other = AgentClient(KeyStore(tmp_path / "helper.json"), allow_hosts=["shop.example"])
    other._session.transport = agent._session.transport
    other._session.discovery = agent._session.discovery
    return other


def refused(agent: AgentClient, ident: str) -> AgentError:  # noqa: F811
    with pytest.raises(AgentError) as caught:
        agent.revoke(ORIGIN, ident)
    return caught.value


def test_a_held_grant_is_given_up(agent: AgentClient) -> None:  # noqa: F811
    held = issue(agent, "notes:*")
    agent.call_action(ORIGIN, "write_note", {"text": "hello"})
    agent.revoke(ORIGIN, held, "no longer needed")
    agent.revoke(ORIGIN, held)  # again is as good
    assert refusal(agent, "write_note", {"text": "more"}).code == "grant_required"  # nothing was sent
    assert dict(agent.keystore.state.ended) == {held: "grant_revoked"}


def test_a_grant_that_the_site_has_not_seen_is_given_up_under_itself(agent: AgentClient) -> None:  # noqa: F811
    ann = User.objects.create_user("ann")
    key, now = SigningKey.generate(), int(agent._session.clock())
    principals.enrol(ann, key.public)
    words = {"audience": "shop.example", "scopes": ["notes:*"], "not_before": now, "expires": now + 600}
    own = new_grant(issuer=key, subject=agent.public_key, **words)
    held = agent.add_grant(own).id
    agent.revoke(ORIGIN, held)
    agent.keystore.remove_grant(held)
    # Whatever the agent has forgotten, the site has not.
    with AgentClient(KeyStore(agent.keystore.path.with_name("copy.json"), key=agent.keystore.key)) as copy:
        copy._session.transport = agent._session.transport
        copy._session.discovery = agent._session.discovery
        copy.add_grant(own)
        assert refusal(copy, "write_note", {"text": "x"}).code == "grant_revoked"


def test_a_stranger_revokes_nothing(agent: AgentClient, helper: AgentClient) -> None:  # noqa: F811
    held = issue(agent, "notes:*")
    agent.call_action(ORIGIN, "write_note", {"text": "hello"})
    found = refused(helper, held)
    assert isinstance(found, SiteError)
    assert found.code == "not_allowed"


def test_less_of_a_grant_is_handed_on_and_taken_back(agent: AgentClient, helper: AgentClient) -> None:  # noqa: F811
    held = issue(agent, "notes:*", "cart:*", delegate=1, spending="USD:5.00/20.00")
    text = agent.delegate(
        held, to=helper.public_key, scopes=["notes:*"], mandate="USD:1.00/2.00", expires_in=60
    )
    given = helper.add_grant(text)
    assert given.scopes == ("notes:*",)
    assert given.mandate is not None
    assert (given.mandate.per_tx, given.mandate.total) == (100, 200)
    [chain] = helper.keystore.chains
    assert isinstance(chain, GrantChain)
    assert (chain.id, chain.leaf, chain.header) == (given.id, given, text)
    assert helper.call_action(ORIGIN, "write_note", {"text": "hello"}).grant == given.id
    agent.revoke(ORIGIN, given.id)
    assert refusal(helper, "write_note", {"text": "more"}).code == "grant_revoked"
    assert agent.call_action(ORIGIN, "write_note", {"text": "mine"}).grant == held


def test_only_less_is_handed_on(agent: AgentClient) -> None:  # noqa: F811
    other = SigningKey.generate().public
    held = issue(agent, "notes:write", delegate=1)

    def why(**words: object) -> str:
        with pytest.raises(AgentError) as caught:
            agent.delegate(held, **{"to": other, **words})  # type: ignore[arg-type]
        assert caught.value.code == "grant_invalid"
        return caught.value.message

    assert "the scope cart:write" in why(scopes=["cart:write"])
    assert "a longer time" in why(expires_in=7_200)
    assert "a mandate" in why(mandate="USD:1.00/2.00")
    assert "USD:10.00/30.00" in why(mandate="two dollars")
    assert '"ed25519:" and 43 base64url characters' in why(to="ed25519:zz")
    refused = why_not(agent, issue(agent, "cart:write"), other)
    assert "may not be handed on" in refused
    assert "asked for never may: the site's staff" in refused


def why_not(agent: AgentClient, held: str, other: str) -> str:  # noqa: F811
    with pytest.raises(AgentError) as caught:
        agent.delegate(held, to=other)
    return caught.value.message


def test_a_grant_from_elsewhere_is_handed_on_by_its_text(agent: AgentClient) -> None:  # noqa: F811
    chain = grants.issue(
        subject=agent.public_key, scopes=["notes:*"], expires_in=600, site="shop.example", delegate=1
    )
    text = encode_chain([grant.document for grant in chain])
    assert agent.delegate(text, to=SigningKey.generate().public).startswith("v1.")
