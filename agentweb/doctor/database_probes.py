"""The database: whether it answers, has its tables, keeps what it confirmed, and is cleared now and then."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta
from typing import Any, Final

from django.conf import settings
from django.core.checks import CheckMessage
from django.db import DatabaseError, connections
from django.db.migrations.executor import MigrationExecutor

from agentweb import conf
from agentweb.access.checks import check_durability, check_transaction_mode
from agentweb.access.models import Bucket, Nonce, Revocation
from agentweb.access.rows import database
from agentweb.http.probes import WITH_TABLES, Examined, Level, Look, Probe, Problem
from agentweb.invoke.models import AuditEntry, IdempotencyRecord
from agentweb.wire.clock import now_datetime

_LABEL: Final = "agentweb"
_PATIENCE_SECONDS: Final = 20
_DJANGO_PATIENCE: Final = 5
OVERDUE: Final = timedelta(days=2)
"""How long something may have been expired before somebody should have cleared it."""


def unreachable(site: Examined) -> Iterable[Problem]:
    try:
        connections[database()].ensure_connection()
    except DatabaseError as error:
        yield Problem(
            f"The database {database()!r} does not answer: {error}".strip(),
            f'Look at DATABASES["{database()}"] and at the server that it names.',
        )


def not_migrated(site: Examined) -> Iterable[Problem]:
    executor = MigrationExecutor(connections[database()])
    plan = executor.migration_plan(executor.loader.graph.leaf_nodes())
    names = [migration.name for migration, _backwards in plan if migration.app_label == _LABEL]
    if names:
        yield Problem(
            f"Migrations of agentweb are not applied: {', '.join(names)}.", "Run `manage.py migrate`."
        )


def reads_before_writes(site: Examined) -> Iterable[Problem] | None:
    return _from_check(check_transaction_mode(), "agentweb.W030") if _vendor() == "sqlite" else None


def no_wal(site: Examined) -> Iterable[Problem] | None:
    return _from_check(_durability(), "agentweb.W031") if _is_sqlite_file() else None


def loses_confirmed_writes(site: Examined) -> Iterable[Problem] | None:
    """A power cut takes back what callers were told: SQLite's synchronous, PostgreSQL's synchronous_commit."""
    if _is_sqlite_file():
        return _from_check(_durability(), "agentweb.W032")
    if _vendor() != "postgresql":
        return None
    with connections[database()].cursor() as cursor:
        cursor.execute("SHOW synchronous_commit")
        setting = str(cursor.fetchone()[0])
    if setting != "off":
        return []
    return [
        Problem(
            "PostgreSQL's synchronous_commit is off: a crash can lose charges and nonces that were confirmed.",
            "Set synchronous_commit = on for this database or its role.",
        )
    ]


def short_patience(site: Examined) -> Iterable[Problem] | None:
    if _vendor() != "sqlite":
        return None
    patience = connections[database()].settings_dict.get("OPTIONS", {}).get("timeout", _DJANGO_PATIENCE)
    if patience >= _PATIENCE_SECONDS:
        return []
    return [
        Problem(
            f"SQLite waits {patience} seconds for its turn to write; under load some writers wait longer.",
            f'Set DATABASES["{database()}"] "OPTIONS": {{"timeout": {_PATIENCE_SECONDS}, …}}.',
        )
    ]


def connections_kept_under_asgi(site: Examined) -> Iterable[Problem]:
    options = connections[database()].settings_dict
    is_asgi = bool(getattr(settings, "ASGI_APPLICATION", None))
    if is_asgi and options.get("CONN_MAX_AGE", 0) != 0:
        yield Problem(
            f"ASGI_APPLICATION is set and CONN_MAX_AGE is {options['CONN_MAX_AGE']}: under ASGI kept connections "
            "pile up, since each request may get another thread.",
            f'Set DATABASES["{database()}"]["CONN_MAX_AGE"] = 0, or use a pool ("OPTIONS": {{"pool": True}}).',
        )


def never_cleared(site: Examined) -> Iterable[Problem]:
    at = now_datetime()
    due = at - OVERDUE
    audited = due - timedelta(days=conf.get("AUDIT_DAYS"))
    overdue: dict[str, Any] = {
        "nonces": Nonce.objects.filter(expires_at__lt=due),
        "limits": Bucket.objects.filter(tat__lt=int(due.timestamp() * 1e6)),
        "revocations": Revocation.objects.filter(expires_at__lt=due),
        "idempotency records": IdempotencyRecord.objects.filter(expires_at__lt=due),
        "audit rows": AuditEntry.objects.filter(at__lt=audited),
    }
    found = [what for what, rows in overdue.items() if rows.exists()]
    if found:
        yield Problem(
            f"There are {', '.join(found)} that expired more than {OVERDUE.days} days ago: nothing clears them.",
            "Run `manage.py clear_expired` from cron or a timer, every hour.",
        )


def _durability() -> list[CheckMessage]:
    return check_durability(databases=[database()])


def _from_check(messages: Iterable[CheckMessage], wanted: str) -> list[Problem]:
    return [Problem(each.msg, each.hint or "") for each in messages if each.id == wanted]


def _vendor() -> str:
    return str(connections[database()].vendor)


def _is_sqlite_file() -> bool:
    connection: Any = connections[database()]
    return connection.vendor == "sqlite" and not connection.is_in_memory_db()


def _production(number: str, healthy: str, look: Look, *, asks: bool = False) -> Probe:
    return Probe(
        number, Level.WARNING, healthy, look, after=WITH_TABLES if asks else (), is_for_production=True
    )


PROBES: Final = (
    Probe("D020", Level.ERROR, "The database answers.", unreachable),
    Probe("D021", Level.ERROR, "All migrations of agentweb are applied.", not_migrated, after=("D020",)),
    _production("D022", "SQLite begins transactions with IMMEDIATE.", reads_before_writes),
    _production("D023", "SQLite's journal is WAL.", no_wal, asks=True),
    _production(
        "D024",
        "The database keeps what it confirmed, also through a power cut.",
        loses_confirmed_writes,
        asks=True,
    ),
    _production("D025", f"SQLite waits at least {_PATIENCE_SECONDS} seconds for its turn.", short_patience),
    _production("D026", "No connection is kept under ASGI.", connections_kept_under_asgi),
    _production("D027", "What expires is cleared.", never_cleared, asks=True),
)
