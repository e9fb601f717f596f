"""Counting requests: in the memory of each process, and added up in the database every few seconds.

A request adds one under a lock and asks nothing. A thread of the process writes what came together, in one statement
that adds to what is there, so any number of processes may write at once; and the process does when it ends. Lost is
what a process had not written when it was killed, or when the database refused it for longer than it lived: some
seconds of counts. Where a connection breaks in the moment of a commit, these are written again and counted twice.
"""

from __future__ import annotations

import atexit
import logging
import os
import threading
import time
from typing import Final

from django.db import connections, router

from agentweb.access.database import not_awaiting_the_disk
from agentweb.awp.analytics.models import AgentRequests
from agentweb.conf import runs
from agentweb.wire.clock import from_unix, now

logger = logging.getLogger("agentweb.awp")

WRITE_SECONDS: Final = 5.0
WRITE_COUNTS: Final = 1_000
"""Counts after which they are written sooner."""
RETRY_SECONDS: Final = 30.0
"""After the database refused them."""
MOST_KEPT: Final = 5_000
"""Different counts in memory: a day has at most a hundred or so, and the database will not be away for a month."""

_DAY_SECONDS: Final = 86_400

Key = tuple[int, str, str]
"""Day since 1970 in UTC, protocol, family."""


class Counts:
    """The counts of a process that are not written yet."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.kept: dict[Key, int] = {}
        self.total = 0
        self.some = threading.Event()
        self.many = threading.Event()
        self.thread: threading.Thread | None = None

    def add(self, protocol: str, family: str) -> None:
        """Count one request."""
        key = (int(now() // _DAY_SECONDS), protocol, family)
        with self.lock:
            if key not in self.kept and len(self.kept) >= MOST_KEPT:
                return
            self.kept[key] = self.kept.get(key, 0) + 1
            self.total += 1
            if self.thread is None:
                self._start()
        if not self.some.is_set():
            self.some.set()
        if self.total >= WRITE_COUNTS and not self.many.is_set():
            self.many.set()

    def take(self) -> dict[Key, int]:
        """What is counted, which then is not here any more."""
        with self.lock:
            taken, self.kept, self.total = self.kept, {}, 0
            self.some.clear()
            self.many.clear()
        return taken

    def put_back(self, taken: dict[Key, int]) -> None:
        with self.lock:
            for key, count in taken.items():
                self.kept[key] = self.kept.get(key, 0) + count
                self.total += count
        self.some.set()

    def write(self) -> int:
        """Add what is counted to the database; how many requests. What it refuses stays counted, and it raises."""
        taken = self.take()
        try:
            _add_up(taken)
        except BaseException:
            self.put_back(taken)
            raise
        return sum(taken.values())

    def _start(self) -> None:
        if runs.is_test():
            # A thread of ours would write into a test's database, from beside its transaction. Tests that look at
            # counts write them themselves.
            return
        self.thread = threading.Thread(target=self._run, name="agentweb-analytics", daemon=True)
        self.thread.start()
        atexit.register(_write_at_exit, os.getpid())

    def _run(self) -> None:
        while True:
            self.some.wait()
            self.many.wait(WRITE_SECONDS)
            if not _write_quietly(self):
                time.sleep(RETRY_SECONDS)


counts = Counts()


def _write_quietly(counted: Counts) -> bool:
    try:
        counted.write()
    except Exception:
        logger.warning("The counts of agents' requests could not be written; they are kept.", exc_info=True)
        return False
    finally:
        # Nobody else in this thread needs them, and a database may be dropped or restarted meanwhile.
        connections.close_all()
    return True


def _write_at_exit(pid: int) -> None:
    if pid == os.getpid():
        _write_quietly(counts)


def _begin_anew() -> None:
    # A child has no thread of its parent's, and the parent writes what it counted.
    global counts  # noqa: PLW0603 - one for the process
    counts = Counts()


os.register_at_fork(after_in_child=_begin_anew)


def _add_up(taken: dict[Key, int]) -> None:
    if not taken:
        return
    connection = connections[router.db_for_write(AgentRequests) or "default"]
    table = connection.ops.quote_name(AgentRequests._meta.db_table)
    as_day = connection.ops.adapt_datefield_value
    # In one order: of two processes that write at once, neither waits for the other in a circle.
    rows = sorted(taken.items())
    values = [
        value
        for (day, protocol, family), count in rows
        for value in (as_day(from_unix(day * _DAY_SECONDS).date()), protocol, family, count)
    ]
    with not_awaiting_the_disk(connection), connection.cursor() as cursor:
        cursor.execute(
            f"INSERT INTO {table} (day, protocol, family, requests) "  # noqa: S608
            f"VALUES {', '.join(['(%s, %s, %s, %s)'] * len(rows))} "
            f"ON CONFLICT (day, protocol, family) DO UPDATE SET requests = {table}.requests + excluded.requests",
            values,
        )
