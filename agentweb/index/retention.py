"""Forgetting sites that are gone, and those that never were there."""

from __future__ import annotations

from datetime import datetime

from django.db.models import Q

from agentweb.index import crawl, store
from agentweb.index.models import IndexedSite

_AT_ONCE = 500


def clear_expired(at: datetime) -> dict[str, int]:
    """Forget sites that have failed for ``crawl.GIVEN_UP``, or ``crawl.NEVER_MET``; rows deleted of each kind."""
    never = Q(confirmed_at=None, added_at__lt=at - crawl.NEVER_MET)
    gone = IndexedSite.objects.filter(
        never | Q(confirmed_at__lt=at - crawl.GIVEN_UP), state=IndexedSite.State.FAILED
    )
    return {"indexed_sites": store.forget(gone.order_by("pk").values_list("pk", flat=True)[:_AT_ONCE])}


def make_room() -> int:
    """Forget the sites that never had a manifest and are the longest known; how many. For an index that is full."""
    never = IndexedSite.objects.filter(confirmed_at=None, state=IndexedSite.State.FAILED)
    return store.forget(never.order_by("added_at", "pk").values_list("pk", flat=True)[:_AT_ONCE])
