"""The public list of revocations: numbered in the order of the commits, hash-chained, with a signed head.

The head's row is one lock for two things. Entries get their numbers under it, so a reader who goes on after the last
number that it saw misses nothing. And chains that are seen for the first time take it too, so a revocation and a
first sight always come one after the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final

from django.db import connections, transaction
from django.db.models import F

from agentweb.access import site_keys
from agentweb.access.database import first_write, patiently
from agentweb.access.models import Revocation, RevocationHead
from agentweb.access.rows import database, delete_in_batches, insert_if_absent
from agentweb.wire.clock import now
from agentweb.wire.revocations import entry, entry_hash, sign_head
from agentweb.wire.strict_json import Json

MAX_PAGE: Final = 500

_HEAD: Final = "revocations"
_PORTION: Final = 500


def lock() -> None:
    """Take the head's row until the transaction ends. A write, so it may be the transaction's first statement."""
    connection = connections[database()]
    table = connection.ops.quote_name(RevocationHead._meta.db_table)
    for _ in range(2):
        with connection.cursor() as cursor:
            # Written out: every chain that is seen for the first time asks this.
            cursor.execute(f"UPDATE {table} SET seq = seq WHERE name = %s", [_HEAD])  # noqa: S608
            if cursor.rowcount:
                return
        insert_if_absent([RevocationHead(name=_HEAD, seq=0, hash="")])


def append(rows: Sequence[Revocation]) -> None:
    """Give rows the next numbers of the list, in their order; the head goes with them. Call under ``lock``.

    Nothing of the rows is saved: that is the caller's.
    """
    if not rows:
        return
    head = RevocationHead.objects.get(pk=_HEAD)
    seq, last = head.seq, head.hash
    for row in rows:
        seq += 1
        row.seq, row.prev = seq, last
        last = entry_hash(_document(row))
    RevocationHead.objects.filter(pk=_HEAD).update(seq=seq, hash=last)


def page(*, after: int, limit: int) -> tuple[list[Json], str | None]:
    """Entries with ``seq > after``, in order, and the cursor of the next page or None."""
    limit = max(1, min(limit, MAX_PAGE))
    rows = list(Revocation.objects.filter(seq__gt=after).order_by("seq")[: limit + 1])
    return [_document(row) for row in rows[:limit]], str(rows[limit - 1].seq) if len(rows) > limit else None


def signed_head(site: str) -> dict[str, Any]:
    """The end of the list, signed in the name of ``site`` (``host[:port]``) as it stands now."""
    head = RevocationHead.objects.filter(pk=_HEAD).first()
    return sign_head(
        site=site,
        seq=head.seq if head else 0,
        hash=(head.hash or None) if head else None,
        at=int(now()),
        key=site_keys.active_key(),
    )


def prune(at: datetime) -> int:
    """Forget what expired before ``at``; how many rows were deleted. Short transactions.

    The list is cut at its beginning only, so that what is left is one unbroken chain up to the head. Entries that
    still count (those of keys do for good) and stand among many that do not are repeated at the end.
    """
    deleted = delete_in_batches(Revocation.objects.filter(seq=None, expires_at__lt=at))
    while cut := patiently(lambda: _cut(at)):
        deleted += cut
    return deleted


def _cut(at: datetime) -> int:
    with transaction.atomic(using=database()):
        with first_write():
            lock()
        rows = list(Revocation.objects.order_by(F("seq")).exclude(seq=None)[:_PORTION])
        is_over = [row.expires_at is not None and row.expires_at < at for row in rows]
        end = len(rows) - is_over[::-1].index(True) if any(is_over) else 0
        if 2 * sum(is_over) < end:
            # Too many would be written again to be rid of few: only what stands at the very beginning goes.
            end = is_over.index(False)
        kept = [row for row, over in zip(rows[:end], is_over, strict=False) if not over]
        gone = [row.pk for row, over in zip(rows[:end], is_over, strict=False) if over]
        Revocation.objects.filter(pk__in=gone).delete()
        append(kept)
        Revocation.objects.bulk_update(kept, ["seq", "prev"])
        return len(gone)


def _document(row: Revocation) -> dict[str, Any]:
    return entry(seq=row.seq or 0, id=row.ident, at=int(row.at.timestamp()), prev=row.prev or None)
