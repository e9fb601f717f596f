"""Taking authority back: immediate, for everyone down the chain, and for good (AGENT_ACTIONS 5)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from datetime import datetime
from functools import partial
from itertools import islice
from typing import Final

from django.db import transaction
from django.db.models import Q

from agentweb.access.models import Bucket, Grant, Mandate, PrincipalKey, Revocation, SiteKey
from agentweb.access.rows import database, insert_if_absent
from agentweb.signals import grant_revoked
from agentweb.wire.clock import now_datetime
from agentweb.wire.errors import InputError
from agentweb.wire.grants import MAX_CHAIN
from agentweb.wire.signing import parse_public_key

_GRANT_ID: Final = re.compile(r"gr_[A-Za-z0-9_-]{22}")
_ORDER_ROW: Final = "lock:revocations"
_NEVER_CLEARED: Final = 2**62
_MANY: Final = 500


def revoke(ident: str, reason: str = "") -> bool:
    """Revoke a grant (``gr_…``) or a key (``ed25519:…``); True unless it was revoked before.

    From the commit on, no call under it and no charge begins. A grant takes every grant below it along, a
    key every grant that it issued or holds; the rows of those that are known are marked too. A person's key
    is closed on their account, and the site's active key stops signing. An id that the site has never seen
    is revoked all the same. ``grant_revoked`` is sent after the commit.

    Raises ``invalid_input`` for a text that is neither.
    """
    is_key = not _GRANT_ID.fullmatch(ident)
    if is_key:
        _check_key(ident)
    with transaction.atomic(using=database()):
        order_with_first_sights()
        at = now_datetime()
        expires_at = (
            None if is_key else Grant.objects.filter(pk=ident).values_list("expires_at", flat=True).first()
        )
        is_new = insert_if_absent(
            [Revocation(ident=ident, reason=reason[:200], at=at, expires_at=expires_at)]
        )
        if is_key:
            PrincipalKey.objects.filter(public=ident, revoked_at=None).update(revoked_at=at)
            SiteKey.objects.filter(public=ident, is_active=True).update(is_active=False, retired_at=at)
            held = Grant.objects.filter(Q(issuer=ident) | Q(subject=ident)).values_list("pk", flat=True)
            _mark(set(held), at)
        else:
            _mark({ident}, at)
        if is_new:
            sender = "key" if is_key else "grant"
            transaction.on_commit(
                partial(grant_revoked.send_robust, sender=sender, ident=ident), using=database(), robust=True
            )
    return bool(is_new)


def order_with_first_sights() -> None:
    """Take, until the transaction ends, the one row lock that revocations and first sights share.

    A chain that arrives for the first time brings its mandate rows. Without this lock a revocation could
    commit between the look at ``Revocation`` and the rows' birth, and the rows would live on unmarked.
    """
    Bucket.objects.bulk_create(
        [Bucket(key=_ORDER_ROW, tat=_NEVER_CLEARED)],
        update_conflicts=True,
        unique_fields=["key"],
        update_fields=["tat"],
    )


def _mark(roots: set[str], at: datetime) -> None:
    levels = _levels(roots)
    for ids in levels:
        for some in _slices(ids):
            Grant.objects.filter(pk__in=some, revoked_at=None).update(revoked_at=at)
    # Leaf to root, as charges lock them (3.2): a charge and a revocation never wait for each other in a ring.
    for ids in reversed(levels):
        for some in _slices(ids):
            Mandate.objects.filter(pk__in=some, revoked_at=None).update(revoked_at=at)


def _levels(roots: set[str]) -> Sequence[set[str]]:
    """The known grants below ``roots``, themselves included; each one in a later set than its parent."""
    level = dict.fromkeys(roots, 0)
    found = roots
    for depth in range(1, MAX_CHAIN):
        children: set[str] = set()
        for some in _slices(found):
            children.update(Grant.objects.filter(parent_id__in=some).values_list("pk", flat=True))
        if not children:
            break
        level.update(dict.fromkeys(children, depth))
        found = children
    sets: list[set[str]] = [set() for _ in range(MAX_CHAIN)]
    for ident, depth in level.items():
        sets[depth].add(ident)
    return sets


def _slices(ids: Iterable[str]) -> Iterable[list[str]]:
    """Sorted, in portions that fit a statement."""
    rest = iter(sorted(ids))
    while some := list(islice(rest, _MANY)):
        yield some


def _check_key(ident: str) -> None:
    try:
        parse_public_key(ident)
    except ValueError:
        message = "What is revoked is a grant, gr_ and 22 characters, or a key, ed25519: and 43 characters."
        problem = {"pointer": "", "field": "ident", "code": "format", "message": message}
        raise InputError([problem], message) from None
