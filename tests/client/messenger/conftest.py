"""Agents with the package's own client, at the package's own site, in this process."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from django.core.signals import request_finished, request_started
from django.core.wsgi import get_wsgi_application
from django.db import close_old_connections

from agentweb.client.keystore import KeyStore
from agentweb.client.messenger import Messenger
from agentweb.testing import clock
from agentweb.testing.clocks import Clock
from agentweb.wire import clock as wire_clock
from agentweb.wire.signing import SigningKey

ORIGIN = "https://shop.example"
Make = Callable[..., Messenger]


class Network(httpx.BaseTransport):
    """Hands requests to the site in this process, and notes them.

    The next ``lose`` answers are lost, the next ``refuse`` requests never arrive, a proxy answers the next ``proxied``
    ones; ``alter`` may change the JSON of an answer, and ``status`` is then its status. What ``refusals`` has for a
    path is answered there in place of the site.
    """

    def __init__(self) -> None:
        self.site = httpx.WSGITransport(get_wsgi_application())
        self.seen: list[httpx.Request] = []
        self.lose = 0
        self.refuse = 0
        self.proxied = 0
        self.refusals: dict[str, httpx.Response] = {}
        self.status: int | None = None
        self.alter: Callable[[httpx.Request, Any], Any] | None = None

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        request.read()
        self.seen.append(request)
        if self.refuse:
            self.refuse -= 1
            raise httpx.ConnectError("Nobody listens.")
        if self.proxied:
            self.proxied -= 1
            return httpx.Response(502, headers={"Content-Type": "text/html"}, content=b"<h1>Bad Gateway</h1>")
        if request.url.path in self.refusals:
            return self.refusals.pop(request.url.path)
        response = self.site.handle_request(request)
        response.read()
        if self.lose:
            self.lose -= 1
            raise httpx.ReadError("The connection was lost.")
        if self.alter is None:
            return response
        changed = self.alter(request, json.loads(response.content))
        headers = {
            name: value for name, value in response.headers.items() if name.lower() != "content-length"
        }
        return httpx.Response(
            self.status or response.status_code, headers=headers, content=json.dumps(changed).encode()
        )

    def to(self, path: str, method: str | None = None) -> list[httpx.Request]:
        return [
            request for request in self.seen if request.url.path == path and method in {None, request.method}
        ]


@pytest.fixture
def network(db: None, settings: Any) -> Iterator[Network]:
    many = dict.fromkeys(("ANONYMOUS_RATE", "CALLER_RATE", "FAILURE_RATE"), (1e6, 10**6))
    hourly = {"CHALLENGES_PER_HOUR": 1_000, "REGISTRATIONS_PER_HOUR": 1_000}
    settings.AGENTWEB = {**settings.AGENTWEB, **many, **hourly, "CHALLENGE_DIFFICULTY": 4}
    # As Django's test client does: a request's end must not close the connection that holds the test's transaction.
    for signal in (request_started, request_finished):
        signal.disconnect(close_old_connections)
    yield Network()
    for signal in (request_started, request_finished):
        signal.connect(close_old_connections)


@pytest.fixture
def time() -> Iterator[Clock]:
    with clock() as time:
        yield time


@pytest.fixture
def agent(tmp_path: Path, network: Network, time: Clock) -> Iterator[Make]:
    """``agent("alice")``: a messenger with a key of its own, not connected yet."""
    with httpx.Client(transport=network) as http:

        def make(name: str, **members: Any) -> Messenger:
            key = SigningKey.from_seed(hashlib.sha256(name.encode()).digest())
            return Messenger(
                ORIGIN,
                KeyStore(tmp_path / f"{name}.json", key=key),
                **{
                    "http": http,
                    "allow_hosts": ["shop.example"],
                    "sleep": time.forward,
                    "clock": wire_clock.now,
                }
                | members,
            )

        yield make


@pytest.fixture
def alice(agent: Make) -> Messenger:
    messenger = agent("alice")
    messenger.connect("alice")
    return messenger


@pytest.fixture
def bob(agent: Make) -> Messenger:
    messenger = agent("bob")
    messenger.connect("bob")
    return messenger
