"""Replies and threads: what may be referred to, and that everything is found by its root (AIM.md 5.5)."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from agentweb.aim import messages, threads
from agentweb.aim.models import Message
from agentweb.wire.errors import AgentError
from tests.aim.agents import SITE, Person, answer, befriend, code, person

pytestmark = pytest.mark.django_db


@pytest.fixture
def bob(alice: Person, bob: Person) -> Person:
    """A friend of alice, who may send many messages."""
    befriend(alice, bob)
    return bob


def read(viewer: Person, root: str | None, place: str, cursor: str | None = None, limit: int = 50) -> Any:
    return answer(threads.thread(viewer.agent, str(root), place, SITE, cursor, limit))


@pytest.mark.requirement("AIM-S6.2", "AIM-S14.4", "AIM-S14.5", "AIM-S20.2")
def test_replies_belong_to_the_thread_of_what_they_answer(alice: Person, bob: Person) -> None:
    first = alice.send(bob, "first")
    second = bob.send(alice, "second", reply_to=first.id)
    third = alice.send(bob, "third", reply_to=second.id, thread_id=first.id)
    alone = alice.send(bob, "another matter")
    fourth = bob.send(alice, "fourth", thread_id=first.id)
    assert {row.message_id: row.root for row in Message.objects.all()} == {
        **dict.fromkeys([str(each.id) for each in (first, second, third, fourth)], first.id),
        alone.id: alone.id,
    }
    for viewer, other in ((alice, bob), (bob, alice)):
        items = read(viewer, first.id, other.address)["items"]
        assert [item["envelope"]["body"] for item in items] == ["first", "second", "third", "fourth"]
        assert items[1]["envelope"]["reply_to"] == first.id
        assert set(items[0]) == {"envelope", "received_at", "cursor", "signed_by"}


def test_a_thread_id_may_be_the_own_id(alice: Person, bob: Person) -> None:
    written = alice.write(bob, id="own-id-of-a-thread-1", thread_id="own-id-of-a-thread-1")
    assert code(alice.post(written)[0]) is None


@pytest.mark.parametrize(
    ("members", "expected"),
    [
        ({"reply_to": "nothing-is-called-so"}, "unknown_reply_target"),
        ({"thread_id": "nothing-is-called-so"}, "thread_mismatch"),
        ({"reply_to": "SECOND", "thread_id": "SECOND"}, "thread_mismatch"),
        ({"reply_to": "SECOND", "thread_id": "OTHER"}, "thread_mismatch"),
        ({"thread_id": "SECOND"}, "thread_mismatch"),
        ({"reply_to": "OUTSIDE"}, "unknown_reply_target"),
        ({"thread_id": "OUTSIDE"}, "thread_mismatch"),
    ],
)
def test_references_that_do_not_hold_are_refused(
    alice: Person, bob: Person, members: dict[str, str], expected: str
) -> None:
    first = alice.send(bob)
    known = {
        "SECOND": str(bob.send(alice, reply_to=first.id).id),
        "OTHER": str(alice.send(bob).id),
        # Of another conversation of the same author.
        "OUTSIDE": str(alice.send(person("carol")).id),
    }
    given = {name: known.get(value, value) for name, value in members.items()}
    assert code(alice.send(bob, **given)) == expected


def test_nobody_replies_to_itself_or_in_a_circle(alice: Person, bob: Person) -> None:
    one, other = "circle-of-two-0000001", "circle-of-two-0000002"
    results = alice.post(
        alice.write(bob, id=one, reply_to=other),
        alice.write(bob, id=other, reply_to=one),
        alice.write(bob, id="circle-of-one-0000001", reply_to="circle-of-one-0000001"),
    )
    assert {code(result) for result in results} == {"unknown_reply_target"}


def test_an_item_may_reply_to_an_earlier_one_of_its_request(alice: Person, bob: Person) -> None:
    first = alice.write(bob)
    second = alice.write(bob, reply_to=first["id"])
    third = alice.write(bob, reply_to=second["id"], thread_id=first["id"])
    assert [code(result) for result in alice.post(first, second, third)] == [None] * 3
    assert set(Message.objects.values_list("root", flat=True)) == {first["id"]}
    # The later cannot be referred to by the earlier.
    later = alice.write(bob)
    results = alice.post(alice.write(bob, reply_to=later["id"]), later)
    assert [code(result) for result in results] == ["unknown_reply_target", None]


def test_what_is_no_longer_kept_is_not_replied_to_but_its_thread_goes_on(alice: Person, bob: Person) -> None:
    first = alice.send(bob)
    second = bob.send(alice, reply_to=first.id)
    Message.objects.filter(message_id=first.id).update(state="expired", envelope="")
    result = bob.send(alice, reply_to=first.id)
    assert (code(result), result.status) == ("reply_target_expired", 422)
    assert code(alice.send(bob, reply_to=second.id)) is None
    assert code(alice.send(bob, reply_to=second.id, thread_id=first.id)) is None
    assert code(alice.send(bob, thread_id=first.id)) is None


def test_the_root_of_a_thread_stays_first_when_it_is_removed(alice: Person, bob: Person) -> None:
    first = alice.send(bob, "first")
    bob.send(alice, "second", reply_to=first.id)
    messages.remove(alice.agent, str(first.id), bob.address, SITE)
    root, reply = read(bob, first.id, alice.address)["items"]
    assert root["tombstone"]["id"] == first.id
    assert root["tombstone"]["removed"]["by"] == "author"
    assert "envelope" not in root
    assert reply["envelope"]["body"] == "second"


def test_a_thread_is_read_in_pages(alice: Person, bob: Person) -> None:
    first = alice.send(bob, 0)
    for number in range(1, 7):
        bob.send(alice, number, reply_to=first.id)
    bodies, cursor = [], None
    while True:
        page = read(alice, first.id, bob.address, cursor, limit=3)
        bodies.append([item["envelope"]["body"] for item in page["items"]])
        cursor = page["next_cursor"]
        if cursor is None:
            break
    assert bodies == [[0, 1, 2], [3, 4, 5], [6]]


def test_threads_of_others_and_replies_are_no_threads_here(alice: Person, bob: Person) -> None:
    carol = person("carol")
    first = alice.send(bob)
    reply = bob.send(alice, reply_to=first.id)
    for viewer, root, place in (
        (carol, first.id, bob.address),
        (carol, first.id, alice.address),
        (alice, reply.id, bob.address),
        (alice, first.id, carol.address),
        (alice, first.id, f"nobody-here@{SITE}"),
        (alice, "\0", bob.address),
    ):
        with pytest.raises(AgentError) as refused:
            read(viewer, root, place)
        assert refused.value.code == "not_found"


def test_a_long_thread_is_read_without_walking_it(alice: Person, bob: Person) -> None:
    last = alice.send(bob).id
    root = last
    for number in range(25):
        author, other = (bob, alice) if number % 2 else (alice, bob)
        last = author.send(other, reply_to=last).id
    with CaptureQueriesContext(connection) as queries:
        items = read(alice, root, bob.address)["items"]
    assert len(items) == 26
    assert len(queries) == 2
