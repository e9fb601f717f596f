"""System checks of the floor of authority: the database's promises, and a key that can sign.

Those that ask the database are tagged ``database`` and run with ``check --database default`` and before
``migrate``. They are warnings: an error would stop the very migration that makes the tables.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from django.conf import settings
from django.core.checks import CheckMessage, Warning
from django.db import DatabaseError, connections

from agentweb.access import site_keys
from agentweb.access.models import SiteKey
from agentweb.access.rows import database
from agentweb.conf import runs

_FULL: Final = 2
_OPTIONS_HINT: Final = (
    '"OPTIONS": {"timeout": 20, "transaction_mode": "IMMEDIATE", '
    '"init_command": "PRAGMA journal_mode=WAL;PRAGMA synchronous=FULL;"}'
)


def check_transaction_mode(**kwargs: Any) -> list[CheckMessage]:
    """W030: a transaction that reads before it writes fails at once when another one writes."""
    connection = connections[database()]
    if connection.vendor != "sqlite" or _mode(connection.settings_dict) in {"IMMEDIATE", "EXCLUSIVE"}:
        return []
    return [
        Warning(
            'SQLite begins transactions without "transaction_mode": "IMMEDIATE": handlers that read before they '
            'write can fail with "database is locked".',
            hint=f'Set DATABASES["{database()}"] {_OPTIONS_HINT}.',
            id="agentweb.W030",
        )
    ]


def check_durability(databases: Sequence[str] | None = None, **kwargs: Any) -> list[CheckMessage]:
    """W031: readers and writers wait for each other. W032: a power cut can take committed money back."""
    connection: Any = connections[database()]
    if not _is_asked(databases) or connection.vendor != "sqlite" or connection.is_in_memory_db():
        return []
    found: list[CheckMessage] = []
    with connection.cursor() as cursor:
        journal = str(cursor.execute("PRAGMA journal_mode").fetchone()[0])
        synchronous = int(cursor.execute("PRAGMA synchronous").fetchone()[0])
    if journal.lower() != "wal":
        found.append(
            Warning(
                f"SQLite's journal_mode is {journal}, so readers and writers wait for each other.",
                hint=f'Set DATABASES["{database()}"] {_OPTIONS_HINT}.',
                id="agentweb.W031",
            )
        )
    if synchronous < _FULL:
        found.append(
            Warning(
                "SQLite's synchronous is below FULL: a power cut can lose charges and nonces that were confirmed.",
                hint=f'Set DATABASES["{database()}"] {_OPTIONS_HINT}.',
                id="agentweb.W032",
            )
        )
    return found


def check_site_key(databases: Sequence[str] | None = None, **kwargs: Any) -> list[CheckMessage]:
    """W033: no key to sign with; a test run makes its own. W034: a key that today's SECRET_KEY does not open."""
    if not _is_asked(databases):
        return []
    try:
        rows = list(SiteKey.objects.all())
    except DatabaseError:
        return []  # not migrated yet, which Django says itself
    found: list[CheckMessage] = []
    if not (settings.DEBUG or runs.is_test() or any(row.is_active for row in rows)):
        found.append(
            Warning(
                "The site has no signing key, so it can issue neither grants nor receipts.",
                hint="Run `manage.py agentweb_keys create`.",
                id="agentweb.W033",
            )
        )
    for row in rows:
        try:
            site_keys.open_row(row)
        except ValueError as error:
            found.append(
                Warning(
                    f"The site's signing key {row.kid} cannot be opened: {error}",
                    hint=(
                        "If SECRET_KEY was changed, put the former one into SECRET_KEY_FALLBACKS and run "
                        "`manage.py agentweb_keys reseal`."
                    ),
                    id="agentweb.W034",
                )
            )
    return found


def _mode(options: dict[str, Any]) -> str:
    return str(options.get("OPTIONS", {}).get("transaction_mode") or "").upper()


def _is_asked(databases: Sequence[str] | None) -> bool:
    # Django 5.2 passes None when nobody named a database; 6.x then leaves us out, or names them all for our tag.
    return databases is not None and database() in databases
