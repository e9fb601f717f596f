"""Wake-ups come at once where they can, and are in nobody's way where they cannot."""

from __future__ import annotations

import os
import secrets
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import pytest

from agentweb.aim import hints, outlets, redis_hints, wakeups
from tests.support.redis import redis_url

_LONG = 30.0
"""Longer than anything here takes, and shorter than what a test must never wait for."""


@pytest.fixture(autouse=True)
def process(monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that has begun no thread yet."""
    monkeypatch.setattr(outlets, "BREAK_SECONDS", 0.05)
    monkeypatch.setattr(redis_hints, "LISTEN_SECONDS", 0.2)
    monkeypatch.setattr(wakeups, "_process", wakeups._Process({}))


@pytest.fixture
def redis(settings: Any) -> str:
    settings.AGENTWEB = {**settings.AGENTWEB, "WAKE_UPS": redis_url()}
    return redis_url()


@contextmanager
def hung_server() -> Iterator[tuple[int, list[socket.socket]]]:
    """Accepts and never answers. Its port, and the connections that it has."""
    taken: list[socket.socket] = []
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def take() -> None:
            with suppress(OSError):
                while True:
                    taken.append(listener.accept()[0])

        thread = threading.Thread(target=take, daemon=True)
        thread.start()
        yield listener.getsockname()[1], taken
        listener.shutdown(socket.SHUT_RDWR)
    for connection in taken:
        connection.close()


def soon(is_so: Any) -> bool:
    """Whether it becomes so within what is far too long."""
    until = time.monotonic() + _LONG
    while time.monotonic() < until:
        if is_so():
            return True
        time.sleep(0.01)
    return False


def test_who_waits_is_woken() -> None:
    woken = []
    thread = threading.Thread(target=lambda: woken.append(wakeups.wait(_LONG, at_most=_LONG)))
    thread.start()
    until = time.monotonic() + _LONG
    while thread.is_alive() and time.monotonic() < until:
        wakeups.notify()
        time.sleep(0.01)
    thread.join()
    assert woken == [True]


def test_a_wake_up_between_the_look_and_the_waiting_counts() -> None:
    before = wakeups.mark()
    wakeups.notify()
    assert wakeups.wait(_LONG, before, at_most=_LONG)
    assert not wakeups.wait(0.01, wakeups.mark())


def test_nobody_trusts_wake_ups_for_longer_than_a_second() -> None:
    assert wakeups.POLL_SECONDS == 1.0
    assert not wakeups.wait(_LONG, at_most=0.01)
    assert not wakeups.wait(-1)


def test_without_the_setting_no_thread_is_begun() -> None:
    before = threading.active_count()
    wakeups.notify()
    wakeups.wait(0.01)
    assert threading.active_count() == before


def test_many_hints_become_few() -> None:
    sent, gate = [], threading.Event()

    def send() -> None:
        sent.append(1)
        gate.wait(_LONG)

    wakeups.add_outlet("slow", send)
    for _ in range(1_000):
        wakeups.notify()
    assert soon(lambda: len(sent) == 1)
    gate.set()
    assert soon(lambda: len(sent) == 2)
    assert not wakeups._process.more["slow"]._wanted.is_set()


def test_a_failure_is_told_once_and_ends_when_it_ends(caplog: pytest.LogCaptureFixture) -> None:
    works = threading.Event()
    tried = []

    def send() -> None:
        tried.append(1)
        if not works.is_set():
            raise ConnectionError("nobody there\nwith more lines")

    wakeups.add_outlet("broker", send)
    with caplog.at_level("INFO", logger="agentweb.aim"):
        while len(tried) < 3:
            wakeups.notify()
            time.sleep(0.005)
        works.set()
        outlet = wakeups._process.more["broker"]
        assert soon(lambda: wakeups.notify() or not outlet.is_broken)
    levels = [(record.levelname, record.getMessage()) for record in caplog.records]
    assert levels == [
        (
            "WARNING",
            "Hints by broker fail, so events are found later: ConnectionError: nobody there",
        ),
        ("INFO", "Hints by broker get through again."),
    ]


def test_a_redis_that_hangs_is_in_nobody_s_way(settings: Any) -> None:
    """A thousand wake-ups while it hangs: each that waited for it would take a second."""
    with hung_server() as (port, taken):
        settings.AGENTWEB = {**settings.AGENTWEB, "WAKE_UPS": f"redis://127.0.0.1:{port}/0"}
        began = time.monotonic()
        for _ in range(1_000):
            wakeups.notify()
        assert time.monotonic() - began < 500
        assert soon(lambda: taken)
        assert soon(lambda: wakeups._process.redis.is_broken)


def test_a_redis_that_is_not_there_is_in_nobody_s_way(settings: Any) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    settings.AGENTWEB = {**settings.AGENTWEB, "WAKE_UPS": f"redis://127.0.0.1:{port}/0"}
    wakeups.notify()
    assert soon(lambda: wakeups._process.redis.is_broken)
    assert not wakeups.wait(0.01)


def test_a_celery_broker_that_hangs_is_in_nobody_s_way() -> None:
    from celery import Celery

    with hung_server() as (port, _taken):
        app = Celery("hung", broker=f"redis://127.0.0.1:{port}/0", set_as_current=False)
        hints.send_by(app)
        for _ in range(1_000):
            wakeups.notify()
        assert soon(lambda: wakeups._process.more["Celery"].is_broken)


@pytest.mark.services
@pytest.mark.filterwarnings("ignore:.*multi-threaded:DeprecationWarning")
def test_another_process_is_woken_through_redis(redis: str) -> None:
    """The child listens, says that it does, and ends when it is woken."""
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        status = 1
        try:
            os.close(reader)
            mark = wakeups.mark()
            wakeups.wait(_LONG, mark, at_most=_LONG)  # the listener rings once when it is there
            mark = wakeups.mark()
            os.write(writer, b"!")
            status = 0 if wakeups.wait(_LONG, mark, at_most=_LONG) else 2
        finally:
            os._exit(status)
    os.close(writer)
    assert os.read(reader, 1) == b"!"
    os.close(reader)
    assert soon(lambda: wakeups.notify() or os.waitpid(child, os.WNOHANG) == (child, 0))


@pytest.mark.services
@pytest.mark.filterwarnings("ignore:.*multi-threaded:DeprecationWarning")
def test_a_forked_process_begins_threads_of_its_own(redis: str) -> None:
    """As with gunicorn's preload: the parent's thread does not exist in the child."""
    wakeups.notify()
    assert soon(lambda: wakeups._process.redis._send._client is not None)
    child = os.fork()
    if not child:
        status = 1
        try:
            wakeups.notify()
            status = 0 if soon(lambda: wakeups._process.redis._send._client is not None) else 2
        finally:
            os._exit(status)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


@pytest.mark.services
def test_sites_that_share_a_redis_do_not_wake_each_other(redis: str, settings: Any) -> None:
    ours = redis_hints.channel()
    settings.AGENTWEB = {**settings.AGENTWEB, "ORIGIN": f"https://{secrets.token_hex(4)}.example"}
    assert redis_hints.channel() != ours
