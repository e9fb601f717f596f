"""Forgetting sites that are gone."""

from __future__ import annotations

from datetime import datetime

from django.db.models import Q

from agentweb.index import crawl, store
from agentweb.index.models import IndexedSite

_AT_ONCE = 500


def clear_expired(at: datetime) -> dict[str, int]:
    """Forget sites that have failed for ``crawl.GIVEN_UP``; rows deleted of each kind."""
    before = at - crawl.GIVEN_UP
    never = Q(confirmed_at=None, added_at__lt=before)
    gone = IndexedSite.objects.filter(never | Q(confirmed_at__lt=before), state=IndexedSite.State.FAILED)
    return {"indexed_sites": store.forget(gone.order_by("pk").values_list("pk", flat=True)[:_AT_ONCE])}
