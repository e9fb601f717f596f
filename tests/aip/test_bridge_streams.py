"""Two hundred open streams in one process: connections, memory, other requests, and the end of the server."""

from __future__ import annotations

import re
import socket
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.aip.live.site import Site, serving
from tests.support.races import _postgres_admin, fresh_database

PERSONS = 10
EACH = 20
POSTS = 100


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    directory = tmp_path_factory.mktemp("streams")
    with fresh_database("postgres", directory) as database, serving("asgi", database) as found:
        yield found


class Person:
    """One who has logged in, and says what their pages say."""

    def __init__(self, site: Site, name: str) -> None:
        self.site = site
        self.client = httpx.Client(base_url=site.origin, timeout=60)
        self.client.get(f"/enter/{name}")
        found = re.search(r'data-csrf-token="(\w+)"', self.client.get("/board").text)
        assert found is not None
        self.client.headers["X-CSRFToken"] = found[1]

    def say(self, **message: Any) -> dict[str, Any]:
        answer = self.client.post("/__aim/bridge", json=message)
        assert answer.status_code == 200, answer.text
        told: dict[str, Any] = answer.json()
        return told

    def open_stream(self) -> socket.socket:
        """A new page of this person with its stream, which has begun."""
        tab = self.say(page="/board", offers=["paint"])["tab"]
        host, _, port = self.site.origin.removeprefix("http://").partition(":")
        stream = socket.create_connection((host, int(port)), timeout=60)
        cookies = "; ".join(f"{name}={value}" for name, value in self.client.cookies.items())
        stream.sendall(
            f"GET /__aim/bridge?tab={tab} HTTP/1.1\r\nHost: {host}:{port}\r\nCookie: {cookies}\r\n"
            "Accept: text/event-stream\r\n\r\n".encode()
        )
        head = b""
        while b"retry: " not in head:
            head += stream.recv(4_096)
        assert head.startswith(b"HTTP/1.1 200 "), head
        return stream


def resident(site: Site) -> int:
    """Bytes of memory of the server's process."""
    pages = int(Path(f"/proc/{site.process.pid}/statm").read_text().split()[1])
    return pages * 4_096


def connections(site: Site) -> int:
    with _postgres_admin() as admin:
        row = admin.execute(
            "SELECT count(*) FROM pg_stat_activity WHERE datname = %s", [site.database.name]
        ).fetchone()
    return int(row[0])


def timed(work: Callable[[], Any]) -> list[float]:
    """Milliseconds of each of POSTS times, sorted."""
    took = []
    for _ in range(POSTS):
        began = time.perf_counter()
        work()
        took.append((time.perf_counter() - began) * 1_000)
    return sorted(took)


def test_two_hundred_streams_cost_two_connections_and_little_memory(
    site: Site, capsys: pytest.CaptureFixture[str]
) -> None:
    persons = [Person(site, f"p{number}") for number in range(PERSONS)]
    speaker = Person(site, "bob")
    tab = speaker.say(page="/board")["tab"]
    before = timed(lambda: speaker.say(tab=tab, state={"n": 1}))

    def open_some(of_each: int) -> list[socket.socket]:
        return [person.open_stream() for _ in range(of_each) for person in persons]

    # The first ones warm the process up: what it needs for any number of requests it keeps.
    streams = open_some(4)
    few = resident(site)
    more = open_some(EACH - 4)
    each = (resident(site) - few) / len(more) / 1_024
    streams += more
    site.until(lambda: connections(site) <= 2)
    most = max(connections(site) for _ in range(20) if not time.sleep(0.05))
    tab = speaker.say(page="/board")["tab"]
    after = timed(lambda: speaker.say(tab=tab, state={"n": 2}))
    # Calls that wait for a page that never answers hold none each either.
    streams.append(Person(site, "ada").open_stream())
    with ThreadPoolExecutor(8) as pool:
        calls = [pool.submit(site.invoke, "paint", {"colour": "red"}) for _ in range(8)]
        time.sleep(1.5)
        waiting = connections(site)
        answers = [call.result() for call in calls]
    began = time.monotonic()
    site.process.terminate()
    site.process.wait(20)
    ended = time.monotonic() - began
    with capsys.disabled():
        print(
            f"\n{len(streams)} streams: {each:.0f} KiB each, {most} connections, {waiting} with 8 calls; "
            f"POST p50 {before[POSTS // 2]:.0f} ms without and {after[POSTS // 2]:.0f} ms with them, "
            f"p99 {before[-2]:.0f} and {after[-2]:.0f} ms; the server ended after {ended:.1f} s"
        )
    for stream in streams:
        stream.close()
    assert most <= 2
    assert {answer.json()["error"]["code"] for answer in answers} == {"timeout"}
    assert waiting <= 2
    assert each <= 64
    assert after[-2] <= before[-2] * 3 + 250  # a machine that does other things too
    assert ended <= 10
