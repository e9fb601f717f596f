"""For the tests of a site: an agent that signs, against Django's test client.

::

    agent = TestAgent(scopes=["cart:write"])  # its key, and a grant issued by the site
    answer = agent.post("/agent/add_to_cart", {"product_id": "tea-1", "quantity": 2})
    assert answer.json()["lines"] == 1

``TestAgent`` needs a database, and a site that knows its ``AGENTWEB["ORIGIN"]``.
``clock`` moves the time; ``registry.only`` narrows the catalog for a block.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final, cast

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.http import HttpResponse
from django.test import Client

from agentweb import conf
from agentweb.access import grants, site_keys
from agentweb.catalog.registry import registry
from agentweb.wire import clock as wire_clock
from agentweb.wire.errors import MoneyError
from agentweb.wire.grants import Mandate, encode_chain
from agentweb.wire.http_signature import authority_of, sign_request
from agentweb.wire.money import parse_amount
from agentweb.wire.signing import SigningKey
from agentweb.wire.strict_json import dumps

__all__ = ["Clock", "TestAgent", "clock", "mandate", "registry"]

_GRANT_OPTIONS: Final = ("delegate", "note", "one_time")


def mandate(text: str) -> Mandate:
    """``"USD:50.00/200.00"``: currency, most for one charge, most in all. ValueError for any other text."""
    currency, _, limits = text.partition(":")
    per_tx, _, total = limits.partition("/")
    try:
        return Mandate(
            currency=currency, per_tx=parse_amount(per_tx, currency), total=parse_amount(total, currency)
        )
    except MoneyError as error:
        raise ValueError(
            f"A mandate is written like USD:50.00/200.00, not {text!r}: {error.message}"
        ) from None


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
    """An agent with its own key and, when scopes are given, a grant that the site issued to it.

    ``spending`` (or ``mandate``, its other name) is ``"USD:50.00/200.00"`` or a ``Mandate``; ``user`` is the person for
    whom the agent acts; ``one_time``, ``delegate`` and ``note`` are the grant's. ``origin`` is what the site calls
    itself: ``AGENTWEB["ORIGIN"]``, and without it the test client's own host, under DEBUG only, as for any request.
    Raises TypeError for arguments that do not go together, ImproperlyConfigured for a site without an origin, and
    InputError for a grant that the site would not issue.
    """

    __test__ = False  # not a test class

    def __init__(
        self,
        *,
        scopes: Sequence[str] = (),
        spending: str | Mandate | None = None,
        mandate: str | Mandate | None = None,
        user: Any = None,
        origin: str | None = None,
        key: SigningKey | None = None,
        client: Client | None = None,
        expires_in: int = 3_600,
        **grant: Any,
    ) -> None:
        _check_arguments(scopes, spending, mandate, user, key, grant)
        self.key = key or SigningKey.generate()
        self.origin = _default_origin() if origin is None else origin.rstrip("/")
        site = authority_of(self.origin)
        self.client = client or Client()
        self.grant_header = ""
        if scopes:
            site_keys.ensure_active_key()
            chain = grants.issue(
                subject=self.key.public,
                scopes=list(scopes),
                expires_in=expires_in,
                mandate=_read_mandate(spending if mandate is None else mandate),
                user=user,
                site=site,
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
            # As the origin says, so that a site with SECURE_SSL_REDIRECT does not send the agent elsewhere.
            secure=self.origin.startswith("https:"),
            headers={name: value for name, value in headers.items() if name != "Content-Type"},
        )
        return cast(HttpResponse, answer)

    def get(self, target: str, **kwargs: Any) -> HttpResponse:
        return self.request("GET", target, **kwargs)

    def post(self, target: str, data: Any = None, **kwargs: Any) -> HttpResponse:
        """POST with an Idempotency-Key of its own unless one is given."""
        kwargs.setdefault("key", secrets.token_urlsafe(16))
        return self.request("POST", target, data if data is not None else {}, **kwargs)


def _check_arguments(
    scopes: object, spending: object, mandate: object, user: object, key: object, grant: Mapping[str, Any]
) -> None:
    if isinstance(scopes, str) or not isinstance(scopes, Sequence):
        raise TypeError(f'scopes is a list like ["cart:write"], not {scopes!r}.')
    unknown = sorted(set(grant) - set(_GRANT_OPTIONS))
    if unknown:
        raise TypeError(
            f"TestAgent knows no {', '.join(unknown)}; of a grant it takes {', '.join(_GRANT_OPTIONS)}."
        )
    if spending is not None and mandate is not None:
        raise TypeError("spending and mandate are one thing; give one of them.")
    if key is not None and not isinstance(key, SigningKey):
        raise TypeError(f"key is a SigningKey, for instance SigningKey.generate(), not {type(key).__name__}.")
    given = {"spending": spending, "mandate": mandate, "user": user, **grant}
    idle = [name for name, value in given.items() if value is not None]
    if idle and not scopes:
        raise TypeError(
            f"{', '.join(idle)} would be part of a grant, and a grant has scopes: give scopes too."
        )


def _read_mandate(given: object) -> Mandate | None:
    if given is None or isinstance(given, Mandate):
        return given
    if isinstance(given, str):
        return mandate(given)
    raise TypeError(f'A mandate is a text like "USD:50.00/200.00" or a Mandate, not {type(given).__name__}.')


def _default_origin() -> str:
    configured = conf.get("ORIGIN")
    if configured:
        return str(configured).rstrip("/")
    if settings.DEBUG:
        return "http://testserver"
    raise ImproperlyConfigured(
        'AGENTWEB["ORIGIN"] is not set, so the site refuses every signed request outside DEBUG. Set it in the '
        'settings, or for the test: @override_settings(AGENTWEB={"ORIGIN": "https://testserver"}).'
    )
