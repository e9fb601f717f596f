"""What is accepted, in which order it is looked at, and what the answer says (AIM.md 5.4, 6.1)."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agentweb.aim import agents
from agentweb.aim.models import Account, Contact, Event, LogHead, Message
from agentweb.testing.clocks import clock
from agentweb.wire.aim import envelope as envelopes
from agentweb.wire.clock import now
from agentweb.wire.errors import AgentError
from tests.aim.agents import SITE, Person, befriend, code, found, person

pytestmark = pytest.mark.django_db


def test_a_message_is_stored_as_it_was_signed_and_charged_once(alice: Person, bob: Person) -> None:
    written = alice.write(bob, {"b": 1.0, "a": ["é", None, 1e21]})
    [result] = alice.post(written)
    assert (result.accepted, result.duplicate, result.charged, result.status) == (True, False, 1, 202)
    kept = Message.objects.get()
    assert json.loads(kept.envelope) == written
    assert kept.envelope == envelopes.read(written).text
    assert kept.signed_by == alice.key
    assert (kept.message_id, kept.root, kept.type) == (written["id"], written["id"], "message")
    assert Account.objects.get(agent=alice.agent).charged == 1


@pytest.mark.requirement("AIM-S1.3", "AIM-S14.6")
@pytest.mark.parametrize(
    "body", [{}, [], "", "text", 0, -1.5, True, False, {"nested": [None]}, "\0"], ids=repr
)
def test_any_body_but_null_comes_back_as_it_was_sent(alice: Person, bob: Person, body: Any) -> None:
    assert code(alice.send(bob, body)) is None
    [event] = [event for event in bob.events()["events"] if "message" in event]
    assert event["message"]["body"] == body
    assert type(event["message"]["body"]) is type(body)


def test_the_receipt_has_time_and_position_of_the_last_event(alice: Person, bob: Person) -> None:
    result = alice.send(bob)
    assert result.receipt() == {
        "id": Message.objects.get().message_id,
        "accepted": True,
        "duplicate": False,
        "accepted_at": result.accepted_at,
        "cursor": bob.events()["events"][-1]["cursor"],
        "charged": 1,
    }
    assert Message.objects.get().seq == Event.objects.latest("seq").seq == LogHead.objects.get().last
    assert bob.events()["events"][-1]["at"] == result.accepted_at


def test_a_message_to_oneself_is_one_event_and_waits_in_the_primary_lane(alice: Person) -> None:
    assert code(alice.send(alice)) is None
    assert [event["type"] for event in alice.events()["events"]] == ["message"]
    assert [item["lane"] for item in alice.inbox()["items"]] == ["primary"]
    assert not Contact.objects.exists()


def test_each_side_has_an_event_of_a_message(alice: Person, bob: Person) -> None:
    befriend(alice, bob)
    alice.send(bob)
    assert [(event["type"], event["scope"]) for event in alice.events()["events"]] == [("message", "inbox")]
    assert [(event["type"], event["scope"]) for event in bob.events()["events"]] == [("message", "inbox")]


@pytest.mark.requirement("AIM-S19.1")
def test_a_batch_of_twenty_is_answered_item_by_item(alice: Person, bob: Person) -> None:
    befriend(alice, bob)
    written: list[Any] = [alice.write(bob, number) for number in range(20)]
    written[3] = {**written[3], "body": "changed after it was signed"}
    written[7] = {"id": "no envelope at all"}
    written[11] = "not even an object"
    results = alice.post(*written)
    assert [result.status for result in results] == [422 if n in {3, 7, 11} else 202 for n in range(20)]
    assert [result.id for result in results if result.accepted] == [
        each["id"] for n, each in enumerate(written) if n not in {3, 7, 11}
    ]
    assert (results[3].id, results[7].id, results[11].id) == (written[3]["id"], None, None)
    stored = Message.objects.order_by("seq")
    assert [json.loads(message.envelope)["body"] for message in stored] == [
        n for n in range(20) if n not in {3, 7, 11}
    ]
    assert Account.objects.get(agent=alice.agent).charged == 17
    assert set(results[0].as_dict()) == {
        *("id", "status", "accepted", "duplicate", "charged", "accepted_at", "cursor")
    }
    assert set(results[3].as_dict()) == {"id", "status", "accepted", "duplicate", "charged", "error"}
    assert results[3].as_dict()["error"]["code"] == "bad_envelope_signature"


@pytest.mark.requirement("AIM-S19.2")
def test_twenty_one_or_no_messages_store_nothing(alice: Person, bob: Person) -> None:
    with pytest.raises(AgentError) as refused:
        alice.post(*[alice.write(bob) for _ in range(21)])
    assert (refused.value.code, refused.value.status) == ("batch_too_large", 413)
    with pytest.raises(AgentError) as refused:
        alice.post()
    assert refused.value.status == 422
    assert not Message.objects.exists()


@pytest.mark.requirement("AIM-S14.1")
@pytest.mark.parametrize("name", ["id", "from", "to", "type", "ts", "body", "sig"])
def test_an_envelope_that_lacks_a_member_is_refused(alice: Person, bob: Person, name: str) -> None:
    written = alice.write(bob)
    del written[name]
    [result] = alice.post(written)
    assert code(result) == "invalid_envelope"
    assert not Message.objects.exists()


@pytest.mark.requirement("AIM-S14.7")
def test_a_body_that_is_null_is_refused(alice: Person, bob: Person) -> None:
    [result] = alice.post({**alice.write(bob), "body": None})
    assert code(result) == "invalid_envelope"


@pytest.mark.requirement("AIM-S16.1")
def test_a_plaintext_envelope_needs_the_authors_own_signature(alice: Person, bob: Person) -> None:
    written = alice.write(bob)
    fields = {name: value for name, value in written.items() if name != "sig"}
    by_another = envelopes.sign(fields, bob.signer)
    results = alice.post(by_another, {**written, "sig": alice.write(bob)["sig"]}, {**fields, "sig": "A" * 86})
    assert {code(result) for result in results} == {"bad_envelope_signature"}
    assert not Message.objects.exists()


def test_whoever_signs_the_request_is_the_author(alice: Person, bob: Person) -> None:
    carol = person("carol")
    [result] = alice.post(carol.write(bob))
    assert (code(result), result.status) == ("author_mismatch", 403)
    elsewhere = envelopes.sign(envelopes.compose("alice@other.example", bob.address, "hello"), alice.signer)
    [result] = alice.post(elsewhere)
    assert code(result) == "author_mismatch"


@pytest.mark.requirement("AIM-S2.2")
def test_addresses_of_other_services_are_refused(alice: Person) -> None:
    result = alice.send("bob@other.example")
    assert (code(result), result.status) == ("remote_authority", 422)


def test_who_is_not_there_is_no_recipient(alice: Person) -> None:
    assert (code(alice.send(f"nobody-here@{SITE}"))) == "unknown_recipient"
    assert (code(alice.send("board:c-1234567890"))) == "unknown_community"


def test_deleted_and_suspended_agents_take_no_messages(alice: Person, bob: Person) -> None:
    agents.suspend(bob.agent)
    assert code(alice.send(bob)) == "recipient_not_accepting"
    agents.restore(bob.agent)
    assert code(alice.send(bob)) is None
    agents.delete(bob.agent)
    result = alice.send(bob)
    assert (code(result), result.status) == ("agent_deleted", 410)


def test_a_sender_that_was_suspended_or_deleted_since_its_request_was_checked_sends_nothing(
    alice: Person, bob: Person
) -> None:
    written = alice.write(bob)
    agents.suspend(found("alice").agent)
    with pytest.raises(AgentError) as refused:
        alice.post(written)
    assert (refused.value.code, refused.value.status) == ("agent_suspended", 403)
    agents.delete(found("alice").agent)
    with pytest.raises(AgentError) as refused:
        alice.post(written)
    assert (refused.value.code, refused.value.status) == ("agent_deleted", 410)
    assert not Message.objects.exists()


@pytest.mark.parametrize(
    ("seconds", "is_accepted"),
    [(-7 * 86_400 + 1, True), (-7 * 86_400 - 1, False), (299, True), (301, False)],
)
def test_ts_may_be_seven_days_ago_and_five_minutes_ahead(
    alice: Person, bob: Person, seconds: int, is_accepted: bool
) -> None:
    with clock(1_800_000_000):
        result = alice.send(bob, ts=envelopes.write_ts(now() + seconds))
    assert result.accepted is is_accepted
    if result.error is not None:
        assert (result.error.code, result.error.field) == ("ts_out_of_range", "ts")
        assert result.error.extra["details"] == {"server_time": 1_800_000_000}


def test_all_that_is_wrong_with_a_shape_is_told(alice: Person) -> None:
    [result] = alice.post({**alice.write(alice), "to": "Bob@shop.example", "more": 1, "ts": "yesterday"})
    assert result.error is not None
    assert {problem["field"] for problem in result.error.problems or ()} == {"to", "more", "ts"}


def test_the_first_message_makes_the_recipient_a_contact_of_the_sender(alice: Person, bob: Person) -> None:
    alice.send(bob)
    contact = Contact.objects.get()
    assert (contact.owner, contact.other, contact.state) == (alice.agent, bob.agent, "accepted")
    events = alice.events()["events"]
    assert [event["type"] for event in events] == ["contact.accepted", "message"]
    assert events[0]["data"] == {"name": "bob", "address": f"bob@{SITE}", "state": "accepted"}
    assert events[0]["scope"] == "account"
    alice.send(bob)
    assert [event["type"] for event in alice.events()["events"]].count("contact.accepted") == 1


def test_a_block_stays_when_the_blocked_is_written_to(alice: Person, bob: Person) -> None:
    Contact.objects.create(
        owner=alice.agent, other=bob.agent, state="blocked", changed_at=alice.agent.created_at
    )
    assert code(alice.send(bob)) is None
    assert Contact.objects.get(owner=alice.agent).state == "blocked"
    assert code(bob.send(alice)) == "recipient_not_accepting"


@pytest.mark.requirement("AIM-S10.1", "AIM-S10.3")
def test_an_agent_that_has_just_registered_writes_to_a_stranger(alice: Person, bob: Person) -> None:
    assert code(alice.send(bob)) is None


@pytest.mark.parametrize("policy", ["contacts", "closed"])
def test_a_policy_keeps_strangers_out_without_saying_which(alice: Person, policy: str) -> None:
    closed = person("closed-one", dm_policy=policy)
    result = alice.send(closed)
    assert result.error is not None
    assert (result.error.code, result.error.status) == ("recipient_not_accepting", 403)
    blocked = person("blocking-one")
    Contact.objects.create(
        owner=blocked.agent, other=alice.agent, state="blocked", changed_at=alice.agent.created_at
    )
    assert alice.send(blocked).error.as_dict() == result.error.as_dict()  # type: ignore[union-attr]


def block(owner: Person, other: Person) -> None:
    Contact.objects.filter(owner=owner.agent, other=other.agent).delete()
    Contact.objects.create(
        owner=owner.agent, other=other.agent, state="blocked", changed_at=owner.agent.created_at
    )


@pytest.mark.parametrize("has_quota", [True, False], ids=["quota", "no quota"])
def test_a_block_is_not_told_from_a_full_lane_whatever_is_sent(
    alice: Person, settings: Any, has_quota: bool
) -> None:
    """Nor from a policy, nor from a suspension: every request is answered in the same words."""
    ways = ("full", "full-blocked", "blocked", "closed", "contacts", "suspended")
    others = {way: person(f"the-{way}") for way in ways}
    for way, other in others.items():
        settings.AGENTWEB = {**settings.AGENTWEB, "NEW_CONTACTS_PER_DAY": 100, "UNACCEPTED_PER_PAIR": 1}
        Account.objects.update(contact_tat=0)
        assert code(alice.send(other, "first")) is None
        if "full" not in way:
            Message.objects.filter(recipient=other.agent).update(state="expired", envelope="")
        if "blocked" in way:
            block(other, alice)
        if way in {"closed", "contacts"}:
            agents.set_dm_policy(other.agent, way)
        if way == "suspended":
            agents.suspend(other.agent)
    if not has_quota:
        Account.objects.update(rate_tat=int((now() + 9_000) * 1e6), contact_tat=int((now() + 9e6) * 1e6))
    own = Message.objects.filter(sender=alice.agent).values_list("message_id", flat=True)
    for number, members in enumerate(
        [
            {},
            {"reply_to": "x" * 16},
            {"thread_id": "x" * 16},
            {"reply_to": own[0], "thread_id": "y" * 16},
            {"type": "sealed", "body": {"alg": "x25519-sealedbox-1", "to_key": alice.key, "ct": "A" * 64}},
        ]
    ):
        said = {}
        for way, other in others.items():
            first = {"body": "hello", **members, "id": f"{number}-{way}-first".ljust(16, "-")}
            batch = [
                alice.write(other, **first),
                alice.write(other, **{**first, "ts": envelopes.write_ts(now() - 1)}),
                alice.write(other, "answer", reply_to=first["id"]),
            ]
            said[way] = [
                [None if result.error is None else result.error.as_dict() for result in alice.post(*part)]
                for part in (batch[:1], batch)
            ]
        for way in ways:
            assert said[way] == said["blocked"], (way, members)
        assert said["blocked"][0][0]["code"] == "recipient_not_accepting"


def test_contacts_reach_who_takes_contacts_only_and_nobody_reaches_the_closed(alice: Person) -> None:
    chooser, closed = (
        person("contacts-only", dm_policy="contacts"),
        person("closed-one", dm_policy="closed"),
    )
    befriend(alice, chooser)
    befriend(alice, closed)
    assert code(alice.send(chooser)) is None
    assert code(alice.send(closed)) == "recipient_not_accepting"
    assert code(closed.send(closed)) is None


def test_a_refused_item_leaves_no_trace(alice: Person) -> None:
    closed = person("closed-one", dm_policy="closed")
    alice.send(closed)
    assert not Message.objects.exists()
    assert not Event.objects.exists()
    assert not Contact.objects.exists()
    assert Account.objects.get(agent=alice.agent).charged == 0
    assert LogHead.objects.get().last == 0


@pytest.mark.requirement("AIM-S28.2")
def test_a_message_is_accepted_for_who_reads_it_later_and_reading_is_not_reported(
    alice: Person, bob: Person
) -> None:
    assert code(alice.send(bob)) is None
    before = alice.events()
    bob.inbox("requests")
    bob.events()
    assert alice.events() == before
