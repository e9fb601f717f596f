"""The site's signing keys and the clock by which signatures are judged."""

from __future__ import annotations

import time
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Final

from django.conf import settings
from django.db import connections

from agentweb import rooms
from agentweb.access import site_keys
from agentweb.access.models import SiteKey
from agentweb.access.rows import database
from agentweb.access.sealing import unseal
from agentweb.http.probes import WITH_TABLES, Examined, Level, Probe, Problem
from agentweb.invoke.models import AuditEntry
from agentweb.wire.clock import now_datetime

OLDEST_KEY: Final = timedelta(days=400)
_RELEASED: Final = datetime(2026, 1, 1, tzinfo=UTC)
_SKEW_SECONDS: Final = 5.0
_AHEAD: Final = timedelta(seconds=60)


def no_key(site: Examined) -> Iterable[Problem]:
    if rooms.takes_grants() and not SiteKey.objects.filter(is_active=True).exists():
        yield Problem(
            "The site has no signing key, so it can issue neither grants nor receipts.",
            "Run `manage.py agentweb_keys create`.",
        )


def sealed_keys(site: Examined) -> Iterable[Problem]:
    for row in SiteKey.objects.order_by("created_at"):
        try:
            site_keys.open_row(row)
        except ValueError as error:
            yield Problem(
                f"The signing key {row.kid} cannot be opened: {error}",
                "If SECRET_KEY was changed, put the former one into SECRET_KEY_FALLBACKS and run "
                "`manage.py agentweb_keys reseal`.",
            )


def sealed_under_a_former_key(site: Examined) -> Iterable[Problem]:
    for row in SiteKey.objects.order_by("created_at"):
        if _opens_with(row, (settings.SECRET_KEY,)):
            continue
        if _opens_with(row, tuple(settings.SECRET_KEY_FALLBACKS)):
            yield Problem(
                f"The signing key {row.kid} opens with one of SECRET_KEY_FALLBACKS only, and is lost when that goes.",
                "Run `manage.py agentweb_keys reseal`.",
            )


def old_key(site: Examined) -> Iterable[Problem] | None:
    row = SiteKey.objects.filter(is_active=True).first()
    if row is None:
        return None
    age = now_datetime() - row.created_at
    if age <= OLDEST_KEY:
        return []
    return [
        Problem(
            f"The signing key {row.kid} signs for {age.days} days now.",
            "Run `manage.py agentweb_keys rotate`; what the old key signed still verifies.",
        )
    ]


def impossible_clock(site: Examined) -> Iterable[Problem]:
    """A clock that is behind refuses every signature, as one from the future."""
    at = now_datetime()
    if at < _RELEASED:
        yield Problem(
            f"This machine's clock says {at:%Y-%m-%d %H:%M} UTC, which is over.",
            "Set the clock; run an NTP client.",
        )
        return
    newest = AuditEntry.objects.order_by("-pk").values_list("at", flat=True).first()
    if newest is not None and newest > at + _AHEAD:
        yield Problem(
            f"The newest audit row is of {newest:%Y-%m-%d %H:%M} UTC, after this machine's {at:%Y-%m-%d %H:%M} UTC: "
            "one of the site's clocks is wrong.",
            "Compare the clocks of all machines of the site; run an NTP client.",
        )


def other_clock_in_the_database(site: Examined) -> Iterable[Problem] | None:
    connection = connections[database()]
    if connection.vendor != "postgresql":
        return None  # SQLite has this machine's clock
    before = time.monotonic()
    with connection.cursor() as cursor:
        cursor.execute("SELECT clock_timestamp()")
        theirs: datetime = cursor.fetchone()[0]
    ours = now_datetime()
    skew = (theirs - ours).total_seconds()
    if abs(skew) <= _SKEW_SECONDS + time.monotonic() - before:
        return []
    return [
        Problem(
            f"The database server's clock is {abs(skew):.0f} seconds {'ahead of' if skew > 0 else 'behind'} this "
            "machine's.",
            "Find out which of the two is wrong; signatures are refused from a minute ahead on.",
        )
    ]


def _opens_with(row: SiteKey, keys: tuple[str | bytes, ...]) -> bool:
    try:
        unseal(row.sealed, row.kid, keys)
    except ValueError:
        return False
    return True


PROBES: Final = (
    Probe(
        "D030",
        Level.ERROR,
        "The site has a key to sign with.",
        no_key,
        after=WITH_TABLES,
        is_for_production=True,  # under DEBUG one is made at first use
    ),
    Probe(
        "D031",
        Level.ERROR,
        "Every signing key opens with SECRET_KEY or a fallback.",
        sealed_keys,
        after=WITH_TABLES,
    ),
    Probe("D032", Level.WARNING, "No key waits for a reseal.", sealed_under_a_former_key, after=WITH_TABLES),
    Probe(
        "D033",
        Level.WARNING,
        f"The signing key is younger than {OLDEST_KEY.days} days.",
        old_key,
        after=WITH_TABLES,
    ),
    Probe("D034", Level.ERROR, "The clock is plausible.", impossible_clock, after=WITH_TABLES),
    Probe(
        "D035",
        Level.WARNING,
        "The database's clock agrees with this one.",
        other_clock_in_the_database,
        after=(*WITH_TABLES, "D034"),
    ),
)
