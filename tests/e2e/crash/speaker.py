"""One signed request after the other over one connection, and what came back of it."""

from __future__ import annotations

import http.client
import json
import time
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final

from agentweb.wire.aim.authorization import sign_request
from agentweb.wire.encoding import new_nonce
from agentweb.wire.signing import SigningKey

AUTHORITY: Final = "aim.example"
"""What everybody signs for, wherever the server listens."""
TIMEOUT: Final = 60.0


class Lost(Exception):
    """No whole answer came: the request may or may not have been carried out."""


@dataclass(frozen=True)
class Answer:
    status: int
    value: Any

    @property
    def error(self) -> dict[str, Any]:
        """The error of a refusal; its code is empty when the answer is none of ours."""
        error = self.value.get("error") if isinstance(self.value, dict) else None
        return error if isinstance(error, dict) else {"code": ""}


@dataclass(frozen=True)
class Signed:
    """A request as it goes over the wire; sending it again is a replay."""

    method: str
    target: str
    body: bytes
    headers: dict[str, str]
    nonce: str
    ts: int


class Speaker:
    """Speaks for one key, or for nobody. Not for several threads at once."""

    def __init__(self, port: int, key: SigningKey | None, *, timeout: float = TIMEOUT) -> None:
        self._port = port
        self._key = key
        self._timeout = timeout
        self._connection: http.client.HTTPConnection | None = None

    def ask(self, method: str, target: str, value: Any = None) -> Answer:
        return self.send(self.sign(method, target, value))

    def sign(self, method: str, target: str, value: Any = None) -> Signed:
        """A new attempt with a fresh nonce; ``value`` may be bytes that are JSON already."""
        body = b"" if value is None else value if isinstance(value, bytes) else json.dumps(value).encode()
        headers = {"Content-Type": "application/json"} if body else {}
        nonce, ts = new_nonce(), int(time.time())
        if self._key is not None:
            headers["Authorization"] = sign_request(
                self._key, method, target, AUTHORITY, body, ts=ts, nonce=nonce
            )
        return Signed(method, target, body, headers, nonce, ts)

    def send(self, request: Signed) -> Answer:
        """Raises Lost when no whole answer comes."""
        if self._connection is None:
            self._connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=self._timeout)
        try:
            self._connection.request(request.method, request.target, request.body, request.headers)
            response = self._connection.getresponse()
            content = response.read()
            if response.will_close:
                self.close()
            return Answer(response.status, json.loads(content))
        except (OSError, http.client.HTTPException, ValueError) as error:
            self.close()
            raise Lost(repr(error)) from error

    def close(self) -> None:
        if self._connection is not None:
            with suppress(OSError):
                self._connection.close()
            self._connection = None
