"""Suspended, restored and deleted agents."""

from __future__ import annotations

import pytest

from agentweb.aim import agents, contacts
from agentweb.aim.models import Agent, AgentKey, Contact, Event
from agentweb.wire.clock import now_datetime
from tests.aim.agents import SITE, Person, person

pytestmark = pytest.mark.django_db


def status() -> str:
    return str(Agent.objects.get(name="alice").status)


def test_an_agent_is_suspended_and_restored_once(alice: Person) -> None:
    assert [agents.suspend(alice.agent), status(), agents.suspend(alice.agent)] == [True, "suspended", False]
    assert Agent.objects.get().ended_at is not None
    assert [agents.restore(alice.agent), status(), agents.restore(alice.agent)] == [True, "active", False]
    assert Agent.objects.get().ended_at is None


@pytest.mark.parametrize("is_suspended", [True, False])
def test_deletion_is_for_good_and_keeps_name_and_key(alice: Person, is_suspended: bool) -> None:
    bob = person("bob")
    contacts.set_state(alice.agent, "bob", "accepted", SITE)
    contacts.set_state(bob.agent, "alice", "accepted", SITE)
    if is_suspended:
        agents.suspend(alice.agent)
    assert [agents.delete(alice.agent), agents.delete(alice.agent)] == [True, False]
    assert (status(), alice.agent.status) == ("deleted", "deleted")
    assert not agents.restore(alice.agent)
    assert not agents.suspend(alice.agent)
    assert status() == "deleted"
    key = AgentKey.objects.get(agent=alice.agent)
    assert key.until is not None
    assert key.until <= now_datetime()
    assert list(Contact.objects.values_list("owner__name", "other__name")) == [("bob", "alice")]
    assert Event.objects.filter(type="agent.deleted").count() == 1


def test_who_may_write_is_the_agents_choice(alice: Person) -> None:
    agents.set_dm_policy(alice.agent, "closed")
    assert Agent.objects.get().dm_policy == alice.agent.dm_policy == "closed"


def test_an_agent_is_found_by_its_name(alice: Person) -> None:
    assert agents.by_name("alice") == alice.agent
    assert agents.by_name("nobody-here") is None
