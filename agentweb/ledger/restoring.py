"""Giving mandates back what was not spent after all: the opposite of the spending statement.

Rows are taken from the leaf to the root, as every spending transaction takes them, and before any row of a payment, a
receipt or a refund. A mandate that was deleted with its ended grant gets nothing back, and nobody misses it.
"""

from __future__ import annotations

from collections.abc import Sequence

from django.db.models import F

from agentweb.access import rows
from agentweb.access.models import Mandate


def restore(grants: Sequence[str], minor: int) -> None:
    """Take ``minor`` units off what each of these grants, leaf first, has spent. Of a revoked or ended grant too: what
    was spent under it is told to people."""
    for grant_id in grants:
        paid = Mandate.objects.using(rows.database()).filter(pk=grant_id, spent__gte=minor)
        paid.update(spent=F("spent") - minor)


def return_use(grants: Sequence[str]) -> None:
    """Let a call that came to nothing not have counted."""
    for grant_id in grants:
        used = Mandate.objects.using(rows.database()).filter(pk=grant_id, uses__gte=1)
        used.update(uses=F("uses") - 1)
