"""One call until its answer: signed afresh for each attempt, repeated under one key, settled when it is sure.

When is an intent settled? When an answer shows that the site looked at the key and decided, or when no attempt
can have arrived. An answer that comes before the key is looked at (a bad grant, a limit) settles nothing while
an earlier attempt may have acted.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from agentweb.client.errors import SiteError, UnreachableError
from agentweb.client.inputs import Prepared
from agentweb.client.patience import Patience, retry_after_of
from agentweb.client.transport import Answer, Transport
from agentweb.wire.errors import AgentError, ClientError, Code
from agentweb.wire.http_signature import sign_request
from agentweb.wire.signing import SigningKey
from agentweb.wire.strict_json import Json, loads

MAX_ANSWER: Final = 16_777_216
LATEST_TIME: Final = 4_102_444_800
"""The year 2100, in Unix seconds: a site's time beyond it is none, and no signature could carry it."""

_PASSING: Final = frozenset({429, 502, 503, 504})
# Answers that a site gives before it looks at the idempotency key (section 7, order of checks).
_EARLY_STATUS: Final = frozenset({400, 401, 403, 404, 405, 406, 411, 413, 415, 428, 429})
# Answers that tell of another attempt, and not what became of it.
_UNDER_WAY: Final = frozenset(
    {Code.IDEMPOTENCY_IN_PROGRESS, Code.IDEMPOTENCY_KEY_REUSED, Code.REQUEST_REPLAYED}
)


@dataclass(frozen=True, slots=True)
class Outgoing:
    """What is sent: ``origin`` is ``https://host[:port]``; ``grant`` the ``Agent-Grant`` header or None."""

    origin: str
    prepared: Prepared
    grant: str | None = None
    idempotency_key: str | None = None
    is_bare: bool = False
    """Signed with the key alone, without a grant."""

    @property
    def site(self) -> str:
        return self.origin.partition("://")[2]


@dataclass(frozen=True, slots=True)
class _Attempt:
    url: str
    headers: dict[str, str]


@dataclass(frozen=True, slots=True)
class Received:
    """A successful answer. ``is_replayed``: the kept answer of an earlier attempt."""

    value: Json
    status: int
    is_replayed: bool
    request_id: str | None


class SiteClock:
    """Each site's time as far as it told us, so that an agent with a wrong clock can still sign."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._offsets: dict[str, float] = {}

    def now(self, site: str) -> float:
        """The time at ``site`` (``host[:port]``), Unix seconds."""
        return self._clock() + self._offsets.get(site, 0.0)

    def learn(self, site: str, error: SiteError) -> bool:
        """Take the site's time from ``signature_expired``; False when the error tells none that can be."""
        server_time = error.extra.get("server_time")
        if error.code != Code.SIGNATURE_EXPIRED or type(server_time) is not int:
            return False
        if not 0 <= server_time <= LATEST_TIME:
            return False
        self._offsets[site] = server_time - self._clock()
        return True


class Attempts:
    """The attempts of one call. ``is_uncertain`` afterwards: the site may have acted, and we do not know."""

    def __init__(
        self,
        outgoing: Outgoing,
        *,
        transport: Transport,
        key: SigningKey,
        clock: SiteClock,
        patience: Patience,
        is_uncertain: bool = False,
    ) -> None:
        self._outgoing = outgoing
        self._transport = transport
        self._key = key
        self._clock = clock
        self._patience = patience
        self._knows_time = False
        self.is_uncertain = is_uncertain

    def run(self) -> Received:
        """The successful answer. Raises SiteError, UnreachableError or ClientError ``response_invalid``."""
        while True:
            self._patience.begin()
            attempt = self._build()
            was_uncertain = self.is_uncertain
            self.is_uncertain = True  # whatever interrupts us from here on
            try:
                answer = self._send(attempt)
            except UnreachableError as error:
                self.is_uncertain = was_uncertain or error.may_have_arrived
                if not self._patience.wait():
                    raise
                continue
            except ClientError as error:
                self.is_uncertain = was_uncertain or error.code == Code.RESPONSE_INVALID
                raise
            if 200 <= answer.status < 300:
                received = _success(answer)
                self.is_uncertain = False
                return received
            failure = self._failure(answer, was_uncertain=was_uncertain)
            if not self._may_try_again(answer, failure):
                raise failure

    def _build(self) -> _Attempt:
        outgoing, prepared = self._outgoing, self._outgoing.prepared
        url = self._transport.wire_url(outgoing.origin + prepared.target)
        headers: dict[str, str] = {}
        if prepared.body:
            headers["Content-Type"] = "application/json"
        if outgoing.idempotency_key is not None:
            headers["Idempotency-Key"] = outgoing.idempotency_key
        if outgoing.grant is not None:
            headers["Agent-Grant"] = outgoing.grant
        elif outgoing.is_bare:
            headers["Agent-Key"] = self._key.public
        if outgoing.grant is not None or outgoing.is_bare:
            # A new nonce each time: an attempt that repeats one is refused, whatever became of the first.
            headers |= sign_request(
                method=prepared.method,
                url=url,
                body=prepared.body,
                key=self._key,
                headers=headers,
                created=int(self._clock.now(outgoing.site)),
            )
        return _Attempt(url, headers)

    def _send(self, attempt: _Attempt) -> Answer:
        prepared = self._outgoing.prepared
        return self._transport.send(
            prepared.method, attempt.url, headers=attempt.headers, body=prepared.body, max_bytes=MAX_ANSWER
        )

    def _failure(self, answer: Answer, *, was_uncertain: bool) -> AgentError:
        """The error in an answer that is no success; notes what it says about the intent."""
        asked = retry_after_of(answer.headers, self._clock.now(self._outgoing.site))
        error = read_error(answer)
        if error is None:
            # A redirect may follow an act, and a broken proxy may hide one.
            self.is_uncertain = was_uncertain or answer.status >= 500 or answer.status < 400
            return _invalid(answer, "is not a structured error", retry_after=asked)
        if error.retry_after is None and asked is not None and answer.status in _PASSING:
            error.retry_after = max(1, math.ceil(asked))
        if answer.status >= 500 or error.code in _UNDER_WAY:
            self.is_uncertain = True
        elif _is_replayed(answer):
            self.is_uncertain = False
        elif answer.status in _EARLY_STATUS or error.code == Code.INVALID_INPUT:
            self.is_uncertain = was_uncertain
        else:
            self.is_uncertain = False
        return error

    def _may_try_again(self, answer: Answer, error: AgentError) -> bool:
        if isinstance(error, SiteError) and not self._knows_time:
            # Once: a site whose time does not help its own check will not be asked a third time.
            self._knows_time = self._clock.learn(self._outgoing.site, error)
            if self._knows_time:
                return self._patience.wait(0)
        if error.code == Code.REQUEST_REPLAYED:
            return self._patience.wait(0)
        if answer.status in _PASSING or error.code == Code.IDEMPOTENCY_IN_PROGRESS:
            return self._patience.wait(error.retry_after)
        return False


def _success(answer: Answer) -> Received:
    value: Json = None
    if answer.body:
        try:
            value = loads(answer.body, max_bytes=MAX_ANSWER, allow_nul=True)
        except AgentError as error:
            raise _invalid(answer, f"is not JSON: {error.message}") from None
    elif answer.status not in {204, 205}:
        raise _invalid(answer, "is empty")
    return Received(value, answer.status, _is_replayed(answer), answer.headers.get("x-request-id"))


def read_error(answer: Answer) -> SiteError | None:
    """The structured error in an answer, None when there is none."""
    if answer.status < 400:
        return None
    try:
        error = SiteError.read(answer.status, loads(answer.body, max_bytes=MAX_ANSWER, allow_nul=True))
    except AgentError:
        return None
    if error is not None and error.request_id is None:
        error.request_id = answer.headers.get("x-request-id")
    return error


def _is_replayed(answer: Answer) -> bool:
    return answer.headers.get("idempotent-replayed", "").strip().lower() == "true"


def _invalid(answer: Answer, what: str, *, retry_after: float | None = None) -> ClientError:
    return ClientError(
        Code.RESPONSE_INVALID,
        f"The site's answer (status {answer.status}) {what}.",
        retry_after=retry_after,
        http_status=answer.status,
    )
