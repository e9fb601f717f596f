"""Where the shop that is open answers: a note beside its database, for the commands that run beside it.

The note counts only while its demo runs, which the lock of the database tells: one that was left behind by a
demo that was killed changes nothing.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Final

_ORIGIN: Final = re.compile(r"http://127\.0\.0\.1:[0-9]{1,5}")


def lock_of(database: Path) -> Path:
    """The file that a running demo holds locked."""
    return database.with_name(f"{database.name}-lock")


def note_of(database: Path) -> Path:
    """The file with the origin of the demo that runs on this database."""
    return database.with_name(f"{database.name}-origin")


@contextmanager
def noted(database: Path, origin: str) -> Iterator[None]:
    """Leave the note while the block runs. On a read-only disk there is none."""
    note = note_of(database)
    try:
        with suppress(OSError):
            note.write_text(origin, encoding="ascii")
        yield
    finally:
        with suppress(OSError):
            note.unlink()


def noted_origin(database: Path) -> str | None:
    """The origin of the demo that runs on this database now; None when none does, or it left no note."""
    try:
        origin = note_of(database).read_text(encoding="ascii")
    except (OSError, ValueError):
        return None
    return origin if _ORIGIN.fullmatch(origin) and _is_locked(lock_of(database)) else None


def _is_locked(lock: Path) -> bool:
    try:
        with closing(sqlite3.connect(f"{lock.absolute().as_uri()}?mode=ro", uri=True, timeout=0)) as opened:
            opened.execute("SELECT name FROM sqlite_master").fetchall()
    except sqlite3.OperationalError as error:
        return "locked" in str(error)
    except sqlite3.Error:
        return False
    return False
