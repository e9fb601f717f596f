"""For the tests of a site: an agent that signs, against Django's test client.

::

    agent = TestAgent(scopes=["cart:write"])  # its key, and a grant issued by the site
    answer = agent.post("/agent/add_to_cart", {"product_id": "tea-1", "quantity": 2})
    assert answer.json()["lines"] == 1

``TestAgent`` needs a database. ``clock`` moves the time; ``registry.only`` narrows the catalog for a block.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, cast

from django.http import HttpResponse
from django.test import Client

from agentweb.access import grants, site_keys
from agentweb.catalog.registry import registry
from agentweb.wire import clock as wire_clock
from agentweb.wire.grants import Mandate, encode_chain
from agentweb.wire.http_signature import sign_request
from agentweb.wire.money import parse_amount
from agentweb.wire.signing import SigningKey
from agentweb.wire.strict_json import dumps

__all__ = ["Clock", "TestAgent", "clock", "mandate", "registry"]


def mandate(text: str) -> Mandate:
    """``"USD:50.00/200.00"``: currency, most for one charge, most in all."""
    currency, _, limits = text.partition(":")
    per_tx, _, total = limits.partition("/")
    return Mandate(
        currency=currency, per_tx=parse_amount(per_tx, currency), total=parse_amount(total, currency)
    )


class Clock:
    """A time of day that stands still until it is moved. Unix seconds."""

    def __init__(self, start: float) -> None:
        self.now = start

    def __call__(self) -> float:
        return self.now

    def forward(self, seconds: float) -> None:
        self.now += seconds


@contextmanager
def clock(start: float | None = None) -> Iterator[Clock]:
    """A ``Clock`` in place of the real one, starting now unless told otherwise."""
    moving = Clock(wire_clock.now() if start is None else start)
    with wire_clock.clock(moving):
        yield moving


class TestAgent:
    """An agent with its own key and, when scopes or a mandate are given, a grant that the site issued to it."""

    __test__ = False  # not a test class

    def __init__(
        self,
        *,
        scopes: Sequence[str] = (),
        spending: str | None = None,
        user: Any = None,
        origin: str = "https://shop.example",
        key: SigningKey | None = None,
        client: Client | None = None,
        expires_in: int = 3_600,
        **grant: Any,
    ) -> None:
        self.key = key or SigningKey.generate()
        self.origin = origin
        self.client = client or Client()
        self.grant_header = ""
        if scopes:
            site_keys.ensure_active_key()
            chain = grants.issue(
                subject=self.key.public,
                scopes=list(scopes),
                expires_in=expires_in,
                mandate=mandate(spending) if spending else None,
                user=user,
                site=origin.partition("://")[2],
                **grant,
            )
            self.grant_header = encode_chain([member.document for member in chain])

    def signed_headers(
        self, method: str, target: str, body: bytes = b"", headers: Mapping[str, str] | None = None
    ) -> dict[str, str]:
        """All headers of a freshly signed request."""
        sent = dict(headers or {})
        if self.grant_header:
            sent.setdefault("Agent-Grant", self.grant_header)
        else:
            sent.setdefault("Agent-Key", self.key.public)
        if body:
            sent.setdefault("Content-Type", "application/json")
        signature = sign_request(
            method=method,
            url=self.origin + target,
            body=body,
            key=self.key,
            headers={name.lower(): value for name, value in sent.items()},
            created=int(wire_clock.now()),
        )
        return {**sent, **signature}

    def request(
        self,
        method: str,
        target: str,
        data: Any = None,
        *,
        key: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> HttpResponse:
        """Send a signed request; ``key`` is the Idempotency-Key."""
        body = b"" if data is None else data if isinstance(data, bytes) else dumps(data)
        sent = dict(headers or {})
        if key is not None:
            sent["Idempotency-Key"] = key
        return self.send(method, target, body, self.signed_headers(method, target, body, sent))

    def send(self, method: str, target: str, body: bytes, headers: Mapping[str, str]) -> HttpResponse:
        """Send these very headers, for instance a second time."""
        answer = self.client.generic(
            method,
            target,
            data=body,
            content_type=headers.get("Content-Type", ""),
            headers={name: value for name, value in headers.items() if name != "Content-Type"},
        )
        return cast(HttpResponse, answer)

    def get(self, target: str, **kwargs: Any) -> HttpResponse:
        return self.request("GET", target, **kwargs)

    def post(self, target: str, data: Any = None, **kwargs: Any) -> HttpResponse:
        """POST with an Idempotency-Key of its own unless one is given."""
        kwargs.setdefault("key", secrets.token_urlsafe(16))
        return self.request("POST", target, data if data is not None else {}, **kwargs)
