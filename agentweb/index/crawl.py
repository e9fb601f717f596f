"""Looking at sites: who is looked at and when, and what becomes of what is found.

Nothing is held in the database while a site is asked, only the row's lease, so that of several processes one asks. A
site that fails is asked again after a while that grows, and forgotten when it has failed for long.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from django.db import DatabaseError
from django.db.models import F, Q

from agentweb import conf
from agentweb.access.database import write_patiently
from agentweb.access.rows import insert_if_absent
from agentweb.client import crawling, discovery
from agentweb.client.crawling import About
from agentweb.client.discovery import manifest_url
from agentweb.client.listing import entries_of, shown
from agentweb.client.manifest import Manifest, Problem, read_manifest
from agentweb.client.ranking_words import VERSION
from agentweb.client.transport import Transport
from agentweb.index import store
from agentweb.index.models import MESSAGE_LENGTH, SITE_LENGTH, IndexedSite
from agentweb.wire.clock import now_datetime
from agentweb.wire.errors import ClientError, Code
from agentweb.wire.http_signature import authority_of
from agentweb.wire.strict_json import loads

logger = logging.getLogger("agentweb.index")

SECONDS: Final = 10.0
"""That one site may take with its manifest, and again with what it says of itself."""
_LEASE: Final = timedelta(seconds=60)
FIRST_RETRY: Final = timedelta(minutes=10)
_MOST_DOUBLINGS: Final = 8
GIVEN_UP: Final = timedelta(days=30)
"""A site that has failed for so long is forgotten."""
NEVER_MET: Final = timedelta(days=2)
"""One that never had a manifest is forgotten sooner: anybody names hosts that do not exist."""
_WITHDRAWN: Final = frozenset({404, 410})
"""Answers with which a site says that it has no manifest any more."""

State = IndexedSite.State


@dataclass(frozen=True, slots=True)
class Looked:
    """What came of a look at a site: ``error`` is None when it went well; ``unusable`` are problems of actions that
    were left out. ``is_new`` says whether the text was another one than before."""

    row: IndexedSite
    is_new: bool = False
    unusable: tuple[Problem, ...] = ()
    error: ClientError | None = None


def allowed_hosts() -> frozenset[str]:
    """Hosts in lower case that the site's settings vouch for."""
    return frozenset(str(host).lower() for host in conf.get_in("INDEX", "ALLOW_HOSTS"))


def transport(also: Collection[str] = ()) -> Transport:
    """What sites are asked through: this machine and private networks only where the site's settings name them, or
    ``also``, who calls."""
    return Transport(allowed=(*allowed_hosts(), *also), seconds=SECONDS, loopback=False)


def row_for(url: str) -> IndexedSite:
    """The row of the site of ``url``, made when there is none. Raises ClientError ``site_unreachable`` (``url``)."""
    where = manifest_url(url)
    site = authority_of(where)
    if len(site) > SITE_LENGTH:
        raise ClientError(Code.SITE_UNREACHABLE, "The name of the site is too long.", reason="url")
    at = now_datetime()
    found = IndexedSite.objects.filter(site=site).first()
    if found is not None:
        if found.url != where and found.confirmed_at is None:
            # Nothing was ever found at the address that was named before, with or without TLS.
            again = IndexedSite.objects.filter(pk=found.pk, confirmed_at=None).exclude(state=State.BLOCKED)
            write_patiently(lambda: again.update(url=where, due_at=at))
            found.refresh_from_db()
        return found
    new = IndexedSite(site=site, url=where, added_at=at, due_at=at)
    write_patiently(lambda: insert_if_absent([new]))
    return IndexedSite.objects.get(site=site)


def look(row: IndexedSite, asking: Transport, *, is_forced: bool = False) -> Looked | None:
    """Ask a site for its manifest and take it in; None when somebody else is at it, or it is blocked.

    Whatever is wrong with the site is in the row and in ``error``. ``is_forced`` takes the text in though it is the
    same.
    """
    if not _lease(row):
        return None
    try:
        row.refresh_from_db()
    except IndexedSite.DoesNotExist:  # forgotten since it was leased
        return None
    try:
        fetched = crawling.fetch(asking, row.url, etag="" if is_forced or not row.manifest else row.etag)
        about = crawling.fetch_about(asking, row.url)
    except ClientError as error:
        return _failed(row, error)
    except Exception:
        logger.exception("Looking at %s failed", row.site)
        return _failed(
            row, ClientError(Code.SITE_UNREACHABLE, "The site could not be read.", reason="internal")
        )
    at = now_datetime()
    if fetched is None:
        try:
            manifest, is_new = _kept(row), False
        except ClientError as error:
            # What was kept by an earlier version is none that this one reads: it is asked for whole next time.
            row.etag = ""
            return _failed(row, error)
        _succeed(row, at)
    else:
        _succeed(row, at)
        manifest, is_new = fetched.manifest, fetched.sha256 != row.sha256
        row.manifest, row.sha256, row.etag = fetched.body.decode(), fetched.sha256, fetched.etag
        row.fetched_at = at
    is_told_anew = (row.name, row.summary) != _words(about)
    row.name, row.summary = _words(about)
    try:
        if is_new or is_told_anew or is_forced or row.version != VERSION:
            store.take_in(row, entries_of(manifest, about))
        else:
            write_patiently(lambda: store.save(row))
    except DatabaseError:
        # Two names of one key, say: 64 bits of a digest that somebody went looking for.
        logger.exception("%s could not be taken in", row.site)
        # With its manifest in the row, the next look would find nothing new and leave the entries as they were.
        row.refresh_from_db()
        return _failed(
            row, ClientError(Code.MANIFEST_INVALID, "The manifest could not be kept.", reason="internal")
        )
    return Looked(row, is_new, manifest.unusable)


def due(at: datetime, *, limit: int) -> list[IndexedSite]:
    """The sites at which a look is due: those that are found first, the longest unconfirmed before the others, so that
    no number of hosts that somebody made up keeps them waiting; then the others, those longest due first."""
    known_first = F("confirmed_at").asc(nulls_last=True)
    return list(
        IndexedSite.objects.filter(_free(at), due_at__lte=at).order_by(known_first, "due_at", "pk")[:limit]
    )


def look_at_due(
    stopping: Callable[[], bool] = lambda: False, *, limit: int = 100, tick: Callable[[], None] = lambda: None
) -> dict[str, int]:
    """Look at every site that is due, some at a time, for the worker and Celery: ``{"sites", "failed"}``."""
    counts = {"sites": 0, "failed": 0}
    rows = due(now_datetime(), limit=limit)
    if not rows:
        return counts
    asking = transport()
    try:
        for row in rows:
            if stopping():
                break
            looked = look(row, asking)
            tick()
            if looked is not None:
                counts["sites"] += 1
                counts["failed"] += looked.error is not None
    finally:
        asking.close()
    store.clear_terms()
    return counts


def is_fresh(row: IndexedSite, at: datetime) -> bool:
    """Whether a look is not due yet, so that naming the site again asks it nothing."""
    return row.due_at > at and row.state != State.WAITING


def stale_before(at: datetime) -> datetime:
    """A site that was last confirmed before this moment is stale."""
    return at - 2 * _refresh()


def error_of(row: IndexedSite) -> ClientError:
    """What the last look at a site found wrong."""
    return ClientError(row.code or Code.SITE_UNREACHABLE, row.message, reason=row.reason or "connection")


def _lease(row: IndexedSite) -> bool:
    at = now_datetime()
    free = IndexedSite.objects.filter(_free(at), pk=row.pk)
    return bool(write_patiently(lambda: free.update(leased_until=at + _LEASE)))


def _free(at: datetime) -> Q:
    return (Q(leased_until=None) | Q(leased_until__lt=at)) & ~Q(state=State.BLOCKED)


def _succeed(row: IndexedSite, at: datetime) -> None:
    row.state, row.failures, row.leased_until = State.INDEXED, 0, None
    row.code = row.reason = row.message = ""
    row.confirmed_at, row.due_at = at, at + _refresh()


def _failed(row: IndexedSite, error: ClientError) -> Looked:
    """Note the failure. What was known of the site stays, unless it says itself that there is nothing any more."""
    at = now_datetime()
    pause = min(FIRST_RETRY * 2 ** min(row.failures, _MOST_DOUBLINGS), max(_refresh(), FIRST_RETRY))
    row.state, row.failures, row.leased_until = State.FAILED, row.failures + 1, None
    row.code, row.reason = error.code, str(error.extra.get("reason", ""))
    row.message = shown(error.message, MESSAGE_LENGTH)
    row.due_at = at + pause
    if row.manifest and error.extra.get("http_status") in _WITHDRAWN:
        row.manifest = row.sha256 = row.etag = ""
        store.empty(row)
    else:
        write_patiently(lambda: store.save(row))
    return Looked(row, error=error)


def _kept(row: IndexedSite) -> Manifest:
    document = loads(row.manifest.encode(), max_bytes=discovery.MAX_BYTES)
    return crawling.with_sound_schemas(read_manifest(document, site=row.site, url=row.url))


def _words(about: About) -> tuple[str, str]:
    return shown(about.name, 200), shown(about.summary, 2_000)


def _refresh() -> timedelta:
    return timedelta(hours=int(conf.get_in("INDEX", "REFRESH_HOURS")))
