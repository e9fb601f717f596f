"""Looking up a host never takes longer than the request may, whatever its name servers do."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from agentweb.client import lookups
from agentweb.client.lookups import addresses_of
from agentweb.client.transport import Transport
from agentweb.wire.errors import ClientError
from tests.client.test_peers import PUBLIC


class Silence:
    """Name servers that say nothing of some hosts until ``over`` is set."""

    def __init__(self) -> None:
        self.over = threading.Event()
        self.asked: list[str] = []
        self.known: dict[str, list[list[str]]] = {}

    def getaddrinfo(self, host: Any, port: Any, *args: Any, **kwargs: Any) -> Any:
        self.asked.append(host)
        if not self.known.get(host):
            self.over.wait(30)
            raise socket.gaierror(socket.EAI_AGAIN, "no answer")
        return [
            (socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port))
            for address in self.known[host].pop(0)
        ]


def waiting() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "agentweb-lookup"]


@pytest.fixture
def silence(monkeypatch: pytest.MonkeyPatch) -> Iterator[Silence]:
    silent = Silence()
    monkeypatch.setattr(socket, "getaddrinfo", silent.getaddrinfo)
    yield silent
    silent.over.set()
    for thread in waiting():
        thread.join(10)


def refused(host: str, seconds: float = 0.05) -> Any:
    with pytest.raises(ClientError) as caught:
        addresses_of(host, 443, seconds)
    return caught.value.extra["reason"]


def test_name_servers_that_say_nothing_are_left_in_time(silence: Silence) -> None:
    assert refused("silent.example") == "time"


def test_no_more_look_ups_hang_than_there_are_places(
    silence: Silence, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lookups, "_places", threading.BoundedSemaphore(2))
    assert [refused(f"silent{n}.example") for n in range(5)] == ["time"] * 5
    assert len(silence.asked) == len(waiting()) == 2
    silence.over.set()
    for thread in waiting():
        thread.join(10)
    silence.known["found.example"] = [[PUBLIC, PUBLIC]]
    assert addresses_of("found.example", 443, 5) == [PUBLIC]


def test_a_name_that_leads_nowhere_is_told_from_silence(silence: Silence) -> None:
    silence.over.set()
    assert refused("nowhere.example", 5) == "host"


def test_an_address_is_looked_up_nowhere(silence: Silence) -> None:
    assert addresses_of("10.0.0.1", 443, 0) == ["10.0.0.1"]
    assert addresses_of("2606:4700::1111", 443, 0) == ["2606:4700::1111"]
    assert silence.asked == []


@pytest.mark.parametrize("answers", [[], [[PUBLIC]]], ids=["before", "at-the-connection"])
def test_a_request_ends_in_time_whichever_look_up_hangs(silence: Silence, answers: list[list[str]]) -> None:
    silence.known["slow.example"] = list(answers)
    transport = Transport(seconds=0.2)
    with pytest.raises(ClientError) as caught:
        transport.send("GET", "https://slow.example/", headers={}, max_bytes=100)
    transport.close()
    assert (caught.value.code, caught.value.extra["reason"]) == ("site_unreachable", "time")
    assert len(silence.asked) == len(answers) + 1
