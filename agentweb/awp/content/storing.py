"""Writing pages: each in one short transaction, and never over what a later run has written.

The row of the run counts in the same transaction what was changed, for by that count documents know that they are old:
what is written is never behind a list for longer than any other change, also when the run is killed at once.
"""

from __future__ import annotations

import hashlib
from collections.abc import Container, Sequence
from enum import StrEnum
from typing import Any, Final

from django.db import IntegrityError
from django.db.models import Q, QuerySet

from agentweb.access.database import begun, patiently, write_patiently
from agentweb.awp.content import runs
from agentweb.awp.content.making import Made
from agentweb.awp.content.models import ContentPage, ContentPart
from agentweb.awp.content.runs import Superseded
from agentweb.wire.clock import now_datetime

BATCH: Final = 400
"""Keys in one statement; SQLite takes a thousand values."""
_PARTS: Final = 50


class Stored(StrEnum):
    CREATED = "created"
    CHANGED = "changed"
    UNCHANGED = "unchanged"


def write(run: int, slug: str, language: str, listed_as: str, made: Made) -> Stored:
    """Publish the page as it is now. Where it is stored already, ``updated_at`` stays. Raises Superseded."""

    def once() -> Stored:
        with begun():
            stored = _write(run, slug, language, listed_as, made)
            if stored is not Stored.UNCHANGED:
                runs.count_changes(run, 1)
            return stored

    try:
        return patiently(once)
    except IntegrityError:
        # Somebody else has just stored it for the first time.
        return patiently(once)


def confirm(run: int, keys: Sequence[int]) -> None:
    """Note that these pages are still so, at most BATCH of them."""
    rows = ContentPage.objects.filter(pk__in=keys, seen_in__lte=run)
    write_patiently(lambda: rows.update(seen_in=run, confirmed_at=now_datetime()))


def keep(run: int, listed_as: str) -> None:
    """Note that what is listed under this slug is not gone, though nobody can say how it is."""
    rows = ContentPage.objects.filter(Q(slug=listed_as) | Q(listed_as=listed_as), seen_in__lt=run)
    write_patiently(lambda: rows.update(seen_in=run))


def remove(run: int, listed_as: str, language: str, published: Container[tuple[str, str]]) -> int:
    """Take away what is listed under this slug, but not what this run ``published`` ((slug, language)) from elsewhere;
    how many pages there were."""
    listed = Q(slug=listed_as) | Q(listed_as=listed_as)
    rows = ContentPage.objects.filter(listed, language=language, seen_in__lte=run)
    # Looked at first: mostly there is nothing, and a transaction that writes waits for its turn.
    keys = [key for key, slug in rows.values_list("pk", "slug") if (slug, language) not in published]
    return _delete(run, rows.filter(pk__in=keys)) if keys else 0


def remove_unseen(run: int) -> int:
    """Take all pages away that this run, which has seen all, did not come by; how many there were."""
    removed = 0
    unseen = ContentPage.objects.filter(seen_in__lt=run)
    while keys := list(unseen.values_list("pk", flat=True)[:BATCH]):
        removed += _delete(run, unseen.filter(pk__in=keys))
        if len(keys) < BATCH:
            break
    return removed


def _write(run: int, slug: str, language: str, listed_as: str, made: Made) -> Stored:
    at = now_datetime()
    row = ContentPage.objects.filter(slug=slug, language=language).first()
    if row is not None and row.seen_in > run:
        raise Superseded
    seen: dict[str, Any] = {
        "listed_as": listed_as,
        "source_etag": made.source_etag,
        "source_digest": made.source_digest,
        "confirmed_at": at,
        "seen_in": run,
    }
    content: dict[str, Any] = {
        "path": made.path,
        "title": made.title,
        "description": made.description,
        "section": made.section,
        "source": made.source,
        "digest": made.digest,
    }
    if row is not None and all(getattr(row, name) == value for name, value in content.items()):
        ContentPage.objects.filter(pk=row.pk).update(**seen)
        return Stored.UNCHANGED
    content |= {
        "tokens": sum(part.tokens for part in made.parts),
        "parts": len(made.parts),
        "updated_at": at,
    }
    if row is None:
        key = ContentPage.objects.create(slug=slug, language=language, **content, **seen).pk
    else:
        key = row.pk
        ContentPage.objects.filter(pk=key).update(**content, **seen)
        ContentPart.objects.filter(page_id=key).delete()
    ContentPart.objects.bulk_create(
        [
            ContentPart(
                page_id=key,
                number=part.number,
                text=part.text,
                tokens=part.tokens,
                digest=hashlib.sha256(part.text.encode()).hexdigest(),
                before=part.before,
                after=part.after,
            )
            for part in made.parts
        ],
        batch_size=_PARTS,
    )
    return Stored.CREATED if row is None else Stored.CHANGED


def _delete(run: int, rows: QuerySet[ContentPage]) -> int:
    def once() -> int:
        with begun():
            removed = rows.delete()[1].get(ContentPage._meta.label, 0)
            if removed:
                runs.count_changes(run, removed)
            return removed

    return patiently(once)
