"""A database for one run: SQLite as we advise to set it up, or PostgreSQL on 127.0.0.1."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

KINDS: Final = ("sqlite", "postgres")


@contextmanager
def fresh(kind: str, folder: Path) -> Iterator[dict[str, Any]]:
    """Django's settings of an empty database, which is removed afterwards."""
    if kind == "sqlite":
        yield {
            "ENGINE": "django.db.backends.sqlite3",
            "NAME": str(folder / "benchmarks.sqlite3"),
            "OPTIONS": {
                "timeout": 20,
                "transaction_mode": "IMMEDIATE",
                "init_command": "PRAGMA journal_mode=WAL;PRAGMA synchronous=FULL;",
            },
            "CONN_MAX_AGE": None,
        }
        return
    name = f"agentweb_benchmarks_{os.getpid()}"
    _psql(f'CREATE DATABASE "{name}"')
    try:
        yield {
            "ENGINE": "django.db.backends.postgresql",
            "NAME": name,
            "USER": os.environ.get("PGUSER", "postgres"),
            "PASSWORD": os.environ.get("PGPASSWORD", ""),
            "HOST": os.environ.get("PGHOST", "127.0.0.1"),
            "PORT": os.environ.get("PGPORT", "5432"),
            "CONN_MAX_AGE": None,
        }
    finally:
        _psql(f'DROP DATABASE "{name}" WITH (FORCE)')


def _psql(statement: str) -> None:
    host, user = os.environ.get("PGHOST", "127.0.0.1"), os.environ.get("PGUSER", "postgres")
    subprocess.run(["psql", "-q", "-h", host, "-U", user, "-d", "postgres", "-c", statement], check=True)
