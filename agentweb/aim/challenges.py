"""Challenges for newcomers: what they work on before they register. Nothing is stored of them.

``b64url(payload) "." b64url(MAC)``; the payload is JSON ``{"v", "authority", "difficulty", "exp", "rand"}``, the MAC
HMAC-SHA256 over a label and the encoded payload. What was decided when the challenge was given holds until its end.
"""

from __future__ import annotations

import hashlib
import hmac
from typing import Any, Final

from django.conf import settings
from django.utils.crypto import constant_time_compare, salted_hmac

from agentweb import conf
from agentweb.access import limits
from agentweb.access.limits import Allowance
from agentweb.aim.policy import CHALLENGE_SECONDS, per_hour
from agentweb.wire.aim.envelope import write_ts
from agentweb.wire.aim.proof_of_work import ALGORITHM, is_challenge, is_solved
from agentweb.wire.clock import now
from agentweb.wire.encoding import b64url, b64url_decode, new_nonce
from agentweb.wire.errors import AgentError, Code, RequestError
from agentweb.wire.json_writing import dumps
from agentweb.wire.strict_json import loads

POLICY: Final = "challenges"
_LABEL: Final = "AIM2-CHALLENGE"
_VERSION: Final = 1


def new_challenge(site: str) -> dict[str, Any]:
    """The answer of ``POST /v2/challenges``."""
    difficulty = conf.get("CHALLENGE_DIFFICULTY")
    expires = int(now()) + CHALLENGE_SECONDS
    payload = {
        "v": _VERSION,
        "authority": _short(site),
        "difficulty": difficulty,
        "exp": expires,
        "rand": new_nonce(),
    }
    encoded = b64url(dumps(payload))
    return {
        "challenge": f"{encoded}.{b64url(_mac(encoded, settings.SECRET_KEY))}",
        "algorithm": ALGORITHM,
        "difficulty": difficulty,
        "expires_at": write_ts(expires),
        "expires_in": CHALLENGE_SECONDS,
    }


def take(address: str) -> Allowance:
    """Count a challenge against the address that asks; raises rate_limited."""
    key = f"aim-challenges:{limits.address_key(address)}"
    return limits.take(key, per_hour(conf.get("CHALLENGES_PER_HOUR")), POLICY)


def check_work(challenge: str, public: str, solution: str, *, site: str) -> float:
    """When a challenge of ours ends (Unix seconds), to which this is the key's solution.

    Raises challenge_invalid, challenge_expired or solution_invalid.
    """
    payload = _payload(challenge, site)
    if payload["exp"] <= now():
        raise AgentError(
            Code.CHALLENGE_EXPIRED, "The challenge is over; ask for a new one.", field="challenge"
        )
    if not is_solved(challenge, public, payload["difficulty"], solution):
        raise RequestError(
            Code.SOLUTION_INVALID,
            f"This is no solution: the SHA-256 of AIM2-POW, challenge, public_key and solution, each on its own line, "
            f"must begin with {payload['difficulty']} zero bits.",
            field="solution",
            details={"difficulty": payload["difficulty"]},
        )
    return float(payload["exp"])


def digest_of(challenge: str) -> str:
    """By what a used challenge is known."""
    return hashlib.sha256(challenge.encode()).hexdigest()


def _payload(challenge: str, site: str) -> Any:
    encoded, _, mac = challenge.partition(".")
    keys: tuple[str | bytes, ...] = (settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS)
    if not is_challenge(challenge) or not any(
        constant_time_compare(mac, b64url(_mac(encoded, key))) for key in keys
    ):
        raise _invalid()
    # What bears our MAC is what we wrote.
    payload: Any = loads(b64url_decode(encoded))
    if payload["v"] != _VERSION or payload["authority"] != _short(site):
        raise _invalid()
    return payload


def _mac(encoded: str, secret: str | bytes) -> bytes:
    key = salted_hmac("agentweb.aim.challenges", "", secret=secret, algorithm="sha256").digest()
    return hmac.digest(key, f"{_LABEL}\n{encoded}".encode(), hashlib.sha256)


def _short(site: str) -> str:
    """The site's name in so few characters that no challenge gets too long."""
    return b64url(hashlib.sha256(site.encode()).digest()[:16])


def _invalid() -> RequestError:
    return RequestError(
        Code.CHALLENGE_INVALID,
        "This is no challenge of this site; send one that POST /v2/challenges gave, unchanged.",
        field="challenge",
    )
