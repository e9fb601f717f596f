"""The same envelope again, other content under the same id, and ids of others (AIM.md 5.4)."""

from __future__ import annotations

from datetime import timedelta

import pytest

from agentweb.aim import agents, contacts, messages
from agentweb.aim.models import Account, AgentKey, Event, Message
from agentweb.testing.clocks import clock
from agentweb.wire.aim.keys import public_of
from agentweb.wire.clock import now_datetime
from tests.aim.agents import SITE, Person, code, person, signer_of

pytestmark = pytest.mark.django_db


@pytest.mark.requirement("AIM-S17.3", "AIM-S17.4")
def test_the_same_envelope_is_stored_and_charged_once(alice: Person, bob: Person) -> None:
    written = alice.write(bob)
    [first] = alice.post(written)
    events = Event.objects.count()
    [again] = alice.post(written)
    assert (first.duplicate, again.duplicate) == (False, True)
    assert again.receipt() == {**first.receipt(), "duplicate": True, "charged": 0}
    assert (Message.objects.count(), Event.objects.count()) == (1, events)
    assert Account.objects.get(agent=alice.agent).charged == 1


def test_a_document_that_is_equal_is_the_same_envelope(alice: Person, bob: Person) -> None:
    written = alice.write(bob, {"a": 1, "b": -0.0})
    alice.post(written)
    [again] = alice.post({**dict(reversed(written.items())), "body": {"b": 0, "a": 1.0}})
    assert again.duplicate


def test_the_same_envelope_twice_in_a_request_is_one_message(alice: Person, bob: Person) -> None:
    written = alice.write(bob)
    first, second = alice.post(written, written)
    assert (first.duplicate, second.duplicate) == (False, True)
    assert second.receipt() == {**first.receipt(), "duplicate": True, "charged": 0}
    assert Message.objects.count() == 1
    assert Account.objects.get(agent=alice.agent).charged == 1


def test_what_is_refused_twice_in_a_request_is_refused_twice(alice: Person) -> None:
    written = alice.write(f"nobody-here@{SITE}")
    assert [code(result) for result in alice.post(written, written)] == ["unknown_recipient"] * 2


def test_other_content_under_the_same_id_is_refused(alice: Person, bob: Person) -> None:
    first = alice.write(bob, "one")
    other = alice.write(bob, "two", id=first["id"])
    [_, twin] = alice.post(first, other)
    assert (code(twin), twin.status) == ("id_reused", 409)
    [later] = alice.post(other)
    assert code(later) == "id_reused"
    elsewhere = alice.write(person("carol"), "one", id=first["id"])
    assert code(alice.post(elsewhere)[0]) == "id_reused"
    assert Message.objects.count() == 1


def test_an_id_that_was_refused_is_not_used_up(alice: Person, bob: Person) -> None:
    refused = alice.write(f"nobody-here@{SITE}")
    better = alice.write(bob, id=refused["id"])
    assert [code(result) for result in alice.post(refused, better)] == ["unknown_recipient", None]


def test_ids_of_others_neither_suppress_nor_answer_a_message(alice: Person, bob: Person) -> None:
    carol = person("carol")
    written = alice.write(bob, "for bob")
    alice.post(written)
    # The same id by another author in another conversation has nothing to do with it.
    [result] = carol.post(carol.write(bob, "from carol", id=written["id"]))
    assert (code(result), result.duplicate, result.charged) == (None, False, 1)
    assert Message.objects.count() == 2


def test_an_id_of_the_other_party_is_a_conflict_within_the_conversation_only(
    alice: Person, bob: Person
) -> None:
    written = alice.write(bob)
    alice.post(written)
    result = bob.send(alice, id=written["id"])
    assert (code(result), result.status) == ("id_conflict", 409)
    assert code(bob.send(bob, id=written["id"])) is None


def test_a_duplicate_is_one_whatever_has_changed_since(alice: Person, bob: Person) -> None:
    with clock(1_800_000_000) as time:
        written = alice.write(bob)
        [first] = alice.post(written)
        contacts.set_state(bob.agent, "alice", "blocked", SITE)
        Account.objects.filter(agent=alice.agent).update(rate_tat=2**62, day_tat=2**62, contact_tat=2**62)
        time.forward(30 * 86_400)
        agents.delete(bob.agent)
        [again] = alice.post(written)
        [new] = alice.post(alice.write(bob))
    assert again.receipt() == {**first.receipt(), "duplicate": True, "charged": 0}
    assert code(new) == "agent_deleted"


def test_a_removed_message_is_not_accepted_anew(alice: Person, bob: Person) -> None:
    written = alice.write(bob)
    alice.post(written)
    messages.remove(alice.agent, written["id"], bob.address, SITE)
    [again] = alice.post(written)
    assert again.duplicate
    assert Message.objects.get().state == "removed"


def test_a_duplicate_may_be_signed_by_the_key_of_that_time(alice: Person, bob: Person) -> None:
    """Its author has another key now, and repeats the very bytes that were accepted."""
    written = alice.write(bob)
    alice.post(written)
    later = now_datetime() + timedelta(seconds=1)
    AgentKey.objects.filter(agent=alice.agent).update(until=later)
    new = signer_of("alice's second key")
    AgentKey.objects.create(agent=alice.agent, public=public_of(new), since=later)
    rotated = Person(alice.agent, new)
    [again] = rotated.post(written)
    assert again.duplicate
    [fresh] = rotated.post(alice.write(bob))
    assert code(fresh) == "bad_envelope_signature"
    [forged] = rotated.post({**written, "sig": alice.write(bob)["sig"]})
    assert code(forged) == "bad_envelope_signature"


def test_bad_signatures_are_told_before_duplicates(alice: Person, bob: Person) -> None:
    written = alice.write(bob)
    alice.post(written)
    [result] = alice.post({**written, "sig": alice.write(bob)["sig"]})
    assert code(result) == "bad_envelope_signature"
    forged = {**alice.write(bob, "other", id=written["id"]), "sig": written["sig"]}
    [result] = alice.post(forged)
    assert code(result) == "bad_envelope_signature"


def test_ids_are_compared_exactly(alice: Person, bob: Person) -> None:
    assert code(alice.send(bob, id="AbCdEfGhIjKlMnOpQrSt")) is None
    assert code(alice.send(bob, id="abcdefghijklmnopqrst")) is None
