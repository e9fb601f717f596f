"""A run of any scenario: start everything, kill at random for a while, let everybody finish, and ask the oracle."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import tempfile
import time
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Generic, TypeVar

from tests.e2e.crash import cluster, planted
from tests.e2e.crash.breaches import Breach
from tests.e2e.crash.journal import Line, Tail
from tests.e2e.crash.parts import Part, accepts, python
from tests.e2e.crash.plan import POSTGRES, SQLITE, Plan
from tests.e2e.crash.speaker import Answer, Lost
from tests.e2e.servers import free_port
from tests.support.races import ROOT

TICK_SECONDS: Final = 0.02
_PEOPLE: Final = frozenset({"reader", "writer", "buyer"})


@dataclass
class Outcome:
    """``kills`` by what was killed; ``passed`` when nothing was breached."""

    plan: Plan
    seconds: float = 0.0
    kills: Counter[str] = field(default_factory=Counter)
    acknowledged: int = 0
    lost_answers: int = 0
    ends: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)
    breaches: Sequence[Breach] = ()

    @property
    def passed(self) -> bool:
        return not self.breaches

    @property
    def is_enough(self) -> bool:
        """Whether there were as many kills and acknowledgements as the plan asks for."""
        return self.server_kills >= self.plan.kills and self.acknowledged >= self.plan.acknowledgements

    @property
    def server_kills(self) -> int:
        """Of what serves: readers, writers and buyers are not counted."""
        return sum(count for name, count in self.kills.items() if name not in _PEOPLE)

    def counted(self) -> Mapping[str, Any]:
        """What a scenario counts beside this, for JSON."""
        return {}

    def told(self) -> Sequence[str]:
        """The same in words, a line each."""
        return ()

    def as_json(self) -> dict[str, Any]:
        return {
            "scenario": self.plan.scenario,
            "database": self.plan.database,
            "server": self.plan.server,
            "seed": self.plan.seed,
            "bug": self.plan.bug or None,
            "quota": self.plan.quota,
            "seconds": round(self.seconds, 1),
            "kills": dict(self.kills),
            "server_kills": self.server_kills,
            "acknowledged": self.acknowledged,
            "lost_answers": self.lost_answers,
            "ended_by_themselves": dict(self.ends),
            "refused": dict(self.refused),
            **self.counted(),
            "passed": self.passed,
            "breaches": [
                {"rule": breach.rule.name.lower(), "count": breach.count, "examples": list(breach.examples)}
                for breach in self.breaches
            ],
        }


Told = Callable[[str, float, Outcome], None]
"""Is told what goes on: the phase, which share of the time is over, and what has come about."""

_O = TypeVar("_O", bound=Outcome)


@contextmanager
def own_directory(*, keep: bool) -> Iterator[Path]:
    """Deleted afterwards unless ``keep``."""
    directory = Path(tempfile.mkdtemp(prefix="agentweb-crash-"))
    directory.chmod(0o755)  # PostgreSQL runs as somebody else
    try:
        yield directory
    finally:
        if keep:
            print(f"kept: {directory}")
        else:
            shutil.rmtree(directory, ignore_errors=True)


class Run(ABC, Generic[_O]):
    """``services`` are what serves, ``people`` who use it. A scenario says what they are, what is looked at, and by
    which module (``evidence``) its database is made and read."""

    evidence: str
    settings: str

    def __init__(self, outcome: _O, directory: Path, told: Told) -> None:
        self.plan = outcome.plan
        self.directory = directory
        self.told = told
        self.random = random.Random(self.plan.seed)
        self.outcome = outcome
        self.stop = directory / "stop"
        self.env = self.environment()
        self.database = self._database()
        self.services: list[Part] = []
        self.people: list[Part] = []
        self.tails: list[Tail] = []

    # -- what a scenario is

    @abstractmethod
    def prepare(self) -> None:
        """Make the database ready; afterwards ``services`` are there, and ``introduce`` is called once they answer."""

    @abstractmethod
    def introduce(self) -> None: ...

    @abstractmethod
    def begin(self) -> None:
        """Make the ``people``, and ``tails`` of their journals."""

    @abstractmethod
    def count(self, line: Line) -> None:
        """Take a line of somebody's journal into the outcome."""

    @abstractmethod
    def finish(self) -> None:
        """Nothing is killed any more and everything runs: let everybody come to an end."""

    @abstractmethod
    def judge(self) -> None:
        """Compare what everybody wrote down with the database."""

    # -- setting up

    def environment(self) -> dict[str, str]:
        plan = self.plan
        env = {
            "DJANGO_SETTINGS_MODULE": self.settings,
            "PYTHONPATH": str(ROOT),
            "AGENTWEB_TEST_DB": "postgres" if plan.database == POSTGRES else "sqlite",
            "AGENTWEB_TEST_DB_NAME": "postgres"
            if plan.database == POSTGRES
            else str(self.directory / "site.sqlite3"),
            "AGENTWEB_CRASH_RECOMMENDED": "1" if plan.database == SQLITE else "",
            planted.VARIABLE: plan.bug,
        }
        if plan.database == POSTGRES:
            port = str(free_port())
            env |= {"PGHOST": "127.0.0.1", "PGPORT": port, "PGUSER": "postgres", "PGPASSWORD": ""}
        return env

    def part(self, name: str, command: list[str], interval: float, **more: Any) -> Part:
        more.setdefault("env", self.env)
        return Part(
            name, command, log=self.directory / f"{name}.log", interval=interval / self.plan.pace, **more
        )

    def _database(self) -> Part | None:
        if self.plan.database != POSTGRES:
            return None
        data, port = cluster.initialise(self.directory), int(self.env["PGPORT"])
        return self.part(
            "postgres",
            cluster.command(data, port),
            8,
            answers=lambda: cluster.answers(port),
            with_children=True,
            identity=cluster.identity(),
        )

    def server(
        self,
        name: str,
        port: int,
        answers: Callable[[], bool],
        *,
        env: Mapping[str, str] | None = None,
        preload: bool = False,
    ) -> Part:
        if self.plan.server == "uvicorn":
            command = ["-m", "uvicorn", "--factory", "tests.e2e.crash.server:asgi", "--workers", "2"]
            command += ["--port", str(port), "--lifespan", "off", "--log-level", "warning", "--no-access-log"]
        else:
            command = ["-m", "gunicorn", "tests.e2e.crash.server:wsgi()", "--bind", f"127.0.0.1:{port}"]
            command += ["--workers", "2", "--worker-class", "gthread", "--threads", "6"]
            # Loaded once, not by each worker: what starts soon is killed more often.
            command += ["--log-level", "error", *(["--preload"] if preload else [])]
        return self.part(name, python(*command), 2.5, answers=answers, one_of=0.4, env=env or self.env)

    def redis(self) -> list[Part]:
        """It, where the environment says that there is one."""
        url = self.env.get("AGENTWEB_CRASH_REDIS")
        if not url:
            return []
        port = int(url.rpartition(":")[2].partition("/")[0])
        command = ["redis-server", "--bind", "127.0.0.1", "--port", str(port), "--save", ""]
        command += ["--appendonly", "no", "--dir", str(self.directory), "--loglevel", "warning"]
        return [self.part("redis", command, 5, answers=lambda: accepts(port), hangs=0.4)]

    @contextmanager
    def ready(self) -> Iterator[None]:
        """Everything runs, everybody is known; in the end everything is ended."""
        try:
            if self.database is not None:
                self.database.start()
                self.database.wait_until_up()
            self.say("prepare")
            self.prepare()
            # The worker begins with everybody else: what it has to do is there already.
            needed = [part for part in self.services if part.name != "worker"]
            for part in needed:
                part.start()
            for part in needed:
                part.wait_until_up()
            self.introduce()
            yield
        except Exception as error:
            words = "\n".join(f"--- {part.name}\n{part.last_words()}" for part in self.services)
            raise RuntimeError(f"{error}\n{words}") from error
        finally:
            for part in self.people:
                if part.process is not None:
                    part.kill()
            for part in self.services:
                part.end()
            if self.database is not None and self.database.process is not None:
                self.database.kill()

    def django(self, *arguments: str) -> str:
        """What ``evidence`` does with the database, in a process of its own and without the planted bug's code."""
        done = subprocess.run(
            python("-m", self.evidence, *arguments),
            cwd=ROOT,
            env={**os.environ, **self.env},
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            raise RuntimeError(f"evidence {arguments[0]} failed:\n{done.stderr[-3000:]}")
        return done.stdout

    # -- the run

    def carry_out(self) -> _O:
        with self.ready():
            self.begin()
            for part in [*self.services, *self.people]:
                if not part.is_running:
                    part.start()
            began = time.monotonic()
            self._kill_at_random(began)
            self.say("finish", 1.0)
            self._let_everybody_finish()
            self.outcome.seconds = time.monotonic() - began
            self.outcome.ends.update({part.name: part.ends for part in self.services if part.ends})
            self.say("judge", 1.0)
            self.judge()
        return self.outcome

    def _kill_at_random(self, began: float) -> None:
        everything = [*self.services, *self.people]
        if self.database is not None:
            everything.append(self.database)
        last_look = 0.0
        while not self._is_enough(now := time.monotonic(), began):
            for part in everything:
                if part.tick(self.random, now):
                    self.outcome.kills[part.name.partition("-")[0]] += 1
            if now - last_look > 1:
                last_look = now
                self._count()
                self.say("kill", self._share(now - began))
            time.sleep(TICK_SECONDS)

    def _is_enough(self, now: float, began: float) -> bool:
        if now - began < self.plan.seconds:
            return False
        return self.outcome.is_enough or now - began > self.plan.at_most

    def _share(self, seconds: float) -> float:
        """Of what the plan asks for, the part that is the furthest from being done."""
        plan, outcome = self.plan, self.outcome
        parts = [seconds / plan.seconds if plan.seconds else 1.0]
        parts += [outcome.server_kills / plan.kills] if plan.kills else []
        parts += [outcome.acknowledged / plan.acknowledgements] if plan.acknowledgements else []
        return max(0.0, min(1.0, *parts))

    def _count(self) -> None:
        for tail in self.tails:
            for line in tail.new():
                self.count(line)

    def _let_everybody_finish(self) -> None:
        for part in [*([self.database] if self.database else []), *self.services]:
            part.wait_until_up()
        for part in self.people:
            if not part.is_running:
                part.start()
        self.stop.touch()
        self.finish()
        for part in self.people:
            if part.is_running:
                part.kill()  # the oracle finds what is missing
            elif part.process is not None and part.process.returncode:
                raise RuntimeError(f"{part.name} failed:\n{part.last_words()}")
        self._count()

    def wait_until(self, is_done: Callable[[], bool]) -> None:
        """At most as long as the plan says."""
        deadline = time.monotonic() + self.plan.finishing
        while time.monotonic() < deadline and not is_done():
            for part in self.services:
                part.keep_up()
            time.sleep(0.3)

    def say(self, phase: str, share: float = 0.0) -> None:
        self.told(phase, share, self.outcome)


def until(ask: Callable[[], Answer], status: int) -> dict[str, Any]:
    """The value of the first answer with this status; whoever is not there yet is asked again."""
    deadline = time.monotonic() + 30
    while True:
        try:
            answer = ask()
        except Lost as error:
            said = str(error)
        else:
            if answer.status == status:
                value: dict[str, Any] = answer.value
                return value
            said = f"{answer.status} {answer.value}"
        if time.monotonic() > deadline:
            raise RuntimeError(f"not {status}: {said}")
        time.sleep(0.2)
