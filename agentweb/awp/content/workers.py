"""Looking at pages in several processes: a page that hangs or ends its process costs that page only.

Processes, not threads: what takes time is templates and conversion, of which one process does one at a time.
"""

from __future__ import annotations

import multiprocessing
import os
import pickle
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from typing import Any, Final

from django.db import connections
from django.urls import get_script_prefix

from agentweb.awp.content.making import Looked, Maker
from agentweb.awp.content.outcomes import Failed, Reason
from agentweb.awp.content.rendering import PAGE_SECONDS
from agentweb.awp.content.sources import Candidate
from agentweb.awp.content.worker_process import work

_TICK_SECONDS: Final = 1.0
_GRACE_SECONDS: Final = 2 * PAGE_SECONDS
"""How much longer than it should a page may take before its process is killed: its own alarm comes first."""

Seen = tuple[Candidate, list[Looked]]


def look(
    candidates: Iterable[Candidate], maker: Maker, workers: int, tick: Callable[[], None]
) -> Iterator[Seen]:
    """Each page with what became of it, in the order in which they are done. ``tick`` is called every second or so,
    and between pages. With one worker everything is done by the caller itself."""
    if workers < 2:
        for candidate in candidates:
            yield candidate, maker.make(candidate, tick)
        return
    yield from _Pool(maker, workers, tick).look(iter(candidates))


@dataclass(slots=True)
class _Worker:
    process: Any
    line: Connection
    candidate: Candidate | None = None
    deadline: float = 0.0


class _Pool:
    def __init__(self, maker: Maker, workers: int, tick: Callable[[], None]) -> None:
        self._maker = maker
        self._pickled = pickle.dumps(maker)
        self._size = workers
        self._tick = tick
        # Forked ones know the site as it is set up here. Elsewhere they set it up anew.
        self._context: Any = multiprocessing.get_context("fork" if sys.platform == "linux" else "spawn")
        self._workers: list[_Worker] = []

    def look(self, candidates: Iterator[Candidate]) -> Iterator[Seen]:
        try:
            for _ in range(self._size):
                self._start()
            is_over = False
            while True:
                for worker in self._workers:
                    if worker.candidate is None and not is_over:
                        is_over = not self._hand_on(worker, candidates)
                busy = [worker for worker in self._workers if worker.candidate is not None]
                if not busy:
                    return
                wait([worker.line for worker in busy], _TICK_SECONDS)
                self._tick()
                for worker in busy:
                    seen = self._answer(worker)
                    if seen is not None:
                        yield seen
        finally:
            for worker in self._workers:
                self._end(worker)

    def _hand_on(self, worker: _Worker, candidates: Iterator[Candidate]) -> bool:
        candidate = next(candidates, None)
        if candidate is None:
            return False
        worker.candidate = candidate
        worker.deadline = time.monotonic() + len(candidate.languages) * 2 * PAGE_SECONDS + _GRACE_SECONDS
        with suppress(OSError):
            # One that has just died is noticed where its answer is read.
            worker.line.send(candidate)
        return True

    def _answer(self, worker: _Worker) -> Seen | None:
        """What a busy worker has to say; it is replaced if it died, or takes much too long."""
        candidate = worker.candidate
        if candidate is None:
            return None
        if worker.line.poll():
            with suppress(EOFError, OSError):
                looked = worker.line.recv()
                worker.candidate = None
                return candidate, looked
            why = Failed(Reason.RAISED, "it ended the process that looked at it")
        elif time.monotonic() > worker.deadline:
            why = Failed(Reason.TIMEOUT, "it went on when it was told to stop")
        else:
            return None
        self._end(worker)
        self._workers.remove(worker)
        self._start()
        return candidate, self._maker.failed(candidate, why)

    def _start(self) -> None:
        # Nobody may go on with a connection of its parent's.
        connections.close_all()
        mine, theirs = self._context.Pipe()
        others = [worker.line for worker in self._workers] + [mine]
        closed = others if self._context.get_start_method() == "fork" else []
        process = self._context.Process(
            target=work, args=(theirs, closed, os.getpid(), get_script_prefix(), self._pickled), daemon=True
        )
        process.start()
        theirs.close()
        self._workers.append(_Worker(process, mine))

    @staticmethod
    def _end(worker: _Worker) -> None:
        worker.line.close()
        worker.process.kill()
        worker.process.join()
