"""What is over of the content: runs of long ago. Pages go when a run sees that they are gone."""

from __future__ import annotations

from datetime import datetime, timedelta

from agentweb.access.rows import delete_in_batches
from agentweb.awp.content.models import ContentRun
from agentweb.awp.content.periods import RUN_DAYS


def clear_expired(at: datetime) -> dict[str, int]:
    """Delete runs of long ago; rows deleted. The last one stays, and the last one that was complete: by them it is
    known how old the content is."""
    newest = ContentRun.objects.order_by("-pk").values_list("pk", flat=True)
    kept = [*newest[:1], *newest.filter(is_complete=True)[:1]]
    old = ContentRun.objects.filter(started_at__lt=at - timedelta(days=RUN_DAYS), is_running=False)
    return {"content_runs": delete_in_batches(old.exclude(pk__in=kept))}
