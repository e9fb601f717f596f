"""Starting, killing and ending real workers; a broker that can be made to hang."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from tests.support.races import ROOT, Database, run

POSTERS = "tests.aim.working.posters"
NOBODY_DIES = {"AGENTWEB_TEST_LEASE": "300"}
"""For workers that are not killed: none takes over from another that is only slow, so every signal is sent once."""


class Worker:
    """A process in a group of its own, so that what it has forked dies with it."""

    def __init__(self, database: Database, command: list[str], log: Path, **env: str) -> None:
        self._start: Any = lambda: subprocess.Popen(
            [sys.executable, "-m", *command],
            cwd=ROOT,
            env={**os.environ, **database.env, "AGENTWEB_TEST_LEASE": "1", **env},
            stdin=subprocess.DEVNULL,
            stdout=log.open("ab"),
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        self.log = log
        self.process = self._start()

    def kill(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def kill_and_restart(self) -> None:
        self.kill()
        self.process = self._start()

    def end(self) -> int:
        """Ask it to end; its exit code."""
        self.process.send_signal(signal.SIGTERM)
        return int(self.process.wait(timeout=60))

    def text(self) -> str:
        return self.log.read_text(errors="replace")


@contextmanager
def workers(*given: Worker) -> Iterator[tuple[Worker, ...]]:
    try:
        yield given
    finally:
        for each in given:
            each.kill()


def posting(database: Database, seconds: float, pause: float = 0.01, **env: str) -> Any:
    """A future of what ``post_for`` answers."""
    from tests.support.races import race

    pool = ThreadPoolExecutor(1)
    future = pool.submit(race, database, f"{POSTERS}:post_for", [[seconds, pause]], env=env)
    pool.shutdown(wait=False)
    return future


def verdict_when_done(database: Database, seconds: float = 60) -> dict[str, Any]:
    """The verdict once nothing is left to do, or the last one."""
    until = time.monotonic() + seconds
    while True:
        found: dict[str, Any] = run(database, f"{POSTERS}:verdict")
        if found["lag"] == 0 or time.monotonic() > until:
            return found
        time.sleep(0.3)


class Proxy:
    """Stands before a server and passes on what comes, or, while ``hangs``, accepts and never answers."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        self._to = (parts.hostname or "127.0.0.1", parts.port or 6379)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"{parts.scheme}://127.0.0.1:{self._listener.getsockname()[1]}{parts.path}"
        self.hangs = False
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _address = self._listener.accept()
                server = socket.create_connection(self._to)
                for one, other in ((client, server), (server, client)):
                    threading.Thread(target=self._pass_on, args=(one, other), daemon=True).start()

    def _pass_on(self, one: socket.socket, other: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := one.recv(65_536):
                while self.hangs:
                    time.sleep(0.01)
                other.sendall(data)
        for each in (one, other):
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
