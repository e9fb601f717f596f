"""Setting the stage: the database and everything that must be in it before the site opens."""

from __future__ import annotations

import secrets
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, Final

from django.conf import settings
from django.contrib.auth import get_user_model
from django.core.management import call_command
from django.db import connection

from agentweb.access import site_keys
from agentweb.awp.content import published, running
from agentweb.wire.errors import ServerError
from demo_project.origin import lock_of
from demo_project.shop import loading, samples
from demo_project.shop.payments import current_database

STAFF: Final = "staff"
CUSTOMERS: Final = ("ada", "grace")
_LOCK_SECONDS: Final = 0.5
"""Longer than a command that only looks whether a demo runs; see ``origin``."""
_SIDE_FILES: Final = ("", "-wal", "-shm", "-journal", "-payments")


class StagingError(Exception):
    """The stage cannot be set; the text says why and what to do."""


def use(path: Path) -> None:
    """From now on this process works on that SQLite file. Call it before the first query."""
    connection.close()
    connection.settings_dict["NAME"] = str(path)


def current() -> Path | None:
    """The SQLite file that is in use; None on another engine."""
    return current_database()


@contextmanager
def alone(path: Path) -> Iterator[None]:
    """Keep other demos off the file while the block runs; StagingError when one is there.

    The lock is another SQLite file beside it: it works on every system and ends with its process, however that ends.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        lock = sqlite3.connect(lock_of(path), timeout=_LOCK_SECONDS, isolation_level=None)
    except (OSError, sqlite3.Error) as error:
        raise StagingError(f"{path} cannot be used: {error}.") from None
    with closing(lock):
        try:
            lock.execute("BEGIN EXCLUSIVE")
        except sqlite3.OperationalError:
            raise StagingError(
                f"Another demo is using {path}. Stop it, or give this one its own file with --database."
            ) from None
        yield


def remove(path: Path) -> None:
    """Delete a database of the demo; StagingError for a file that is anything else."""
    if not path.exists():
        return
    if not _is_ours(path):
        raise StagingError(f"{path} is not a database of the demo, so it is not deleted.")
    for suffix in _SIDE_FILES:
        path.with_name(path.name + suffix).unlink(missing_ok=True)


def _is_ours(path: Path) -> bool:
    """Whether it is a database with the shop's products, or one that holds nothing yet."""
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as opened:
            tables = {
                name for (name,) in opened.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
            }
    except sqlite3.Error:
        return False
    return not tables or "shop_product" in tables


def migrate() -> None:
    """Bring the tables up to date."""
    call_command("migrate", verbosity=0, interactive=False)


def fill(progress: Callable[[int, int], None] = lambda done, total: None) -> int:
    """Put the products on the shelves, again those that ran out; the number of products."""
    count = loading.load(progress)
    loading.refill()
    return count


def create_site_key() -> None:
    """The key that signs receipts, unless there is one; StagingError when it was sealed under another SECRET_KEY."""
    try:
        site_keys.ensure_active_key()
    except ServerError:
        raise StagingError(
            "The key in this database was sealed under another SECRET_KEY, so it cannot sign here. Use the database "
            "with the key that it was made with, or start with --fresh."
        ) from None


def bring_life() -> None:
    """Customers, their reviews, and requests for the staff, unless the shop has had some."""
    ada, grace = map(person, CUSTOMERS)
    samples.load(ada, grace, staff())


def renew_password(name: str) -> str:
    """A new random password for the staff or a customer of the demo."""
    password = secrets.token_urlsafe(12)
    user = staff() if name == STAFF else person(name)
    user.set_password(password)
    user.save()
    return password


def staff() -> Any:
    """The person who runs the shop."""
    return person(STAFF, is_staff=True, is_superuser=True)


def person(name: str, **columns: Any) -> Any:
    """The user of this name, made if need be."""
    user, _ = get_user_model()._default_manager.get_or_create(username=name, defaults=columns)
    return user


def publish(origin: str) -> int:
    """Write the shop's pages as Markdown, as the site that answers at ``origin`` shows them; how many there are."""
    settings.AGENTWEB = {**settings.AGENTWEB, "ORIGIN": origin}
    running.run()
    return sum(section.pages for section in published.sections())
