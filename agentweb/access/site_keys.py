"""The site's own signing keys: one active, the earlier ones kept so that what they signed still verifies.

The seed is stored sealed (``sealing``) and is opened once in a process. Which key signs is read from the database at
every use, so a rotation holds in every process at once.

Manifests are kept by processes and by caches. So that nobody meets a signature of a key that their manifest lacks, a
key that is replaced may go on signing for a while: its ``retired_at`` is then in the future.
"""

from __future__ import annotations

import logging
import math
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Any, Final

from django.conf import settings
from django.db import connections, transaction
from django.db.models import F, Q, QuerySet

from agentweb import conf
from agentweb.access.models import Revocation, SiteKey
from agentweb.access.rows import database, insert_if_absent
from agentweb.access.sealing import seal, secret_keys, unseal
from agentweb.wire.clock import now_datetime
from agentweb.wire.errors import Code, ServerError
from agentweb.wire.signing import SigningKey, jwk

logger = logging.getLogger("agentweb.access")

RETIREMENT_MARGIN_SECONDS: Final = 60
"""How long after its retirement a key counts as valid: a call in flight may still have signed with it."""


_CLOCKS_DIFFER_SECONDS: Final = 10


class SiteKeyError(Exception):
    """What a person at the command line asked of the keys cannot be done; the message says why."""


def active_key() -> SigningKey:
    """The key that signs in the site's name now, with one query.

    Under DEBUG it is made at first use. Elsewhere a missing key, or one that SECRET_KEY does not open, is
    logged with what to do about it and raises 503 ``unavailable``.
    """
    row = _signing_row()
    if row is None:
        if settings.DEBUG:
            return ensure_active_key()
        logger.error("The site has no signing key: run `manage.py agentweb_keys create`.")
        raise _unavailable()
    return _open_or_refuse(row)


def ensure_active_key() -> SigningKey:
    """The active key, made now if there is none. Of racing callers one makes it and all get the same."""
    row = _signing_row()
    if row is None:
        insert_if_absent([_new_row()])
        row = SiteKey.objects.get(is_active=True)
    return _open_or_refuse(row)


def published_keys() -> list[dict[str, Any]]:
    """JWKs for the manifest member ``keys``: the active key, then retired ones with ``not_after``.

    Revoked keys are left out: whoever stole one could sign anything with it.
    """
    rows = SiteKey.objects.exclude(public__in=Revocation.objects.values("ident")).order_by(
        F("retired_at").desc(nulls_first=True)
    )
    return [
        jwk(public, not_after(retired_at)) for public, retired_at in rows.values_list("public", "retired_at")
    ]


def not_after(retired_at: Any) -> int | None:
    """Unix seconds after which a key that was retired at this time signed nothing; None for the active key."""
    return None if retired_at is None else math.ceil(retired_at.timestamp()) + RETIREMENT_MARGIN_SECONDS


def create() -> SiteKey:
    """Make the first key. SiteKeyError when one is active already."""
    row = _new_row()
    if not insert_if_absent([row]):
        raise SiteKeyError("The site has an active key already; `rotate` replaces it.")
    return row


def settling_seconds() -> int:
    """How long it takes until every copy of the manifest, in processes and then in caches, has a new key."""
    return 2 * int(conf.get("MANIFEST_MAX_AGE")) + _CLOCKS_DIFFER_SECONDS


def rotate(*, settling: int = 0) -> SiteKey:
    """Replace the active key. The new one is published now and signs in ``settling`` seconds; until then the old one
    goes on, and afterwards it only verifies."""
    active = _active_row()
    if active is None:
        raise SiteKeyError("The site has no active key; `create` makes one.")
    row = _new_row()
    with transaction.atomic(using=database()):
        retired = SiteKey.objects.filter(pk=active.kid, is_active=True).update(
            is_active=False, retired_at=now_datetime() + timedelta(seconds=settling)
        )
        if not retired:
            raise SiteKeyError("The active key was replaced at this moment by somebody else; look at `list`.")
        row.save(force_insert=True)
    return row


def retire(kid: str) -> bool:
    """Stop signing with a key. False if it had stopped before; without an active one the site cannot sign."""
    if not SiteKey.objects.filter(pk=kid).exists():
        raise SiteKeyError(f"There is no key {kid}; `list` shows them.")
    return stop(SiteKey.objects.filter(pk=kid), now_datetime())


def stop(rows: QuerySet[SiteKey], at: datetime) -> bool:
    """Let those of the keys that sign, or still do for a while, sign no more; whether there was one."""
    return bool(rows.filter(_signs(at)).update(is_active=False, retired_at=at))


def reseal() -> list[str]:
    """Seal every key anew under today's SECRET_KEY; the kids. All or nothing.

    Afterwards the former SECRET_KEY can leave SECRET_KEY_FALLBACKS. SiteKeyError when a key does not open.
    """
    with transaction.atomic(using=database()):
        rows = list(SiteKey.objects.order_by("created_at"))
        for row in rows:
            try:
                key = open_row(row)
            except ValueError as error:
                raise SiteKeyError(f"Key {row.kid}: {error}") from None
            # Only the text that was opened: a row that changed meanwhile is not ours to overwrite.
            SiteKey.objects.filter(pk=row.kid, sealed=row.sealed).update(sealed=seal(key.seed, row.kid))
    return [row.kid for row in rows]


def open_row(row: SiteKey) -> SigningKey:
    """The signing key of a row; ValueError when its sealed text does not open or holds another key."""
    return _open(row.kid, row.sealed, secret_keys())


# Keyed by what is in the row, so it remembers opened boxes and says nothing about whether a key still counts.
@lru_cache(maxsize=8)
def _open(kid: str, sealed: str, keys: tuple[str | bytes, ...]) -> SigningKey:
    key = SigningKey.from_seed(unseal(sealed, kid, keys))
    if key.thumbprint != kid:
        raise ValueError("The sealed text holds another key.")
    return key


def _open_or_refuse(row: SiteKey) -> SigningKey:
    try:
        return open_row(row)
    except ValueError as error:
        logger.error(
            "The site's signing key %s cannot be used: %s If SECRET_KEY was changed, put the former one into "
            "SECRET_KEY_FALLBACKS and run `manage.py agentweb_keys reseal`.",
            row.kid,
            error,
        )
        raise _unavailable() from None


def _active_row() -> SiteKey | None:
    return SiteKey.objects.filter(is_active=True).first()


def _signing_row() -> SiteKey | None:
    """The oldest key that has not stopped: it is the one that every manifest has."""
    # Written out: every spend asks, and composing it costs many times what running it does.
    alias = database()
    connection = connections[alias]
    table = connection.ops.quote_name(SiteKey._meta.db_table)
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT kid, sealed FROM {table} WHERE is_active OR retired_at > %s "  # noqa: S608
            "ORDER BY is_active, created_at LIMIT 1",
            [connection.ops.adapt_datetimefield_value(now_datetime())],
        )
        row = cursor.fetchone()
    return None if row is None else SiteKey.from_db(alias, ["kid", "sealed"], row)


def _signs(at: datetime) -> Q:
    return Q(is_active=True) | Q(retired_at__gt=at)


def _new_row() -> SiteKey:
    key = SigningKey.generate()
    return SiteKey(
        kid=key.thumbprint,
        public=key.public,
        sealed=seal(key.seed, key.thumbprint),
        is_active=True,
        created_at=now_datetime(),
    )


def _unavailable() -> ServerError:
    return ServerError(Code.UNAVAILABLE, "The site cannot sign at the moment; its staff must set up its key.")
