"""The processes of a run: each can be killed at any moment, with all it started, and started again."""

from __future__ import annotations

import os
import random
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from tests.e2e.crash import cluster
from tests.support.races import ROOT

STARTING_SECONDS: Final = 60
LIVES_STARTS: Final = 1.5
"""How many times as long as it took to start something lives at least, on average."""
MOST_ENDS: Final = 3
"""How often something may end by itself before it answers for the first time."""


@dataclass
class Part:
    """``interval`` is how many seconds it lives on average once it answers, more where it starts slowly; 0: it is left
    alone.

    ``answers`` says whether it is at work. Where ``lives``, that it ends by itself is an error; else it is started
    again, and ``ends`` counts that. ``hangs`` is the chance that it first stops answering for a while, unkilled.
    ``one_of`` is the chance that only one of its children is killed, whom it replaces itself. ``with_children``: they
    are in sessions of their own and are killed one by one.
    """

    name: str
    command: list[str]
    env: Mapping[str, str]
    log: Path
    interval: float = 0.0
    answers: Callable[[], bool] = lambda: True
    one_of: float = 0.0
    with_children: bool = False
    identity: dict[str, Any] = field(default_factory=dict)
    lives: bool = False
    hangs: float = 0.0
    kills: int = 0
    ends: int = 0
    process: subprocess.Popen[bytes] | None = None
    _killed_at: float | None = None
    _was_killed: bool = False
    _is_hung: bool = False
    _started_at: float = 0.0

    def start(self) -> None:
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                self.command,
                cwd=ROOT,
                env={**os.environ, **self.env},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
                **self.identity,
            )
        self._killed_at = None
        self._was_killed = self._is_hung = False
        self._started_at = time.monotonic()

    @property
    def is_running(self) -> bool:
        return self.process is not None and self.process.poll() is None

    def kill(self, source: random.Random | None = None) -> None:
        """SIGKILL to it and everything it started; with ``source`` perhaps only to one of its children."""
        assert self.process is not None
        self._killed_at = None
        offspring = cluster.children(self.process.pid)
        if source is not None and offspring and source.random() < self.one_of:
            self._started_at = time.monotonic()
            with suppress(ProcessLookupError):
                os.kill(source.choice(offspring), signal.SIGKILL)
            return
        self._was_killed = True
        if self.with_children and self.process.poll() is None:
            os.kill(self.process.pid, signal.SIGSTOP)  # or it replaces them
            offspring = cluster.children(self.process.pid)
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        for pid in offspring if self.with_children else []:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self.process.wait()
        if self.with_children:
            _wait_until_gone(offspring)

    def tick(self, source: random.Random, now: float) -> bool:
        """Start what is down; kill it when its time has come. Whether it was killed."""
        self.keep_up()
        if not self.interval:
            return False
        if self._killed_at is None:
            if self.answers():
                # On a busy machine nothing would ever come of it if what starts slowly were killed as soon.
                life = max(self.interval, LIVES_STARTS * (now - self._started_at))
                self._killed_at = now + life * source.uniform(0.02, 1.98)
            elif now - self._started_at > STARTING_SECONDS:
                raise RuntimeError(f"{self.name} does not start:\n{self.last_words()}")
            return False
        if now < self._killed_at:
            return False
        if not self._is_hung and source.random() < self.hangs:
            assert self.process is not None
            os.kill(self.process.pid, signal.SIGSTOP)
            self._is_hung, self._killed_at = True, now + source.uniform(1, 4)
            return False
        self.kill(source)
        self.kills += 1
        return True

    def keep_up(self) -> None:
        """Start it where it does not run."""
        if self.is_running:
            return
        if self.process is not None and not self._was_killed:
            if self.lives:
                raise RuntimeError(f"{self.name} ended by itself:\n{self.last_words()}")
            self.ends += 1
        self.start()

    def wait_until_up(self, seconds: float = STARTING_SECONDS) -> None:
        if self._is_hung and self.is_running:
            self.kill()
        deadline, ended_before = time.monotonic() + seconds, self.ends
        while not (self.is_running and self.answers()):
            if time.monotonic() > deadline:
                raise RuntimeError(f"{self.name} does not start:\n{self.last_words()}")
            if not self.is_running:
                if self.ends - ended_before == MOST_ENDS:
                    raise RuntimeError(f"{self.name} ends at once:\n{self.last_words()}")
                self.keep_up()
            time.sleep(0.05)

    def end(self) -> None:
        """Politely, then by force."""
        if self.process is None:
            return
        if self.process.poll() is None and not self._is_hung:
            self.process.terminate()
            with suppress(subprocess.TimeoutExpired):
                self.process.wait(timeout=10)
        self.kill()

    def last_words(self) -> str:
        return self.log.read_text(errors="replace")[-3000:] if self.log.exists() else ""


def _wait_until_gone(pids: list[int]) -> None:
    deadline = time.monotonic() + 10
    for pid in pids:
        while time.monotonic() < deadline and _is_there(pid):
            time.sleep(0.005)


def _is_there(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def accepts(port: int) -> bool:
    """Whether something listens on this port of ours."""
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
    except OSError:
        return False
    return True


def python(*arguments: str) -> list[str]:
    return [sys.executable, *arguments]
