"""A name that leads elsewhere the second time it is asked (DNS rebinding)."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from agentweb.client.transport import Transport
from agentweb.wire.errors import ClientError

PUBLIC = "93.184.216.34"


class Listener:
    """Accepts connections on 127.0.0.1 and keeps whatever arrives."""

    def __init__(self) -> None:
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.port: int = self.socket.getsockname()[1]
        self.received: list[bytes] = []
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()

    def _run(self) -> None:
        while True:
            try:
                connection, _ = self.socket.accept()
            except OSError:
                return
            with connection:
                connection.settimeout(5)
                self.received.append(connection.recv(1_024))

    def close(self) -> None:
        if self.socket.fileno() == -1:
            return
        self.socket.shutdown(socket.SHUT_RDWR)
        self.socket.close()
        self.thread.join(5)


@pytest.fixture
def listener() -> Iterator[Listener]:
    listening = Listener()
    yield listening
    listening.close()


def names(monkeypatch: pytest.MonkeyPatch, answers: dict[str, list[Any]]) -> None:
    """Let a host's name lead to these addresses (lists of them, too), one after the other, the last one for ever."""
    real = socket.getaddrinfo

    def getaddrinfo(host: Any, port: Any, *args: Any, **kwargs: Any) -> Any:
        listed = answers.get(host)
        if listed is None:
            return real(host, port, *args, **kwargs)
        address = listed.pop(0) if len(listed) > 1 else listed[0]
        several = address if isinstance(address, list) else [address]
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (each, port)) for each in several]

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)


def test_a_name_that_leads_into_the_own_network_at_the_connection_gets_no_byte(
    listener: Listener, monkeypatch: pytest.MonkeyPatch
) -> None:
    names(monkeypatch, {"rebind.example": [PUBLIC, "127.0.0.1"]})
    transport = Transport(seconds=5)
    with pytest.raises(ClientError, match="when it was called") as refused:
        transport.send("GET", f"https://rebind.example:{listener.port}/", headers={}, max_bytes=100)
    assert refused.value.code == "site_unreachable"
    transport.close()
    listener.close()
    assert b"".join(listener.received) == b""


def test_a_host_that_the_caller_vouches_for_is_connected_to(
    listener: Listener, monkeypatch: pytest.MonkeyPatch
) -> None:
    names(monkeypatch, {"inside.example": ["127.0.0.1"]})
    transport = Transport(seconds=5, allowed=["Inside.example"])
    with pytest.raises(ClientError):  # the listener speaks no TLS
        transport.send("GET", f"https://inside.example:{listener.port}/", headers={}, max_bytes=100)
    transport.close()
    assert listener.received != []
    assert listener.received[0].startswith(b"\x16\x03")  # a TLS handshake began


@pytest.mark.parametrize("host", ["xn--exmple-cua.example", "exämple.example", "REBIND.example"])
def test_a_name_is_looked_at_however_it_is_written(
    host: str, listener: Listener, monkeypatch: pytest.MonkeyPatch
) -> None:
    wired = {"REBIND.example": "rebind.example"}.get(host, "xn--exmple-cua.example")
    names(monkeypatch, {wired: [PUBLIC, "127.0.0.1"]})
    transport = Transport(seconds=5)
    url = transport.wire_url(f"https://{host}:{listener.port}/")
    with pytest.raises(ClientError, match="when it was called"):
        transport.send("GET", url, headers={}, max_bytes=100)
    transport.close()
    listener.close()
    assert b"".join(listener.received) == b""


def test_the_next_address_of_a_host_is_tried_where_one_cannot_be_reached(
    listener: Listener, monkeypatch: pytest.MonkeyPatch
) -> None:
    names(monkeypatch, {"inside.example": [["127.0.0.9", "127.0.0.8", "127.0.0.1"]]})
    transport = Transport(seconds=5, allowed=["inside.example"])
    with pytest.raises(ClientError):  # the listener speaks no TLS
        transport.send("GET", f"https://inside.example:{listener.port}/", headers={}, max_bytes=100)
    transport.close()
    assert listener.received[0].startswith(b"\x16\x03")


def test_one_private_address_among_several_spoils_the_host(
    listener: Listener, monkeypatch: pytest.MonkeyPatch
) -> None:
    names(monkeypatch, {"mixed.example": [[PUBLIC], [PUBLIC, "127.0.0.1"]]})
    transport = Transport(seconds=5)
    with pytest.raises(ClientError, match="when it was called"):
        transport.send("GET", f"https://mixed.example:{listener.port}/", headers={}, max_bytes=100)
    transport.close()
    listener.close()
    assert listener.received == []
