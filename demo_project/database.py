"""Where the demo keeps its data: an SQLite file by default, PostgreSQL when the environment names one."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit


def database(where: str) -> dict[str, Any]:
    """Django's DATABASES entry for a file path or a ``postgresql://user:password@host:port/name`` URL."""
    if where.startswith(("postgresql://", "postgres://")):
        url = urlsplit(where)
        return {
            "ENGINE": "django.db.backends.postgresql",
            "NAME": unquote(url.path.lstrip("/")),
            "USER": unquote(url.username or ""),
            "PASSWORD": unquote(url.password or ""),
            "HOST": url.hostname or "",
            "PORT": str(url.port or ""),
            # Under ASGI a kept connection would stay with its thread for ever.
            "CONN_MAX_AGE": 0,
        }
    return {
        "ENGINE": "django.db.backends.sqlite3",
        "NAME": str(Path(where).expanduser().absolute()),
        "OPTIONS": {
            # Seconds to wait for the one writer. IMMEDIATE makes every transaction wait at its beginning instead of
            # failing in its middle; FULL keeps an answered purchase even when the power goes.
            "timeout": 20,
            "transaction_mode": "IMMEDIATE",
            "init_command": "PRAGMA journal_mode=WAL;PRAGMA synchronous=FULL;",
        },
    }
