"""What a caller may take back over the wire (AGENT_ACTIONS 5): the right is looked at under the lock that decides.

A known grant is revoked by the issuer of it or of a grant above it, or by its subject. A person's key is revoked
with that key, or with another one of the same account.

An id that this site has not seen might be anybody's: an id says nothing about whose grant it is, and it may have been
overheard. So it is kept with the key that asked, and counts, once the grant comes, only if that key has the right over
it (``revocations.write_claim``). Kept it is only for keys that are somebody here (an enrolled one, or one that holds
a valid grant), at a bounded rate: strangers have keys without end, and could fill the table. A stranger's own grant
can be given up all the same: signed under, it is known.
"""

from __future__ import annotations

from functools import partial
from typing import Final

from django.db import transaction

from agentweb.access import grants, limits, principals, revocation_log, revocations
from agentweb.access.callers import SESSION, Caller
from agentweb.access.database import first_write
from agentweb.access.models import PrincipalKey
from agentweb.access.rows import database
from agentweb.wire.errors import AuthenticationError, AuthorizationError, Code

CLAIM_RATE: Final = (0.01, 100)
"""Unseen ids of one caller: (a second, burst). Far more than anybody hands out, and 864 rows a day."""


def revoke_grant(caller: Caller, ident: str, reason: str = "") -> None:
    """Revoke a grant (``gr_…``) in the caller's name. Afterwards it counts no longer, whether or not it did before.

    Raises 403 ``not_allowed`` for a known grant that is not the caller's to revoke; for an unknown one 401
    ``grant_required`` when the caller is nobody here, and ``rate_limited`` after too many.
    """
    if grants.load(ident) is None:
        if caller.kind == SESSION:
            return  # the grant of a session is always known
        _check_is_somebody(caller)
        limits.take(f"claims:{caller.rate_key}", CLAIM_RATE)
    revocations.in_turn(partial(_revoke_grant, caller, ident, reason))


def _revoke_grant(caller: Caller, ident: str, reason: str) -> None:
    key = caller.agent_key or caller.subject
    with transaction.atomic(using=database()):
        with first_write():
            revocation_log.lock()
        chain = grants.load(ident)
        if chain is None:
            revocations.write_claim(ident, key, reason)
            return
        if not revocations.has_right(key, ident, chain):
            raise AuthorizationError(
                Code.NOT_ALLOWED,
                "Only the issuer of this grant or of one above it, or its subject, may revoke it.",
            )
        revocations.write(ident, reason)


def revoke_key(caller: Caller, public: str, reason: str = "") -> None:
    """Revoke a person's own key (``ed25519:…``) and every grant that it issued, in that person's name.

    Raises 403 ``not_allowed`` unless the caller signed with this key or another one of the same account.
    """
    # One answer whether or not the key is enrolled here: whose key is enrolled where is nobody's business.
    owners = dict(
        PrincipalKey.objects.filter(public__in=[public, caller.agent_key or ""]).values_list(
            "public", "user_id"
        )
    )
    if public not in owners or owners.get(caller.agent_key or "") != owners[public]:
        raise AuthorizationError(
            Code.NOT_ALLOWED,
            "Only the person on whose account a key is enrolled may revoke it. Sign with this key, or with another "
            "one of the same account.",
        )
    revocations.revoke(public, reason)


def _check_is_somebody(caller: Caller) -> None:
    if caller.chain or principals.owner_id(caller.agent_key or "") is not None:
        return
    raise AuthenticationError(
        Code.GRANT_REQUIRED,
        "This site knows neither the grant nor your key. Sign with an enrolled key, or under a grant: under this one, "
        "sent as a whole chain (v1.…), if it is yours to give up.",
    )
