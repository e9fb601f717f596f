"""The counts that are kept of texts, and measuring by them: what a request fits its documents with.

Whoever may take the time counts the texts that there are (``counting``) and keeps that here. A text that nobody has
counted yet, because a setting or a page has just changed, is measured by a bound, and so is never over its budget.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, Final, NamedTuple

from django.db.models import Count, Max

from agentweb.access.database import begun, patiently
from agentweb.awp.budgets import at_most
from agentweb.awp.publishing.models import CountedText
from agentweb.wire.clock import now, now_datetime
from agentweb.wire.tokens import COUNTER

STALE_SECONDS: Final = 5
"""For how long a process goes on with the counts as they were, before it looks whether there are others."""
KEPT: Final = timedelta(days=1)
"""How long a count that was not seen is kept beyond the next that are written: other processes may still be of the
release before, or mounted elsewhere."""

_BATCH: Final = 300
"""Rows of one statement; SQLite takes a thousand values."""


@dataclass(frozen=True, slots=True)
class Counted:
    """Equal ``revision``s mean equal counts; ``tokens`` by digest."""

    revision: str
    tokens: Mapping[str, int] = field(default_factory=dict, compare=False)

    def measure(self, text: str) -> int:
        """The tokens of the text, or a number that they surely do not exceed. A ``budgets.Measure``."""
        found = self.tokens.get(digest_of(text))
        return at_most(text) if found is None else found


class _Seen(NamedTuple):
    """What was read at ``at`` (Unix seconds)."""

    at: float
    counted: Counted


_seen: _Seen | None = None


def digest_of(text: str) -> str:
    """Of a text together with the name of the counter."""
    return hashlib.sha256(f"{COUNTER}\0{text}".encode("utf-8", "surrogatepass")).hexdigest()


def current() -> Counted:
    """The counts as they were at most STALE_SECONDS ago. Nobody waits for others to be written."""
    global _seen  # noqa: PLW0603 - one for the process is the point
    at = now()
    seen = _seen
    if seen is None or not seen.at <= at < seen.at + STALE_SECONDS:
        seen = _seen = _Seen(at, _read(None if seen is None else seen.counted))
    return seen.counted


def keep(tokens: Mapping[str, int]) -> None:
    """Keep these counts, by digest, and delete what was not seen for KEPT.

    Any number may do so at once: all write in one order, and whoever deletes waits for nobody.
    """
    at = now_datetime()
    rows = [CountedText(digest=digest, tokens=tokens[digest], seen_at=at) for digest in sorted(tokens)]

    def write() -> None:
        with begun():
            CountedText.objects.bulk_create(
                rows,
                batch_size=_BATCH,
                update_conflicts=True,
                unique_fields=["digest"],
                update_fields=["tokens", "seen_at"],
            )

    def delete() -> bool:
        with begun():
            keys = list(old.select_for_update(skip_locked=True).values_list("pk", flat=True)[:_BATCH])
            CountedText.objects.filter(pk__in=keys).delete()
        return len(keys) == _BATCH

    if rows:
        patiently(write)
    old = CountedText.objects.filter(seen_at__lt=at - KEPT)
    # Looked at first: mostly there is nothing, and a transaction that writes waits for its turn.
    is_more = old.exists()
    while is_more:
        is_more = patiently(delete)
    forget()


def forget() -> None:
    """Look anew: for tests, and after counts were written in this process."""
    global _seen  # noqa: PLW0603
    _seen = None


def _read(before: Counted | None) -> Counted:
    found: Any = CountedText.objects.aggregate(newest=Max("pk"), rows=Count("pk"))
    # The newest alone would not tell of rows that a slower transaction wrote under keys that it had taken before.
    revision = f"{found['newest'] or 0}.{found['rows']}"
    if before is not None and before.revision == revision:
        return before
    if not found["rows"]:
        return Counted(revision)
    return Counted(revision, dict(CountedText.objects.values_list("digest", "tokens").iterator()))
