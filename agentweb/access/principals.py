"""People's own keys: enrolled once on an account, they issue grants that the site did not sign (AGENT_ACTIONS 2.1).

The site never sees the private half. A key belongs to one account. Taken off, it is revoked: what it issued ends at
the next request, and it cannot be enrolled again.
"""

from __future__ import annotations

from typing import Any, Final

from django.contrib.auth import get_user_model
from django.core import signing
from django.db import transaction

from agentweb.access import revocation_log, revocations
from agentweb.access.database import first_write
from agentweb.access.issuing import problem
from agentweb.access.models import PrincipalKey, Revocation, SiteKey
from agentweb.access.rows import database, insert_if_absent
from agentweb.wire.clock import now_datetime
from agentweb.wire.enrolment import verify_enrolment
from agentweb.wire.errors import InputError
from agentweb.wire.signing import parse_public_key
from agentweb.wire.strict_json import Json

MAX_LABEL: Final = 100
CHALLENGE_SECONDS: Final = 600
"""How long a challenge can be answered."""

_SALT: Final = "agentweb.access.principals.challenge"
_NOT_PROVEN: Final = {
    "malformed": "The proof is a signed agent-enrolment/0.1 document with site, key and challenge.",
    "site": "The proof is for another site.",
    "key": "The proof is for another key.",
    "signature": "The proof is not signed by this key.",
    "challenge": "The challenge is not yours or too old; ask for a new one and sign that.",
}


def enrol(
    user: Any, public: str, label: str = "", *, proof: Json = None, site: str | None = None
) -> PrincipalKey:
    """Enrol ``public`` (``ed25519:…``) as a key of ``user``; ``label`` is the person's own name for it.

    ``proof``, with the ``site`` (``host[:port]``) it is for, shows that the person holds the key: a document of
    ``wire.enrolment`` over a text of ``challenge``. Without one, it is the word of whoever calls this that counts.

    Raises ``invalid_input`` with every problem at once. Codes: ``format``; ``inactive``: the person is not active;
    ``proof``; ``site_key``: it is the site's own; ``revoked``; ``enrolled``: it is theirs already; ``taken``.
    """
    problems = _of_label(label)
    if not getattr(user, "is_active", True):
        problems.append(
            problem("user", "inactive", "The person is not active; their key would count for nothing.")
        )
    try:
        parse_public_key(public)
    except ValueError as error:
        raise InputError([problem("key", "format", str(error)), *problems]) from None
    if proof is not None:
        problems += _of_proof(user, public, proof, site or "")

    def work() -> list[dict[str, Any]]:
        with transaction.atomic(using=database()):
            with first_write():
                # Of a revocation and an enrolment of one key, the one sees the other.
                revocation_log.lock()
            found = _of_key(user, public)
            if not found and not problems and not insert_if_absent([row]):
                # Only by a writer who did not take the lock.
                found = [_taken()]
            return found

    row = PrincipalKey(public=public, user=user, label=label, created_at=now_datetime())
    problems = [*revocations.in_turn(work), *problems]
    if problems:
        raise InputError(problems)
    return PrincipalKey.objects.get(public=public)


def revoke(public: str, reason: str = "") -> bool:
    """Take a key off its account, for good, with every grant that it issued; True unless it was revoked before."""
    return revocations.revoke(public, reason)


def keys_of(user: Any) -> list[PrincipalKey]:
    """A person's keys, those that count first, the newest of each first."""
    rows = PrincipalKey.objects.filter(user=user).order_by("-created_at", "-pk")
    return sorted(rows, key=lambda row: row.revoked_at is not None)


def owner_id(public: str) -> Any:
    """The primary key of the person on whose account a key counts; None when there is none."""
    rows = PrincipalKey.objects.filter(public=public, revoked_at=None)
    return rows.values_list("user_id", flat=True).first()


def challenge(user: Any) -> str:
    """A text for this person to sign, good for CHALLENGE_SECONDS. Nothing is stored."""
    return signing.dumps(str(user.pk), salt=_SALT)


def _is_challenge_of(user: Any, text: str) -> bool:
    try:
        whose = signing.loads(text, salt=_SALT, max_age=CHALLENGE_SECONDS)
    except signing.BadSignature:
        return False
    return bool(whose == str(user.pk))


def _of_label(label: str) -> list[dict[str, Any]]:
    if isinstance(label, str) and len(label) <= MAX_LABEL and (label == "" or label.isprintable()):
        return []
    return [problem("label", "format", f"A label is one line of at most {MAX_LABEL} characters.")]


def _of_proof(user: Any, public: str, proof: Json, site: str) -> list[dict[str, Any]]:
    reason = verify_enrolment(proof, site=site, public=public)
    if reason is None and not (isinstance(proof, dict) and _is_challenge_of(user, str(proof["challenge"]))):
        reason = "challenge"
    return [] if reason is None else [problem("proof", "proof", _NOT_PROVEN[reason])]


def _of_key(user: Any, public: str) -> list[dict[str, Any]]:
    """What the site knows against this key. Nobody learns whose it is."""
    if SiteKey.objects.filter(public=public).exists():
        return [
            problem("key", "site_key", "This is a key of the site itself; enrol one of the person's own.")
        ]
    if Revocation.objects.filter(ident=public).exists():
        return [problem("key", "revoked", "This key was revoked, which is for good; enrol another.")]
    row = PrincipalKey.objects.filter(public=public).first()
    if row is None:
        return []
    is_theirs = row.user_id == get_user_model()._meta.pk.to_python(user.pk)
    if row.revoked_at is not None:
        return [problem("key", "revoked", "This key was revoked, which is for good; enrol another.")]
    return (
        [problem("key", "enrolled", "This key is enrolled on this account already.")]
        if is_theirs
        else [_taken()]
    )


def _taken() -> dict[str, Any]:
    return problem("key", "taken", "This key is enrolled on another account; a key belongs to one person.")
