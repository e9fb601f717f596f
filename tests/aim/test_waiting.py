"""Requests that wait for events: who reads when something comes, who may go on waiting, and who gives way."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.db import OperationalError, connection, connections
from django.http import HttpResponse
from django.test import Client

from agentweb.aim import events, wakeups
from agentweb.aim import watch as watching
from agentweb.aim.models import Agent, AgentKey, Contact
from agentweb.aim.views import events as events_view
from agentweb.aim.watch import watch
from agentweb.wire.clock import now_datetime
from tests.aim.wire import Speaker, code

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("easy_work", "many_threads")]

NAMES = [f"waiter-{number}" for number in range(8)]


@pytest.fixture
def many_threads(settings: Any) -> Iterator[None]:
    settings.AGENTWEB = {**settings.AGENTWEB, "STREAM_THREADS": 50}
    yield
    # The look's own connection would keep the database of the tests.
    assert soon(lambda: not watch._is_running)


class Patient(Speaker):
    """An agent that sends again what the site was too busy for.

    Connections to one SQLite database in memory, which no site has, lock each other's tables and wait for nobody: the
    look of another thread fails a write that it meets.
    """

    def ask(self, *given: Any, **more: Any) -> HttpResponse:
        answer = super().ask(*given, **more)
        for _ in range(20 if connection.vendor == "sqlite" else 0):
            if answer.status_code != 503 or code(answer)[1] != "unavailable":
                break
            answer = super().ask(*given, **more)
        return answer


def registered(name: str) -> Speaker:
    speaker = Patient(name)
    speaker.register()
    return speaker


@pytest.fixture
def alice() -> Speaker:
    return registered("alice")


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How often each agent's events were read."""
    count: Counter[str] = Counter()

    def counted(agent: Agent, *given: Any) -> Any:
        count[agent.name] += 1
        return events.read_events(agent, *given)

    monkeypatch.setattr(events_view, "read_events", counted)
    return count


def soon(condition: Callable[[], object]) -> bool:
    """Whether it comes true; the time is only there so that a failure ends."""
    for _ in range(2_000):
        if condition():
            return True
        threading.Event().wait(0.01)
    return False


def threaded(name: str) -> Speaker:
    """An agent whose requests come to a server with several threads."""
    return Patient(name, client=Client(**{"wsgi.multithread": True}))


class Waiting:
    """A request that waits in a thread of its own, begun when this is made."""

    def __init__(self, name: str, seconds: int = 25) -> None:
        cursor = Patient(name).get("/v2/events?after=now").json()["cursor"]
        self._target = f"/v2/events?after={cursor}&wait={seconds}"
        self._name = name
        self._found: list[Any] = []
        self._thread = threading.Thread(target=self._run)
        before = set(watch._waiting)
        self._thread.start()
        assert soon(lambda: self._found or set(watch._waiting) - before)

    def _run(self) -> None:
        try:
            self._found.append(threaded(self._name).get(self._target).json())
        finally:
            connections.close_all()

    @property
    def is_over(self) -> bool:
        return bool(self._found)

    def answer(self) -> dict[str, Any]:
        self._thread.join(60)
        found: dict[str, Any] = self._found[0]
        return found


def test_a_message_makes_only_those_read_whom_it_concerns(alice: Speaker, reads: Counter[str]) -> None:
    for name in NAMES:
        registered(name)
    waiting = {name: Waiting(name, 5) for name in NAMES}
    reads.clear()
    for _ in range(3):
        alice.send(Patient("waiter-0"))
    [event] = waiting["waiter-0"].answer()["events"][:1]
    assert event["type"] == "request"
    for name in NAMES[1:]:
        assert waiting[name].answer()["events"] == []
    assert reads == {"waiter-0": 1}


def test_who_waits_is_answered_with_what_comes(alice: Speaker) -> None:
    written = alice.write(registered("bob"))
    waiting = Waiting("bob")
    assert alice.post("/v2/messages", written).status_code == 202
    [event] = waiting.answer()["events"]
    assert event["message"] == written


def test_who_waits_in_vain_waits_as_long_as_it_said(alice: Speaker) -> None:
    started = time.monotonic()
    page = Waiting("alice", 1).answer()
    assert time.monotonic() - started >= 0.9
    assert (page["events"], page["has_more"]) == ([], False)


def test_who_waited_in_vain_has_the_cursor_of_the_end(alice: Speaker) -> None:
    registered("bob")
    waiting = Waiting("bob", 2)
    alice.send(alice)
    cursor = waiting.answer()["cursor"]
    assert cursor == alice.get("/v2/events?after=now").json()["cursor"]


def test_of_those_who_are_woken_a_few_read_at_once(alice: Speaker, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in NAMES:
        bob = registered(name)
        owner = Agent.objects.get(name=bob.name)
        Contact.objects.create(
            owner=owner, other=Agent.objects.get(name="alice"), state="accepted", changed_at=now_datetime()
        )
    waiting = [Waiting(name) for name in NAMES]
    lock, inside, most = threading.Lock(), Counter[str](), [0]

    def counted(*given: Any) -> Any:
        with lock:
            inside["now"] += 1
            most[0] = max(most[0], inside["now"])
        threading.Event().wait(0.1)
        try:
            return events.read_events(*given)
        finally:
            with lock:
                inside["now"] -= 1

    monkeypatch.setattr(events_view, "read_events", counted)
    alice.ask("DELETE", "/v2/agents/me", {"confirm": "alice@shop.example"})
    assert [each.answer()["events"][0]["type"] for each in waiting] == ["agent.deleted"] * len(NAMES)
    assert 1 < most[0] <= watching.READS_AT_ONCE


def test_who_gets_no_connection_waits_on(alice: Speaker, monkeypatch: pytest.MonkeyPatch) -> None:
    registered("bob")
    waiting = Waiting("bob")
    failures = iter([True, True, False])

    def failing(*given: Any) -> Any:
        if next(failures):
            raise OperationalError("no connection is free")
        return events.read_events(*given)

    monkeypatch.setattr(events_view, "read_events", failing)
    alice.send(Patient("bob"))
    assert [event["type"] for event in waiting.answer()["events"]] == ["request"]


def test_a_look_that_fails_is_tried_again(alice: Speaker, monkeypatch: pytest.MonkeyPatch) -> None:
    registered("bob")
    real, failures = watching._LOOK.fetch, iter([True, True])

    def failing(values: Any) -> Any:
        if next(failures, False):
            raise OperationalError("no connection is free")
        return real(values)

    monkeypatch.setattr(watching._LOOK, "fetch", failing)
    waiting = Waiting("bob")
    alice.send(Patient("bob"))
    assert [event["type"] for event in waiting.answer()["events"]] == ["request"]


def suspend() -> None:
    Agent.objects.filter(name="bob").update(status=Agent.Status.SUSPENDED)


def replace_key() -> None:
    AgentKey.objects.filter(agent__name="bob").update(until=now_datetime())


@pytest.mark.parametrize("fall", [suspend, replace_key], ids=["suspended", "with another key"])
@pytest.mark.parametrize("is_written_to", [True, False])
def test_who_may_not_read_any_more_waits_no_longer_and_reads_nothing(
    alice: Speaker, fall: Callable[[], None], is_written_to: bool, reads: Counter[str]
) -> None:
    registered("bob")
    cursor = Patient("bob").get("/v2/events?after=now").json()["cursor"]
    waiting = Waiting("bob")
    reads.clear()
    fall()
    if is_written_to:
        alice.send(alice)
        Patient("alice").send(Patient("bob"))
    found = waiting.answer()
    assert (found["events"], found["retry_after"], reads["bob"]) == ([], 1, 0)
    assert Patient("bob").get(f"/v2/events?after={cursor}").status_code in {401, 403}


def test_one_more_request_of_an_agent_takes_the_place_of_its_oldest(alice: Speaker) -> None:
    waiting = [Waiting("alice") for _ in range(3)]
    other = Waiting(registered("bob").name)
    waiting.append(Waiting("alice"))
    assert waiting[0].answer()["retry_after"] == 1
    assert not any(each.is_over for each in (*waiting[1:], other))
    alice.send(Patient("bob"))
    for each in (*waiting[1:], other):
        assert each.answer()["events"]


@pytest.mark.parametrize("threads_of_server", [0, 50])
def test_nobody_waits_where_there_is_no_thread_to_spare(
    alice: Speaker, settings: Any, threads_of_server: int
) -> None:
    settings.AGENTWEB = {**settings.AGENTWEB, "STREAM_THREADS": threads_of_server}
    speaker = threaded("alice") if threads_of_server == 0 else alice
    response = speaker.get("/v2/events?after=now&wait=25")
    assert response.json()["retry_after"] == int(response["Retry-After"]) == events_view.BUSY_SECONDS


def test_who_waits_holds_no_connection(alice: Speaker, monkeypatch: pytest.MonkeyPatch) -> None:
    real, held = watch.wait, []

    def noted(*given: Any) -> bool:
        held.append(connections["default"].connection)
        return real(*given)

    monkeypatch.setattr(watch, "wait", noted)
    assert threaded("alice").get("/v2/events?after=now&wait=1").json()["events"] == []
    assert held == [None] or connection.vendor == "sqlite"


def test_the_look_ends_when_nobody_waits(alice: Speaker) -> None:
    waiting = Waiting("alice")
    assert soon(lambda: watch._is_running)
    alice.send(alice)
    waiting.answer()
    assert soon(lambda: not watch._is_running and not watch._waiting)
    assert wakeups.mark()
