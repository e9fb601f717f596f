"""A signed request is let in: it takes from a limit and uses up its nonce, both or neither, committed at once."""

from __future__ import annotations

from functools import cache
from typing import Final

from django.db import connections, transaction

from agentweb.access import limits, nonces
from agentweb.access.limits import Allowance
from agentweb.access.models import Bucket, Nonce
from agentweb.access.rows import database
from agentweb.wire.clock import from_unix

# The bucket's row is locked before its room is judged, so what is judged is what is moved; the nonce is used up only
# where there is room, and the bucket moved only where the nonce was new.
_AT_ONCE: Final = (
    "WITH room AS (SELECT 1 FROM {bucket} WHERE key = %s AND tat <= %s FOR NO KEY UPDATE), "
    "burnt AS (INSERT INTO {nonce} (key, nonce, expires_at) SELECT %s, %s, %s FROM room "
    "ON CONFLICT DO NOTHING RETURNING 1) "
    "UPDATE {bucket} SET tat = CASE WHEN tat > %s THEN tat ELSE %s END + %s FROM burnt "
    "WHERE {bucket}.key = %s RETURNING tat"
)


def admit(
    bucket: str, rate: tuple[float, int], policy: str, *, key: str, nonce: str, expires: float
) -> Allowance:
    """What ``limits.take`` and ``nonces.burn`` do, in a transaction of its own; raises what they raise, in this order.

    A replay takes nothing from the limit: whoever recorded a request cannot use up its sender's calls.
    """
    allowance = at_once(bucket, rate, policy, key=key, nonce=nonce, expires=expires)
    if allowance is not None:
        return allowance
    # Durable: an enclosing transaction could roll the nonce back.
    with transaction.atomic(using=database(), durable=True):
        allowance = limits.take(bucket, rate, policy)
        nonces.burn(key, nonce, expires)
    return allowance


def at_once(
    bucket: str, rate: tuple[float, int], policy: str, *, key: str, nonce: str, expires: float
) -> Allowance | None:
    """The same by one statement that is a transaction of its own, where that can be: PostgreSQL then is asked once
    instead of four times. None: nothing was done, and one by one it will be found out why."""
    alias = database()
    connection = connections[alias]
    if connection.vendor != "postgresql" or not connection.get_autocommit():
        return None
    moving = limits.moving(bucket, rate)
    with connection.cursor() as cursor:
        cursor.execute(
            _text(alias),
            [
                *(moving.key, moving.at + moving.ahead),
                *(key, nonce, from_unix(expires + nonces.MARGIN_SECONDS)),
                *(moving.at, moving.at, moving.step, moving.key),
            ],
        )
        found = cursor.fetchone()
    return None if found is None else moving.allowance(policy, int(found[0]))


@cache
def _text(alias: str) -> str:
    quote = connections[alias].ops.quote_name
    return _AT_ONCE.format(bucket=quote(Bucket._meta.db_table), nonce=quote(Nonce._meta.db_table))
