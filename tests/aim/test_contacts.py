"""Contacts: accepted, blocked, forgotten and listed, each change an event (AIM.md 6.4)."""

from __future__ import annotations

from typing import Any

import pytest

from agentweb.aim import agents, contacts
from agentweb.aim.models import Contact, Event
from agentweb.testing.clocks import clock
from agentweb.wire.errors import AgentError
from tests.aim.agents import SITE, Person, person

pytestmark = pytest.mark.django_db


def put(owner: Person, name: str, state: str) -> dict[str, Any]:
    return contacts.set_state(owner.agent, name, state, SITE)


def refusal(*arguments: Any) -> str:
    with pytest.raises(AgentError) as refused:
        put(*arguments)
    return str(refused.value.code)


def kinds(reader: Person) -> list[str]:
    return [event["type"] for event in reader.events()["events"]]


def test_accepting_is_answered_kept_and_told_to_the_owner_alone(alice: Person, bob: Person) -> None:
    with clock(1_800_000_000):
        answered = put(alice, "bob", "accepted")
    assert answered == {
        "contact": {
            "name": "bob",
            "address": bob.address,
            "state": "accepted",
            "changed_at": "2027-01-15T08:00:00.000Z",
        }
    }
    [event] = alice.events()["events"]
    assert (event["type"], event["scope"]) == ("contact.accepted", "account")
    assert event["data"] == {"name": "bob", "address": bob.address, "state": "accepted"}
    assert kinds(bob) == []


def test_the_same_again_changes_nothing(alice: Person, bob: Person) -> None:
    with clock(1_800_000_000) as time:
        first = put(alice, "bob", "blocked")
        time.forward(60)
        assert put(alice, "bob", "blocked") == first
    assert kinds(alice) == ["contact.blocked"]


def test_a_contact_changes_its_mind(alice: Person, bob: Person) -> None:
    for state in ("accepted", "blocked", "accepted"):
        assert put(alice, "bob", state)["contact"]["state"] == state
    assert contacts.remove(alice.agent, "bob", SITE) is True
    assert contacts.remove(alice.agent, "bob", SITE) is False
    assert kinds(alice) == ["contact.accepted", "contact.blocked", "contact.accepted", "contact.removed"]
    assert alice.events()["events"][-1]["data"]["state"] is None
    assert not Contact.objects.exists()


def test_nobody_is_a_contact_of_its_own_nor_of_who_is_not_there(alice: Person, bob: Person) -> None:
    assert refusal(alice, "alice", "accepted") == "invalid_input"
    assert refusal(alice, "bob", "trusted") == "invalid_input"
    for name in ("nobody-here", "Bob", "\0", ""):
        assert refusal(alice, name, "accepted") == "not_found"
        with pytest.raises(AgentError) as refused:
            contacts.remove(alice.agent, name, SITE)
        assert refused.value.code == "not_found"
    assert not Event.objects.exists()


def test_who_was_deleted_can_be_blocked_and_forgotten_and_not_accepted(alice: Person, bob: Person) -> None:
    agents.delete(bob.agent)
    assert refusal(alice, "bob", "accepted") == "agent_deleted"
    assert put(alice, "bob", "blocked")["contact"]["state"] == "blocked"
    assert contacts.remove(alice.agent, "bob", SITE)


def test_contacts_are_listed_by_name_state_and_page(alice: Person) -> None:
    for number in range(5):
        other = person(f"other-{number}")
        put(alice, other.agent.name, "blocked" if number % 2 else "accepted")
    put(person("carol"), "alice", "accepted")  # not alice's
    agents.suspend(person("zoe-the-last").agent)
    put(alice, "zoe-the-last", "blocked")

    def names(page: dict[str, Any]) -> list[str]:
        return [item["name"] for item in page["items"]]

    everybody = contacts.listed(alice.agent, None, SITE, None, 50)
    assert names(everybody) == [*(f"other-{number}" for number in range(5)), "zoe-the-last"]
    assert set(everybody["items"][0]) == {"name", "address", "state", "changed_at", "status"}
    assert everybody["items"][-1]["status"] == "suspended"
    assert names(contacts.listed(alice.agent, "blocked", SITE, None, 50)) == [
        *("other-1", "other-3", "zoe-the-last")
    ]
    first = contacts.listed(alice.agent, None, SITE, None, 4)
    second = contacts.listed(alice.agent, None, SITE, first["next_cursor"], 4)
    assert names(first) + names(second) == names(everybody)
    assert second["next_cursor"] is None
    with pytest.raises(AgentError) as refused:
        contacts.listed(alice.agent, "trusted", SITE, None, 50)
    assert refused.value.code == "invalid_parameter"


def test_accepting_is_one_sided(alice: Person, bob: Person) -> None:
    put(alice, "bob", "accepted")
    assert alice.send(bob).accepted
    assert [event["type"] for event in bob.events()["events"]] == ["request"]
    assert bob.send(alice).accepted
    assert [event["type"] for event in alice.events()["events"]][-1] == "message"
