"""One message: read by the two of its conversation, removed by its author (AIM.md 6.1)."""

from __future__ import annotations

from typing import Any

import pytest

from agentweb.aim import events, inbox, messages, splicing
from agentweb.aim.models import Event, Message
from agentweb.testing.clocks import clock
from agentweb.wire.errors import AgentError
from tests.aim.agents import SITE, Person, answer, person

pytestmark = pytest.mark.django_db


def find(viewer: Person, identifier: Any, place: str) -> dict[str, Any]:
    return answer(messages.find(viewer.agent, str(identifier), place, SITE))


def remove(viewer: Person, identifier: Any, place: str) -> dict[str, Any]:
    return answer(messages.remove(viewer.agent, str(identifier), place, SITE))


def refusal(call: Any, *arguments: Any) -> tuple[str, int]:
    with pytest.raises(AgentError) as refused:
        call(*arguments)
    return str(refused.value.code), refused.value.status


def test_both_sides_read_the_whole_envelope(alice: Person, bob: Person) -> None:
    written = alice.write(bob, {"text": "hello"})
    [result] = alice.post(written)
    for viewer, place in ((alice, bob.address), (bob, alice.address), (bob, "alice")):
        assert find(viewer, result.id, place) == {
            "message": {
                "envelope": written,
                "received_at": result.accepted_at,
                "cursor": result.cursor,
                "signed_by": alice.key,
            }
        }


def test_others_find_nothing_and_learn_nothing(alice: Person, bob: Person) -> None:
    carol = person("carol")
    known, unknown = alice.send(bob).id, "no-message-is-called-so"
    for viewer, place in (
        (carol, alice.address),
        (carol, bob.address),
        (alice, carol.address),
        (alice, "alice"),
    ):
        for call in (find, remove):
            assert refusal(call, viewer, known, place) == ("not_found", 404)
            assert refusal(call, viewer, unknown, place) == ("not_found", 404)
    assert refusal(find, alice, known, f"nobody-here@{SITE}") == ("not_found", 404)
    assert refusal(find, alice, "\0", bob.address) == ("not_found", 404)


def test_where_a_message_is_must_be_here(alice: Person, bob: Person) -> None:
    known = alice.send(bob).id
    assert refusal(find, alice, known, "board:c-1234567890") == ("unknown_community", 404)
    assert refusal(find, alice, known, "bob@other.example") == ("remote_authority", 422)
    assert refusal(find, alice, known, "Bob!") == ("invalid_parameter", 400)
    assert refusal(find, alice, known, "\0") == ("invalid_parameter", 400)


def test_an_author_removes_its_message_from_both_sides(alice: Person, bob: Person) -> None:
    known = alice.send(bob, "regretted").id
    with clock(1_800_000_000) as time:
        first = remove(alice, known, bob.address)
        assert first == {
            "tombstone": {
                "id": known,
                "from": alice.address,
                "removed": {"by": "author", "at": "2027-01-15T08:00:00.000Z"},
            }
        }
        events = Event.objects.count()
        time.forward(60)
        assert remove(alice, known, bob.address) == first
    assert find(alice, known, bob.address) == find(bob, known, alice.address) == first
    assert Event.objects.count() == events
    kept = Message.objects.get()
    assert (kept.envelope, kept.state) == ("", "removed")


def test_a_message_to_oneself_is_removed_with_one_event(alice: Person) -> None:
    known = alice.send(alice).id
    remove(alice, known, alice.address)
    assert [event["type"] for event in alice.events()["events"]] == ["message", "message.removed"]


def test_nobody_removes_what_another_wrote(alice: Person, bob: Person) -> None:
    known = alice.send(bob).id
    assert refusal(remove, bob, known, alice.address) == ("author_mismatch", 403)
    assert Message.objects.get().state == "live"


@pytest.mark.parametrize(("state", "by"), [("expired", "retention"), ("erased", "agent_deleted")])
def test_a_message_that_is_gone_is_a_tombstone_that_says_why(
    alice: Person, bob: Person, state: str, by: str
) -> None:
    known = alice.send(bob).id
    Message.objects.update(state=state, envelope="", ended_at=Message.objects.get().accepted_at)
    grave = find(bob, known, alice.address)["tombstone"]
    assert (grave["id"], grave["removed"]["by"]) == (known, by)
    assert remove(alice, known, bob.address)["tombstone"] == grave


def test_the_text_that_is_served_is_the_one_that_was_kept(alice: Person, bob: Person) -> None:
    known = str(alice.send(bob, {"é": 1e21, "b": "\u2028 😀", "a": [0.000001, "\0"]}).id)
    text = Message.objects.get().envelope.encode()
    assert text in splicing.dumps(messages.find(bob.agent, known, "alice", SITE))
    assert text in splicing.dumps(events.read_events(bob.agent, None, 50, None, SITE))
    page = inbox.read_inbox(bob.agent, lane="requests", with_=None, cursor=None, limit=5, authority=SITE)
    assert text in splicing.dumps(page)
