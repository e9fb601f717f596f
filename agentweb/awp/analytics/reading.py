"""The counts of a stretch of days, as they are shown: for programs and in the admin."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any

from agentweb.awp.analytics.models import AgentRequests
from agentweb.wire.clock import now_datetime


@dataclass(frozen=True, slots=True)
class Stretch:
    """Counts from one day to another, both among them: (day, protocol, family, requests), in this order."""

    first: date
    last: date
    counts: tuple[tuple[date, str, str, int], ...]

    @property
    def total(self) -> int:
        return sum(count for _day, _protocol, _family, count in self.counts)

    @property
    def days(self) -> list[date]:
        """Every day, those without requests too."""
        return [self.first + timedelta(days=number) for number in range((self.last - self.first).days + 1)]

    def by_protocol(self) -> dict[str, int]:
        return _added((protocol, count) for _day, protocol, _family, count in self.counts)

    def by_family(self) -> dict[str, int]:
        return _added((family, count) for _day, _protocol, family, count in self.counts)

    def by_day(self) -> dict[date, dict[str, int]]:
        """Requests of each day by protocol."""
        found: dict[date, Counter[str]] = {day: Counter() for day in self.days}
        for day, protocol, _family, count in self.counts:
            found[day][protocol] += count
        return {day: dict(counted) for day, counted in found.items()}

    def as_dict(self) -> dict[str, Any]:
        """The answer of ``/awp/analytics.json``."""
        return {
            "from": self.first.isoformat(),
            "to": self.last.isoformat(),
            "total": self.total,
            "by_protocol": self.by_protocol(),
            "by_family": self.by_family(),
            "counts": [
                {"day": day.isoformat(), "protocol": protocol, "family": family, "requests": count}
                for day, protocol, family, count in self.counts
            ],
        }


def today() -> date:
    """The day that is counted on now, in UTC."""
    return now_datetime().date()


def read(first: date, last: date) -> Stretch:
    """What was written of these days. One query."""
    rows = AgentRequests.objects.filter(day__range=(first, last)).order_by("day", "protocol", "family")
    return Stretch(first, last, tuple(rows.values_list("day", "protocol", "family", "requests")))


def _added(counts: Iterable[tuple[str, int]]) -> dict[str, int]:
    """The sums, the largest first."""
    found: Counter[str] = Counter()
    for name, count in counts:
        found[name] += count
    return dict(sorted(found.items(), key=lambda each: (-each[1], each[0])))
