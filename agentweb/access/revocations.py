"""Taking authority back: immediate, for everyone down the chain, and for good (AGENT_ACTIONS 5)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime, timedelta
from functools import partial
from itertools import islice
from typing import Final, TypeVar

from django.db import connections, transaction
from django.db.models import Q

from agentweb import conf
from agentweb.access import revocation_log
from agentweb.access.database import first_write, patiently
from agentweb.access.models import Grant, Mandate, PrincipalKey, Revocation, Session, SiteKey
from agentweb.access.rows import database, insert, insert_if_absent
from agentweb.signals import grant_revoked
from agentweb.wire.clock import from_unix, now_datetime
from agentweb.wire.errors import InputError
from agentweb.wire.grant_shape import GRANT_ID
from agentweb.wire.grants import MAX_CHAIN, GrantDocument
from agentweb.wire.signing import parse_public_key

_T = TypeVar("_T")

_MANY: Final = 500


def revoke(ident: str, reason: str = "") -> bool:
    """Revoke a grant (``gr_…``) or a key (``ed25519:…``); True unless it was revoked before.

    From the commit on, no call under it and no charge begins. A grant takes every grant below it along, a
    key every grant that it issued or holds; the rows of those that are known are marked too. A person's key
    is closed on their account, and the site's active key stops signing. An id that the site has never seen
    is revoked all the same. ``grant_revoked`` is sent after the commit.

    Raises ``invalid_input`` for a text that is neither.
    """
    if not GRANT_ID.fullmatch(ident):
        _check_key(ident)

    def work() -> bool:
        with transaction.atomic(using=database()):
            with first_write():
                revocation_log.lock()
            return write(ident, reason)

    return in_turn(work)


def in_turn(work: Callable[[], _T]) -> _T:
    """``patiently``, where that is possible: a transaction around us can only begin again as a whole."""
    return work() if connections[database()].in_atomic_block else patiently(work)


def write(ident: str, reason: str, *, expires_at: datetime | None = None) -> bool:
    """``revoke`` inside a transaction that holds ``revocation_log.lock``, for an ident that was checked.

    ``expires_at`` is the end of a grant that has no row.
    """
    is_key = not GRANT_ID.fullmatch(ident)
    at = now_datetime()
    if not is_key:
        known = Grant.objects.filter(pk=ident).values_list("expires_at", flat=True).first()
        expires_at = known or expires_at
    is_new = not Revocation.objects.filter(ident=ident, by="").exists()
    if is_new:
        row = Revocation(ident=ident, reason=reason[:200], at=at, expires_at=expires_at)
        revocation_log.append([row])
        row.save(force_insert=True)
    if is_key:
        PrincipalKey.objects.filter(public=ident, revoked_at=None).update(revoked_at=at)
        SiteKey.objects.filter(Q(is_active=True) | Q(retired_at__gt=at), public=ident).update(
            is_active=False, retired_at=at
        )
        held = Grant.objects.filter(Q(issuer=ident) | Q(subject=ident)).values_list("pk", flat=True)
        _mark(set(held), at)
    else:
        _mark({ident}, at)
    if is_new:
        sender = "key" if is_key else "grant"
        transaction.on_commit(
            partial(grant_revoked.send_robust, sender=sender, ident=ident), using=database(), robust=True
        )
    return is_new


def write_grants(idents: Sequence[str], reason: str) -> None:
    """``write`` for grants of the site without any below them, as those of sessions are, however many."""
    known = dict(Grant.objects.filter(pk__in=idents).values_list("pk", "expires_at"))
    revoked = set(Revocation.objects.filter(ident__in=known, by="").values_list("ident", flat=True))
    at = now_datetime()
    rows = [
        Revocation(ident=ident, reason=reason[:200], at=at, expires_at=expires_at)
        for ident, expires_at in sorted(known.items())
        if ident not in revoked
    ]
    revocation_log.append(rows)
    insert(rows)
    _mark(set(known), at)
    for row in rows:
        tell = partial(grant_revoked.send_robust, sender="grant", ident=row.ident)
        transaction.on_commit(tell, using=database(), robust=True)


def write_claim(ident: str, key: str, reason: str) -> bool:
    """Keep that ``key`` revokes a grant that the site has not seen; under the same lock. True if that is new.

    It counts once the grant comes, if ``key`` then turns out to have the right over it, and else never: whoever
    saw somebody's grant on its way cannot revoke it by being first. It is not listed.
    """
    at = now_datetime()
    # No grant that this site takes lives longer; twice, since one may begin later than it is revoked.
    ends = at + 2 * timedelta(days=conf.get("GRANT_MAX_DAYS"))
    row = Revocation(ident=ident, by=key, reason=reason[:200], at=at, expires_at=ends)
    return bool(insert_if_absent([row]))


def list_claims(claimed: Sequence[GrantDocument]) -> None:
    """Put grants into the public list that their own people revoked before this site had seen them."""

    def work() -> None:
        with transaction.atomic(using=database()):
            with first_write():
                revocation_log.lock()
            for grant in claimed:
                write(grant.id, "", expires_at=from_unix(grant.expires))
                Revocation.objects.filter(ident=grant.id).exclude(by="").delete()

    in_turn(work)


def has_right(key: str, ident: str, chain: Sequence[GrantDocument]) -> bool:
    """May ``key`` revoke the grant ``ident`` of this chain, root first?

    Its issuer may, the issuer of any grant above it, and its subject, who gives it up.
    """
    for member in chain:
        if key == member.issuer or (key == member.subject and member.id == ident):
            return True
        if member.id == ident:
            return False
    return False


def are_revoked(chain: Sequence[GrantDocument]) -> bool:
    """Is any grant of the chain, or any key that issued or holds one, revoked? One query."""
    idents = {ident for grant in chain for ident in (grant.id, grant.issuer, grant.subject)}
    rows = Revocation.objects.filter(ident__in=idents).values_list("ident", "by")
    return any(not by or has_right(by, ident, chain) for ident, by in rows)


def order_with_first_sights() -> None:
    """Take, until the transaction ends, the one row lock that revocations and first sights share.

    A chain that arrives for the first time brings its mandate rows. Without this lock a revocation could
    commit between the look at ``Revocation`` and the rows' birth, and the rows would live on unmarked.
    """
    revocation_log.lock()


def _mark(roots: set[str], at: datetime) -> None:
    levels = _levels(roots)
    for ids in levels:
        for some in _slices(ids):
            Grant.objects.filter(pk__in=some, revoked_at=None).update(revoked_at=at)
    # A session has a grant of its own, with nothing below it.
    for some in _slices(roots):
        Session.objects.filter(grant_id__in=some, revoked_at=None).update(revoked_at=at)
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
