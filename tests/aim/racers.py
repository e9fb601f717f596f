"""What the processes of the races do; see tests/support/races.py."""

from __future__ import annotations

import time
from collections import Counter
from typing import Any

from django.conf import settings
from django.db import OperationalError

from agentweb.access.database import is_locked
from agentweb.aim import contacts, log
from agentweb.aim.cursors import parse_event_cursor
from agentweb.aim.models import Account, Contact, Event, LogHead, Message
from agentweb.wire.errors import AgentError
from tests.aim.agents import SITE, Person, found, person

ROOMY = {"MESSAGE_RATE": (1_000_000, 1_000_000), "MESSAGES_PER_DAY": 1_000_000, "UNACCEPTED_PER_PAIR": 1_000}

_LOST_WRITER_SECONDS = 200


def _set(**values: Any) -> None:
    settings.AGENTWEB = {**settings.AGENTWEB, **values}


def prepare(names: list[str]) -> None:
    """Register them; they are strangers."""
    for name in names:
        person(name)


def prepare_friends(names: list[str]) -> None:
    """Register them; each has accepted each."""
    people = [person(name) for name in names]
    Contact.objects.bulk_create(
        Contact(owner=one.agent, other=other.agent, state="accepted", changed_at=one.agent.created_at)
        for one in people
        for other in people
        if one != other
    )


def write_or_read(role: str, name: str, others: list[str], count: int) -> dict[str, Any]:
    """A writer sends ``count`` messages, single and in batches, and says which were accepted where; a reader follows
    its cursor until everybody has finished, and says what it saw in which order."""
    _set(**ROOMY)
    me = found(name)
    if role == "reader":
        return _follow(me, len(others))
    accepted: dict[str, str] = {}
    to = [found(other) for other in others]
    for number in range(count):
        size = 1 + number % 3 * 3
        envelopes = [me.write(to[(number + place) % len(to)], [number, place]) for place in range(size)]
        for result in _patiently(me, envelopes):
            assert result.error is None, result.error
            assert not result.duplicate
            accepted[str(result.id)] = str(result.cursor)
    for other in to:
        _patiently(me, [me.write(other, "finished")])
    return accepted


def _patiently(me: Person, envelopes: list[Any]) -> list[Any]:
    for _ in range(50):
        try:
            return me.post(*envelopes)
        except AgentError as error:
            if error.code != "overloaded":
                raise
            time.sleep(0.05)
    raise AssertionError("never got through")


def _follow(me: Person, writers: int) -> dict[str, Any]:
    seen: list[list[str]] = []
    cursor, at, finished, polls = None, 0, 0, 0
    ends_at = time.monotonic() + _LOST_WRITER_SECONDS
    while finished < writers:
        # A writer that failed never says that it has finished; then its own traceback is what must be seen.
        if time.monotonic() > ends_at:
            raise AssertionError(f"{finished} of {writers} writers finished")
        page = me.events(cursor, limit=7)
        position = parse_event_cursor(page["cursor"])[1]
        assert position >= at, "a cursor went back"
        for event in page["events"]:
            if event["message"]["body"] == "finished":
                finished += 1
            else:
                seen.append([event["message"]["id"], event["cursor"]])
        cursor, at, polls = page["cursor"], position, polls + 1
        if not page["has_more"]:
            time.sleep(0.001)
    return {"seen": seen, "polls": polls}


def books() -> dict[str, Any]:
    """The whole log and all accounts."""
    head = LogHead.objects.get()
    return {
        "positions": list(Event.objects.order_by("seq").values_list("seq", flat=True)),
        "last": head.last,
        "messages": {row.message_id: row.seq for row in Message.objects.all()},
        "charged": dict(Account.objects.values_list("agent__name", "charged")),
        "events_of_messages": dict(
            Counter(Event.objects.exclude(message_key=None).values_list("message_key", flat=True))
        ),
        "unstamped": Message.objects.filter(seq=None).count(),
        "contacts": sorted(Contact.objects.values_list("owner__name", "other__name", "state")),
        "contact_events": list(
            Event.objects.filter(type__startswith="contact").order_by("seq").values_list("type", flat=True)
        ),
    }


def send_the_same(name: str, envelopes: list[Any], delay: float) -> list[dict[str, Any]]:
    time.sleep(delay)
    return [
        {**result.receipt(), "error": None if result.error is None else result.error.code}
        for result in _patiently(found(name), envelopes)
    ]


def envelopes_for(name: str, to: str, count: int) -> list[Any]:
    me = found(name)
    return [me.write(found(to), number) for number in range(count)]


def spend(name: str, to: list[str], count: int, limits: dict[str, Any]) -> dict[str, int]:
    """Send ``count`` requests of 1 to 4 messages under the limits; how many items ended how."""
    _set(**limits)
    me, outcomes = found(name), Counter[str]()
    for number in range(count):
        envelopes = [me.write(found(to[number % len(to)]), number) for _ in range(1 + number % 4)]
        outcomes.update(
            "ok" if result.error is None else str(result.error.code) for result in _patiently(me, envelopes)
        )
    return dict(outcomes)


def send_or_judge(role: str, count: int) -> dict[str, int]:
    """alice writes to bob, or bob accepts, blocks and forgets alice in turn and blocks her at the end."""
    _set(**ROOMY)
    outcomes = Counter[str]()
    if role == "alice":
        return spend("alice", ["bob"], count, ROOMY)
    bob = found("bob")
    for number in range(count):
        if number % 3 == 2:
            outcomes["removed"] += int(contacts.remove(bob.agent, "alice", SITE))
        else:
            state = "blocked" if number % 3 else "accepted"
            contacts.set_state(bob.agent, "alice", state, SITE)
    contacts.set_state(bob.agent, "alice", "blocked", SITE)
    refused = found("alice").send(bob)
    assert refused.error is not None
    outcomes[str(refused.error.code)] += 1
    return dict(outcomes)


def use_one_id(name: str, other: str, ids: list[str]) -> dict[str, int]:
    """Two agents give their messages to each other the same ids."""
    me, them, outcomes = found(name), found(other), Counter[str]()
    for start in range(0, len(ids), 5):
        written = [me.write(them, name, id=identifier) for identifier in ids[start : start + 5]]
        # Each in an order of its own: whoever waits for the other in a circle is found out.
        ordered = written if name < other else written[::-1]
        outcomes.update(
            "ok" if result.error is None else str(result.error.code) for result in _patiently(me, ordered)
        )
    return dict(outcomes)


def read_or_cut(role: str, rounds: int) -> dict[str, Any]:
    """Retention moves the floor and deletes, while a slow reader goes on from old cursors; how often it was told.

    Messages are numbered. From a cursor on the numbers are without a gap, or the reader is told that they are not.
    """
    if role == "cutter":
        return _cut(rounds)
    bob, outcomes = found("bob"), Counter[str]()
    cursor: str | None = None
    expected: int | None = None  # None: after a loss that was told
    while expected != rounds:
        try:
            page = bob.events(cursor, limit=3)
        except AgentError as error:
            if error.code != "cursor_expired":
                raise
            outcomes["expired"] += 1
            cursor, expected = error.extra["details"]["oldest_cursor"], None
            continue
        except OperationalError as error:
            # SQLite as it is by default lets a reader wait for writers; a caller is asked to come again.
            if not is_locked(error):
                raise
            outcomes["busy"] += 1
            continue
        for event in page["events"]:
            number = event["message"]["body"]
            assert expected in {None, number}, f"{expected} was lost in silence: {number} came"
            expected = number + 1
        outcomes["pages"] += 1
        cursor = page["cursor"]
        time.sleep(0.02 if outcomes["pages"] % 4 == 0 else 0)
    return dict(outcomes)


def _cut(rounds: int) -> dict[str, Any]:
    _set(**ROOMY)
    alice, bob = found("alice"), found("bob")
    for number in range(rounds):
        _patiently(alice, [alice.write(bob, number)])
        if number % 5 == 4:
            last = log.ends().last
            # As retention does: the floor first, and committed.
            LogHead.objects.filter(floor__lt=last - 4).update(floor=last - 4)
            Event.objects.filter(seq__lte=last - 4).delete()
    return {}


def first_events(name: str) -> str:
    """Send where the log has no head yet; the receipt's cursor."""
    me = found(name)
    [result] = _patiently(me, [me.write(me)])
    return str(result.cursor)


def forget_head() -> None:
    LogHead.objects.all().delete()
