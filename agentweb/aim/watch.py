"""Waiting for events of one's own: one thread of the process looks at the log for all who wait in it.

So whoever waits holds no connection to the database, and one message does not make all of them read at once: a look
tells which streams have grown, and only those who read these are woken, a few at a time. It also tells who may not
read any more: whoever was suspended, was deleted or has another key is woken, and reads nothing.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from django.db import connections

from agentweb.aim import log, outlets, wakeups
from agentweb.aim.cursors import event_cursor, parse_event_cursor
from agentweb.aim.models import Agent
from agentweb.aim.statements import Statement

logger = logging.getLogger("agentweb.aim")

READS_AT_ONCE: Final = 4
"""Who was woken reads, and these are as many connections."""

STANDING_SECONDS: Final = 1.0
"""How often it is looked whether those who wait still may."""

PAUSE_SECONDS: Final = 0.01
"""Between two looks, however often somebody rings."""

FAILED_SECONDS: Final = 0.5

_LOOK: Final = Statement(
    "SELECT h.last, h.floor, h.epoch, e.stream, e.seq FROM {head} h LEFT JOIN "
    "(SELECT stream, MAX(seq) AS seq FROM {event} WHERE seq > %s GROUP BY stream) e ON 1 = 1 WHERE h.name = %s"
)
_STANDING: Final = Statement(
    "SELECT k.public FROM {agent_key} k JOIN {agent} a ON a.id = k.agent_id "
    "WHERE k.until IS NULL AND a.status = %s AND k.public IN ({keys})"
)


class Waiter:
    """An agent that waits in one request, signed with ``key``. ``is_ended`` when it has to stop doing so."""

    def __init__(self, agent: Agent, key: str) -> None:
        self.key = key
        self.stream = log.stream_of(agent.pk)
        self.is_ended = False
        self.epoch = ""
        self.position = 0
        self.woken = threading.Event()

    @property
    def cursor(self) -> str:
        """Everything up to here has been looked at: there was nothing for this agent since it began to wait."""
        return event_cursor(self.epoch, self.position)

    def end(self) -> None:
        self.is_ended = True
        self.woken.set()


class Watch:
    """Runs while somebody waits, and not without."""

    def __init__(self) -> None:
        self.begin()

    def begin(self) -> None:
        """As it is when nobody waits; in a forked child too, for threads and held locks stay behind."""
        self._lock = threading.Lock()
        self._waiting: dict[Waiter, None] = {}
        self._is_running = False
        self._looks_at = 0.0
        self._has_failed = False
        self._reads = threading.BoundedSemaphore(READS_AT_ONCE)

    def wait(self, waiter: Waiter, cursor: str, seconds: float) -> bool:
        """Wait until there may be something after the cursor, for so many seconds; whether there is.

        The waiter's own cursor is then where to go on. The caller holds no connection meanwhile.
        """
        waiter.epoch, waiter.position = parse_event_cursor(cursor)
        waiter.woken.clear()
        if waiter.is_ended:
            return False
        with self._lock:
            self._waiting[waiter] = None
            if not self._is_running:
                # Without a thread this one waits in vain, and asks again from where it was.
                self._is_running = outlets.begin(self._run, "agentweb log") is not None
        # What came since the cursor was read may have been looked at already.
        wakeups.hurry()
        try:
            return waiter.woken.wait(seconds) and not waiter.is_ended
        finally:
            with self._lock:
                self._waiting.pop(waiter, None)
                is_idle = not self._waiting
            if is_idle:
                wakeups.hurry()

    @contextmanager
    def reading(self, seconds: float) -> Iterator[bool]:
        """A turn to read, for the block; False when none came within so many seconds."""
        has_turn = self._reads.acquire(timeout=max(0.0, seconds))
        try:
            yield has_turn
        finally:
            if has_turn:
                self._reads.release()

    def _run(self) -> None:
        while True:
            mark = wakeups.mark()
            with self._lock:
                waiting = list(self._waiting)
                if not waiting:
                    self._is_running = False
                    break
            woken = self._try_to_look(waiting)
            with self._lock:
                for waiter in woken or ():
                    if waiter in self._waiting:
                        self._waiting.pop(waiter)
                        waiter.woken.set()
                is_idle = not self._waiting
            if not is_idle:
                time.sleep(FAILED_SECONDS if woken is None else PAUSE_SECONDS)
                wakeups.wait(wakeups.POLL_SECONDS, mark)
        connections.close_all()

    def _try_to_look(self, waiting: list[Waiter]) -> list[Waiter] | None:
        """Those to wake; None where the database failed, which may answer at the next turn."""
        found = None
        try:
            found = self._look(waiting)
        except Exception:
            if not self._has_failed:
                logger.warning(
                    "Could not look at the log for those who wait; it is tried again", exc_info=True
                )
            connections.close_all()
        self._has_failed = found is None
        return found

    def _look(self, waiting: list[Waiter]) -> list[Waiter]:
        rows = _LOOK.fetch([min(waiter.position for waiter in waiting), log.NAME])
        if not rows:
            return []
        last, floor, epoch = rows[0][:3]
        newest = {row[3]: row[4] for row in rows}
        of_all = newest.get(log.AGENTS, 0)
        due = [
            waiter
            for waiter in waiting
            if max(newest.get(waiter.stream, 0), of_all) > waiter.position
            # The cursor does not hold any more; reading says so.
            or waiter.epoch != epoch
            or not floor <= waiter.position <= last
        ]
        asked = due
        if time.monotonic() >= self._looks_at:
            self._looks_at = time.monotonic() + STANDING_SECONDS
            asked = waiting
        for waiter in (fallen := _fallen(asked)):
            waiter.is_ended = True
        for waiter in set(waiting).difference(due):
            waiter.position = last
        return [*due, *fallen]


def _fallen(waiting: list[Waiter]) -> list[Waiter]:
    """Those who may not read any more."""
    keys = sorted({waiter.key for waiter in waiting})
    if not keys:
        return []
    good = {key for (key,) in _STANDING.fetch([Agent.Status.ACTIVE.value, *keys], keys=len(keys))}
    return [waiter for waiter in waiting if waiter.key not in good]


watch: Final = Watch()

os.register_at_fork(after_in_child=watch.begin)
