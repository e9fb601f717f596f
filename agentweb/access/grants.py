"""Grants as the site keeps them: issued by the site, remembered at first sight, loaded by id.

``revoke`` and ``check_standing`` complete what can be done with a grant; they live in modules of their own.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Final

from django.db import connections, transaction
from django.db.models import Q

from agentweb import conf
from agentweb.access import mandates, site_keys
from agentweb.access.issuing import check_request, problem
from agentweb.access.models import Grant
from agentweb.access.revocations import are_revoked, order_with_first_sights, revoke
from agentweb.access.rows import database, insert_if_absent
from agentweb.access.standing import TOUCH_EVERY, check_standing
from agentweb.wire.clock import from_unix, now, now_datetime
from agentweb.wire.errors import AuthenticationError, Code, InputError
from agentweb.wire.grants import GrantDocument, Mandate, encode_chain, new_grant, parse_grant
from agentweb.wire.strict_json import Json, dumps, loads

__all__ = [
    "check_standing",
    "draw_up",
    "issue",
    "load",
    "max_life",
    "parse_stored",
    "remember",
    "revoke",
    "store",
    "touch",
]

_DAY: Final = 86_400


def max_life() -> int:
    """Longest life of a grant at this site, in seconds."""
    return int(conf.get("GRANT_MAX_DAYS")) * _DAY


def issue(
    *,
    subject: str,
    scopes: Sequence[str],
    expires_in: int,
    site: str,
    mandate: Mandate | None = None,
    delegate: int = 0,
    one_time: bool = False,
    user: Any = None,
    note: str = "",
) -> tuple[GrantDocument, ...]:
    """Issue a grant in the site's name and store it; the chain, which has this one member.

    ``subject`` is the agent's key, ``expires_in`` seconds from now, ``site`` the audience ``host[:port]``, ``user``
    the person for whom the agent acts. Raises ``invalid_input`` with every problem at once, and ``unavailable``
    when the site has no key to sign with.
    """
    chain = draw_up(
        subject=subject,
        scopes=scopes,
        expires_in=expires_in,
        site=site,
        mandate=mandate,
        delegate=delegate,
        one_time=one_time,
        user=user,
        note=note,
    )
    with transaction.atomic(using=database()):
        store(chain, None if user is None else user.pk)
    return chain


def draw_up(
    *,
    subject: str,
    scopes: Sequence[str],
    expires_in: int,
    site: str,
    mandate: Mandate | None = None,
    delegate: int = 0,
    one_time: bool = False,
    user: Any = None,
    note: str = "",
) -> tuple[GrantDocument, ...]:
    """``issue`` up to the signature: nothing is written yet. ``subject`` may be a ``session:…`` handle too."""
    problems = check_request(
        subject=subject,
        scopes=scopes,
        expires_in=expires_in,
        longest=max_life(),
        mandate=mandate,
        delegate=delegate,
        one_time=one_time,
        user=user,
        note=note,
    )
    if problems:
        raise InputError(problems)
    begins = int(now())
    try:
        document = new_grant(
            issuer=site_keys.active_key(),
            subject=subject,
            audience=site,
            scopes=list(dict.fromkeys(scopes)),
            not_before=begins,
            expires=begins + expires_in,
            mandate=mandate,
            one_time=one_time,
            delegate=delegate,
            note=note,
            max_life=max_life(),
        )
        encode_chain([document])  # 64 long scopes fit a document, but no header
    except ValueError as error:
        raise InputError([problem("", "format", str(error))]) from None
    return (parse_grant(document, max_life=max_life()),)


def load(ident: str) -> tuple[GrantDocument, ...] | None:
    """The chain of a grant that this site issued or has seen, root first; None for an unknown id.

    It says nothing about whether the grant still counts.
    """
    connection = connections[database()]
    table = connection.ops.quote_name(Grant._meta.db_table)
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT chain FROM {table} WHERE id = %s", [ident])  # noqa: S608
        row = cursor.fetchone()
    return None if row is None else parse_stored(row[0])


def parse_stored(text: str) -> tuple[GrantDocument, ...]:
    """The chain in ``Grant.chain``, root first."""
    return _read(text, max_life())


def remember(chain: Sequence[GrantDocument], user_id: Any) -> None:
    """Store a chain that is seen for the first time, inside the caller's transaction.

    Afterwards its ids can be sent instead of the chain, its limits have rows, and a revocation finds them.
    Raises ``grant_revoked`` if one overtook us.
    """
    order_with_first_sights()
    store(chain, user_id)
    if are_revoked(chain):
        raise AuthenticationError(Code.GRANT_REVOKED, "The grant was revoked; ask for a new one.")


def touch(ident: str) -> None:
    """Note that a grant was used now; written at most once a minute, whoever asks."""
    at = now_datetime()
    stale = Q(last_used_at=None) | Q(last_used_at__lte=at - TOUCH_EVERY)
    Grant.objects.filter(stale, pk=ident).update(last_used_at=at)


def store(chain: Sequence[GrantDocument], user_id: Any) -> None:
    """Write the missing rows of a chain's grants and limits, inside the caller's transaction."""
    at = now_datetime()
    documents: list[Json] = [grant.document for grant in chain]
    insert_if_absent(
        [
            Grant(
                id=grant.id,
                chain=dumps(documents[: place + 1]).decode(),
                root_id=chain[0].id,
                parent_id=grant.parent or "",
                issuer=grant.issuer,
                subject=grant.subject,
                user_id=user_id,
                note=grant.note,
                created_at=at,
                expires_at=from_unix(grant.expires),
            )
            for place, grant in enumerate(chain)
        ]
    )
    mandates.ensure_rows(chain)


# The text decides the value, so remembering it decides nothing about standing.
@lru_cache(maxsize=1_024)
def _read(text: str, longest: int) -> tuple[GrantDocument, ...]:
    documents = loads(text.encode())
    return tuple(parse_grant(document, max_life=longest) for document in documents)  # type: ignore[union-attr]
