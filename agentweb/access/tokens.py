"""Bearer tokens: ``agw_`` and 43 base64url characters. The database has their digests only.

A token of a program that waits for a person, or waited in vain, is refused here, each state with a code of its own.
"""

from __future__ import annotations

import hashlib
import re
import secrets
from typing import Final

from agentweb.access import limits
from agentweb.access.models import Pairing
from agentweb.wire.clock import now_datetime
from agentweb.wire.encoding import b64url
from agentweb.wire.errors import AuthenticationError, Code

PREFIX: Final = "agw_"
CHALLENGE: Final = {"WWW-Authenticate": 'Bearer error="invalid_token"'}
INTERVAL_SECONDS: Final = 3
"""How often a program that waits may ask."""

_TOKEN: Final = re.compile(r"agw_[A-Za-z0-9_-]{43}")
_BYTES: Final = 32
_POLLS: Final = (0.5, 5)


def new() -> str:
    """A fresh token."""
    return PREFIX + b64url(secrets.token_bytes(_BYTES))


def digest_of(token: str) -> str:
    # 256 random bits: a plain digest gives nothing away, and none has to be guessed slowly.
    return hashlib.sha256(token.encode()).hexdigest()


def is_well_formed(token: str) -> bool:
    return _TOKEN.fullmatch(token) is not None


def refuse_waiting(digest: str) -> None:
    """Refuse the token of a request for a session that is none yet, or will be none; nothing for other tokens.

    Raises 401 ``session_pending``, ``session_denied``, ``session_expired`` or ``session_revoked``, and
    ``rate_limited`` for one who does not wait between asking twice.
    """
    found = Pairing.objects.filter(token_digest=digest).values_list("state", "expires_at").first()
    if found is None or found[0] == Pairing.State.APPROVED:
        return
    state, expires_at = found
    if state == Pairing.State.DENIED:
        message = "The person said no to your request. Do not ask again; tell them what you wanted it for."
        raise AuthenticationError(Code.SESSION_DENIED, message, headers=CHALLENGE)
    if state == Pairing.State.CANCELLED:
        message = "You took this request for a session back; make a new one."
        raise AuthenticationError(Code.SESSION_REVOKED, message, headers=CHALLENGE)
    if expires_at <= now_datetime():
        message = "No person answered your request in time; make a new one when they are there."
        raise AuthenticationError(Code.SESSION_EXPIRED, message, headers=CHALLENGE)
    limits.take(f"waiting:{digest}", _POLLS, limits.PAIRINGS)
    raise AuthenticationError(
        Code.SESSION_PENDING,
        "The person has not decided about your request yet. Show them verification_url and the code; then repeat "
        "this call after retry_after seconds.",
        retry_after=INTERVAL_SECONDS,
        headers=CHALLENGE,
        expires=int(expires_at.timestamp()),
    )
