"""What the processes of the tests of counting do."""

from __future__ import annotations

from django.db import OperationalError
from django.db.models import Sum

from agentweb.awp.analytics import counting
from agentweb.awp.analytics.models import AgentRequests
from agentweb.conf import runs


def count(place: int, rounds: int) -> int:
    """Count in an order of one's own and write often; how many requests were written."""
    # Before the process's own thread does.
    runs.is_test = lambda: True
    done = 0
    for _ in range(rounds):
        for number in range(6):
            at = (number + place) % 6
            counting.counts.add(("aip", "awp")[at % 2], f"family{at}")
        while True:
            try:
                done += counting.counts.write()
                break
            except OperationalError as error:
                if "locked" not in str(error):
                    raise
    return done


def total() -> dict[str, int]:
    rows = AgentRequests.objects.order_by("protocol").values("protocol").annotate(all=Sum("requests"))
    return {row["protocol"]: row["all"] for row in rows}
