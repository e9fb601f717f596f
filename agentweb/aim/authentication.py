"""Which agent is calling, by ``Authorization: AIM`` (AIM.md section 4.3), each check before the dearer next one.

``verify``, which asks and writes nothing:
    the header's form; its time; then the body is read: the signature, over each name of the site in turn; and the
    time again, for the body may have come slowly.
``admit``:
    whose key it is, and whether that agent may act; then, in one transaction of its own, the limit of the key and
    the nonce.

Nothing is written before the signature and the agent are both good: anyone can make a key and sign. The nonce is
committed before the work begins, so no failure of the work can bring it back.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, TypedDict

from django.db import transaction

from agentweb import conf
from agentweb.access import admission, limits, nonces
from agentweb.access.limits import Allowance
from agentweb.access.rows import database, refusing_when_the_store_fails
from agentweb.aim import log, statements
from agentweb.aim.models import Agent
from agentweb.aim.statements import Statement
from agentweb.wire.aim import authorization
from agentweb.wire.aim.authorization import MAX_SKEW_SECONDS, NONCE_SECONDS
from agentweb.wire.clock import now
from agentweb.wire.errors import AgentError, AuthenticationError, AuthorizationError, Code, ServerError

# All of them, in the order of the model: that is how an instance is made of them.
_AGENT: Final = ("id", "name", "skeleton", "status", "dm_policy", "created_at", "ended_at", "registered_seq")
_HOLDER: Final = Statement(
    "SELECT k.since, k.until, h.epoch_since, {columns} FROM {agent_key} k JOIN {agent} a ON a.id = k.agent_id "
    "LEFT JOIN {head} h ON h.name = %s WHERE k.public = %s",
    columns=", ".join(f"a.{name}" for name in _AGENT),
)


@dataclass(frozen=True, slots=True)
class Verified:
    """A request that ``key`` signed, for this site and lately. Whose key it is, and whether the request was seen
    before, is not known yet."""

    key: str
    ts: int
    nonce: str


@dataclass(frozen=True, slots=True)
class Holder:
    """A registered key and whose it is. ``is_current`` says that it has not been replaced. ``epoch_since`` is the
    log's, None before its first use."""

    public: str
    agent: Agent
    since: datetime
    is_current: bool
    epoch_since: datetime | None


@dataclass(frozen=True, slots=True)
class Admitted:
    """A request of an agent that may act. ``allowance`` is what the limit of its key has left."""

    agent: Agent
    key: str
    allowance: Allowance


def verify(
    header: str,
    *,
    method: str,
    target: str,
    authorities: Sequence[str],
    read_body: Callable[[], bytes],
    check_key: Callable[[str], object] = lambda key: None,
) -> Verified:
    """The signed request. ``target`` is as on the wire, ``authorities`` are the names for which agents may sign.

    ``check_key`` is asked about the key before anything is done with it. Raises malformed_authorization, clock_skew
    (``details.server_time``), bad_signature (``details`` as the server saw the request) and what ``read_body`` and
    ``check_key`` raise.
    """
    credentials = authorization.parse_header(header)
    check_key(credentials.key)
    _check_time(credentials.ts)
    digest = authorization.body_digest(read_body())
    if not any(
        authorization.verify(credentials, method, target, authority, digest) for authority in authorities
    ):
        raise AuthenticationError(
            Code.BAD_SIGNATURE,
            "The signature is not that of this request by this key. Compare what you signed with details, which "
            "is what arrived here, and sign again with a new nonce.",
            details={
                "method": method,
                "target": target,
                "authority": authorities[0],
                "body_sha256": digest,
            },
        )
    _check_time(credentials.ts)
    return Verified(credentials.key, credentials.ts, credentials.nonce)


def find_key(public: str) -> Holder | None:
    """Whose key it is, of a rotated one too. One statement."""
    found = _HOLDER.fetch([log.NAME, public])
    if not found:
        return None
    since, until, epoch_since, *before, created_at, ended_at, registered_seq = found[0]
    columns = [*before, _instant(created_at), _instant(ended_at), registered_seq]
    return Holder(
        public,
        Agent.from_db(database(), _AGENT, columns),
        since=statements.read_instant(since),
        is_current=until is None,
        epoch_since=_instant(epoch_since),
    )


def _instant(value: Any) -> datetime | None:
    return None if value is None else statements.read_instant(value)


def admit(verified: Verified) -> Admitted:
    """The agent whose request this is, once.

    Raises unknown_key, key_rotated, agent_suspended, agent_deleted, clock_skew, overloaded (``check_epoch``),
    rate_limited, nonce_reused; or unavailable when the database fails.
    """
    with refusing_when_the_store_fails():
        key = find_key(verified.key)
    if key is None:
        raise AuthenticationError(
            Code.UNKNOWN_KEY,
            "No agent is registered with this key. Register it: POST /v2/challenges, then /v2/agents/register.",
        )
    return admit_key(verified, key)


def admit_key(verified: Verified, key: Holder) -> Admitted:
    """``admit``, where the key has been looked up."""
    agent = key.agent
    if agent.status == Agent.Status.DELETED:
        raise AgentError(Code.AGENT_DELETED, "This agent has been deleted; its name is not given again.")
    if agent.status == Agent.Status.SUSPENDED:
        raise AuthorizationError(Code.AGENT_SUSPENDED, "The site has suspended this agent.")
    if not key.is_current:
        raise AuthenticationError(
            Code.KEY_ROTATED, "The agent has another key by now; sign with that, not with this one."
        )
    check_epoch(verified, key.epoch_since)
    with refusing_when_the_store_fails(), _seen_once():
        allowance = admission.admit(
            f"aim:{verified.key}", conf.get("CALLER_RATE"), limits.CALLER, **_nonce(verified)
        )
    return Admitted(agent, verified.key, allowance)


def admit_address(address: str) -> Allowance:
    """Count a request of a key that may be nobody's against its address. Raises rate_limited or unavailable."""
    with refusing_when_the_store_fails():
        return limits.admit_anonymous(address)


def admit_newcomer(verified: Verified) -> None:
    """Use up the nonce of a key that is nobody's yet; its address bounds how many (``admit_address``).

    Only after the newcomer has shown its work. Raises clock_skew, overloaded, nonce_reused or unavailable.
    """
    with refusing_when_the_store_fails():
        since = log.ends().since
    check_epoch(verified, since)
    # Durable: an enclosing transaction could roll the nonce back.
    with (
        refusing_when_the_store_fails(),
        _seen_once(),
        transaction.atomic(using=database(), durable=True),
    ):
        nonces.burn(**_nonce(verified))


def check_epoch(verified: Verified, since: datetime | None) -> None:
    """Refuse what may have been signed before the database was restored at ``since``: it may have been here, and the
    nonce that says so be forgotten. That holds for a key that is not known as well, whose agent may be forgotten.

    Who signed before may have named a time up to MAX_SKEW_SECONDS later. Raises overloaded (with ``retry_after``) until
    that is over, for what is signed until then is not told apart from it; afterwards clock_skew. The first epoch of a
    site (``log.begin``) is since 1970 and refuses nobody.
    """
    if since is None:
        return
    trusted = int(since.timestamp()) + MAX_SKEW_SECONDS + 1
    if verified.ts >= trusted:
        return
    wait = trusted - now()
    if wait > 0:
        raise ServerError(
            Code.OVERLOADED,
            "The site's database has just been restored from a backup, and requests that were signed before could be "
            "played again. Sign this one again after retry_after seconds.",
            retry_after=wait,
        )
    raise _skewed("The request was signed before the site's database was restored; sign it again.")


class _Nonce(TypedDict):
    """The arguments of ``nonces.burn``."""

    key: str
    nonce: str
    expires: float


def _nonce(verified: Verified) -> _Nonce:
    """What uses up the nonce of a request."""
    return {
        "key": f"aim:{verified.key}",
        "nonce": verified.nonce,
        "expires": verified.ts + NONCE_SECONDS - nonces.MARGIN_SECONDS,
    }


@contextmanager
def _seen_once() -> Iterator[None]:
    """Say it in the messenger's words when a nonce was used before."""
    try:
        yield
    except AuthenticationError:
        raise AuthenticationError(
            Code.NONCE_REUSED,
            "This request has been here before. Every attempt needs a new nonce and a new signature; the "
            "envelope in it stays as it is.",
        ) from None


def _check_time(ts: int) -> None:
    if abs(now() - ts) > MAX_SKEW_SECONDS:
        raise _skewed(
            f"ts is more than {MAX_SKEW_SECONDS} seconds from the server's clock. Set yours by "
            "details.server_time, and sign again."
        )


def _skewed(message: str) -> AuthenticationError:
    return AuthenticationError(Code.CLOCK_SKEW, message, field="ts", details={"server_time": int(now())})
