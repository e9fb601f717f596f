"""Requests to a service until they are answered: each attempt with a nonce, a time and a signature of its own.

Everything that is asked of a messenger may be asked again, so whatever got no answer is repeated, and so is what
was refused for the moment, when the service said.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from email.utils import parsedate_to_datetime
from typing import Any, Final
from urllib.parse import quote

from agentweb.client.calls import LATEST_TIME, read_error
from agentweb.client.errors import SiteError, UnreachableError
from agentweb.client.messenger.service import WELL_KNOWN, Service, read_service
from agentweb.client.messenger.store import MessengerStore
from agentweb.client.patience import Patience, retry_after_of
from agentweb.client.transport import Answer, Transport
from agentweb.wire.aim.authorization import sign_request
from agentweb.wire.errors import AgentError, ClientError, Code
from agentweb.wire.http_signature import authority_of
from agentweb.wire.signing import SigningKey
from agentweb.wire.strict_json import Json, dumps, loads

MAX_ANSWER: Final = 16_777_216
_PASSING: Final = frozenset({429, 500, 502, 503, 504})
_TELLING: Final = 30.0
"""Seconds by which clocks may differ without our minding; half of it is the road."""

Query = Mapping[str, str | int | None]


class Link:
    """Signed requests to the service at ``origin``. ``patient`` is the transport for answers that are waited for."""

    def __init__(
        self,
        origin: str,
        key: Callable[[], SigningKey],
        store: MessengerStore,
        *,
        transport: Transport,
        patient: Transport,
        patience: Callable[[], Patience],
        clock: Callable[[], float],
    ) -> None:
        self.origin = origin
        self.authority = authority_of(origin)
        self._key = key
        self._store = store
        self._transport, self._patient = transport, patient
        self._patience = patience
        self._clock = clock
        self._service: Service | None = None
        self._offset: float | None = None

    @property
    def service(self) -> Service:
        """The service, as it says of itself; asked once. Raises ClientError ``manifest_invalid``."""
        if self._service is None:
            answer = self._repeat(
                lambda: self._transport.get(self.origin + WELL_KNOWN, headers={}, max_bytes=MAX_ANSWER),
                judges=False,
            )
            self._service = read_service(answer, self.origin)
            self._compare(answer)
        return self._service

    def now(self) -> float:
        """The time at the service, Unix seconds."""
        if self._offset is None:
            self._offset = self._store.offset(self.authority)
        return self._clock() + self._offset

    def call(
        self,
        method: str,
        path: str,
        *,
        query: Query | None = None,
        body: bytes | Json = None,
        signed: bool = True,
        wait: bool = False,
    ) -> Any:
        """The JSON of a successful answer. ``body`` is sent as it is when it is bytes.

        Raises SiteError for what the service refuses, UnreachableError when no answer came, ClientError
        ``response_invalid`` for an answer that is none.
        """
        content = body if isinstance(body, bytes) else b"" if body is None else dumps(body)
        pairs = "&".join(
            f"{name}={quote(str(value), safe='')}"
            for name, value in (query or {}).items()
            if value is not None
        )
        url = self._transport.wire_url(f"{self.origin}{path}{'?' if pairs else ''}{pairs}")
        transport = self._patient if wait else self._transport

        def attempt() -> Answer:
            headers = {"Content-Type": "application/json"} if content else {}
            if method in {"POST", "PUT", "PATCH", "DELETE"} and not content:
                headers["Content-Length"] = "0"
            if signed:
                target = url[len(self.origin) :]
                headers["Authorization"] = sign_request(
                    self._key(), method, target, self.authority, content, ts=int(self.now())
                )
            return transport.send(method, url, headers=headers, body=content, max_bytes=MAX_ANSWER)

        return _json(self._repeat(attempt))

    def _repeat(self, attempt: Callable[[], Answer], *, judges: bool = True) -> Answer:
        """The answer that stands. One that is no success is raised, or with ``judges=False`` handed over."""
        patience = self._patience()
        knows_time = False
        while True:
            patience.begin()
            try:
                answer = attempt()
            except UnreachableError:
                if patience.wait():
                    continue
                raise
            if 200 <= answer.status < 300 or not (judges or answer.status in _PASSING):
                return answer
            error = self._refusal(answer)
            if error.code == Code.CLOCK_SKEW and not knows_time and self._learn(error):
                # Once: a service whose time does not help its own check is not asked a third time.
                knows_time = True
                if patience.wait(0):
                    continue
            elif (error.code == Code.NONCE_REUSED and patience.wait(0)) or (
                answer.status in _PASSING and patience.wait(error.retry_after)
            ):
                continue
            raise error

    def _refusal(self, answer: Answer) -> AgentError:
        asked = retry_after_of(answer.headers, self.now())
        error: AgentError | None = read_error(answer)
        if error is None and answer.status in _PASSING:
            # Of whatever stands before the service while it is away.
            error = UnreachableError(
                f"{self.authority} is away (status {answer.status}).", may_have_arrived=True
            )
        elif error is None:
            error = ClientError(
                Code.RESPONSE_INVALID,
                f"The service's answer (status {answer.status}) is not a structured error.",
                http_status=answer.status,
            )
        if error.retry_after is None and asked is not None and answer.status in _PASSING:
            error.retry_after = max(1, math.ceil(asked))
        return error

    def _learn(self, error: AgentError) -> bool:
        """Take the service's time from ``clock_skew``; False when it tells none that can be."""
        details = error.extra.get("details")
        told = details.get("server_time") if isinstance(details, dict) else None
        if isinstance(told, bool) or not isinstance(told, (int, float)) or not 0 <= told <= LATEST_TIME:
            return False
        self._set_offset(float(told) - self._clock())
        return True

    def _compare(self, answer: Answer) -> None:
        """Look at the ``Date`` of the first answer: an envelope with a wrong time could not be mended any more."""
        try:
            told = parsedate_to_datetime(answer.headers.get("date", "")).timestamp()
        except (ValueError, TypeError, OverflowError):
            return
        if 0 <= told <= LATEST_TIME and abs(told - self.now()) > _TELLING:
            self._set_offset(told - self._clock())

    def _set_offset(self, offset: float) -> None:
        self._offset = offset
        self._store.keep_offset(self.authority, offset)


def _json(answer: Answer) -> Any:
    try:
        return loads(
            answer.body,
            max_bytes=MAX_ANSWER,
            max_depth=64,
            safe_integers=True,
            allow_nul=True,
            floats="float",
        )
    except AgentError as error:
        raise ClientError(
            Code.RESPONSE_INVALID,
            f"The service's answer (status {answer.status}) is not JSON: {error.message}",
            http_status=answer.status,
        ) from None


def refused_by_service(error: AgentError, *codes: Code) -> bool:
    """Is this one of these refusals, of the service itself?"""
    return isinstance(error, SiteError) and error.code in codes
