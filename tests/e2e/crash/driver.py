"""A run: start everything, kill at random for a while, let everybody finish, and ask the oracle."""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from agentweb.wire.aim import keys
from agentweb.wire.aim.proof_of_work import solve
from agentweb.wire.encoding import b64url
from agentweb.wire.signing import SigningKey
from tests.e2e.crash import cluster, evidence, oracle, planted, reader, writer
from tests.e2e.crash.journal import Tail, read
from tests.e2e.crash.oracle import Breach
from tests.e2e.crash.parts import Part, accepts, python
from tests.e2e.crash.plan import PER_AGENT, POSTGRES, SQLITE, Plan
from tests.e2e.crash.speaker import Answer, Lost, Speaker
from tests.e2e.servers import free_port
from tests.support.races import ROOT

TICK_SECONDS: Final = 0.02


@dataclass
class Outcome:
    """``kills`` by what was killed; ``passed`` when nothing was breached."""

    plan: Plan
    seconds: float = 0.0
    kills: Counter[str] = field(default_factory=Counter)
    acknowledged: int = 0
    duplicates: int = 0
    lost_answers: int = 0
    ends: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)
    messages: int = 0
    events: int = 0
    read: int = 0
    replays: int = 0
    deleted: int = 0
    breaches: list[Breach] = field(default_factory=list)

    @property
    def passed(self) -> bool:
        return not self.breaches

    @property
    def is_enough(self) -> bool:
        """Whether there were as many kills and acknowledgements as the plan asks for."""
        return self.server_kills >= self.plan.kills and self.acknowledged >= self.plan.acknowledgements

    @property
    def server_kills(self) -> int:
        """Of what serves: readers and writers are not counted."""
        return sum(count for name, count in self.kills.items() if name not in {"reader", "writer"})

    def as_json(self) -> dict[str, Any]:
        return {
            "database": self.plan.database,
            "server": self.plan.server,
            "seed": self.plan.seed,
            "bug": self.plan.bug or None,
            "quota": self.plan.quota,
            "seconds": round(self.seconds, 1),
            "kills": dict(self.kills),
            "server_kills": self.server_kills,
            "acknowledged": self.acknowledged,
            "duplicates": self.duplicates,
            "lost_answers": self.lost_answers,
            "ended_by_themselves": dict(self.ends),
            "refused": dict(self.refused),
            "messages": self.messages,
            "events": self.events,
            "read": self.read,
            "replays": self.replays,
            "deleted": self.deleted,
            "passed": self.passed,
            "breaches": [
                {"rule": breach.rule.name.lower(), "count": breach.count, "examples": list(breach.examples)}
                for breach in self.breaches
            ],
        }


Told = Callable[[str, float, "Outcome"], None]
"""Is told what goes on: the phase, which share of the time is over, and what has come about."""


def run(plan: Plan, told: Told, *, keep: bool = False) -> Outcome:
    """One run in a directory of its own, which is deleted unless ``keep``. Raises RuntimeError when it cannot run."""
    directory = Path(tempfile.mkdtemp(prefix="agentweb-crash-"))
    directory.chmod(0o755)  # PostgreSQL runs as somebody else
    try:
        with _Run(plan, directory, told).ready() as running:
            return running.carry_out()
    finally:
        if keep:
            print(f"kept: {directory}")
        else:
            shutil.rmtree(directory, ignore_errors=True)


class _Run:
    def __init__(self, plan: Plan, directory: Path, told: Told) -> None:
        self.plan = plan
        self.directory = directory
        self.told = told
        self.random = random.Random(plan.seed)
        self.outcome = Outcome(plan)
        self.port = free_port()
        self.stop, self.finish = directory / "stop", directory / "finish"
        self.told_journal = directory / "told.jsonl"
        self.keys = {name: SigningKey.from_seed(self.random.randbytes(32)) for name in plan.agents}
        self.beginnings: dict[str, str] = {}
        self.env = self._environment()
        self.database = self._database()
        self.services = self._services()
        self.writers: list[Part] = []
        self.readers: list[Part] = []
        self.tails: list[Tail] = []
        self.inboxes: dict[str, list[list[str]]] = {}

    # -- setting up

    def _environment(self) -> dict[str, str]:
        plan = self.plan
        env = {
            "DJANGO_SETTINGS_MODULE": "tests.e2e.crash.settings",
            "PYTHONPATH": str(ROOT),
            "AGENTWEB_TEST_DB": "postgres" if plan.database == POSTGRES else "sqlite",
            "AGENTWEB_TEST_DB_NAME": "postgres"
            if plan.database == POSTGRES
            else str(self.directory / "site.sqlite3"),
            "AGENTWEB_CRASH_RECOMMENDED": "1" if plan.database == SQLITE else "",
            planted.VARIABLE: plan.bug,
        }
        if plan.quota is not None:
            env["AGENTWEB_CRASH_QUOTA"] = str(plan.quota)
        if plan.database == POSTGRES:
            port = str(free_port())
            env |= {"PGHOST": "127.0.0.1", "PGPORT": port, "PGUSER": "postgres", "PGPASSWORD": ""}
        if plan.with_redis and shutil.which("redis-server"):
            env["AGENTWEB_CRASH_REDIS"] = f"redis://127.0.0.1:{free_port()}/0"
        return env

    def _part(self, name: str, command: list[str], interval: float, **more: Any) -> Part:
        return Part(
            name, command, self.env, self.directory / f"{name}.log", interval / self.plan.pace, **more
        )

    def _database(self) -> Part | None:
        if self.plan.database != POSTGRES:
            return None
        data, port = cluster.initialise(self.directory), int(self.env["PGPORT"])
        return self._part(
            "postgres",
            cluster.command(data, port),
            8,
            answers=lambda: cluster.answers(port),
            with_children=True,
            identity=cluster.identity(),
        )

    def _services(self) -> list[Part]:
        port = str(self.port)
        if self.plan.server == "uvicorn":
            server = ["-m", "uvicorn", "--factory", "tests.e2e.crash.server:asgi", "--workers", "2"]
            server += ["--port", port, "--lifespan", "off", "--log-level", "warning", "--no-access-log"]
        else:
            server = ["-m", "gunicorn", "tests.e2e.crash.server:wsgi()", "--bind", f"127.0.0.1:{port}"]
            server += [
                "--workers",
                "2",
                "--worker-class",
                "gthread",
                "--threads",
                "6",
                "--log-level",
                "error",
            ]
        found = [
            self._part("server", python(*server), 2.5, answers=self._is_serving, one_of=0.4),
            self._part("worker", python("-m", "tests.e2e.crash.worker", str(self.told_journal)), 4),
        ]
        redis = self.env.get("AGENTWEB_CRASH_REDIS")
        if redis:
            redis_port = int(redis.rpartition(":")[2].partition("/")[0])
            command = ["redis-server", "--bind", "127.0.0.1", "--port", str(redis_port), "--save", ""]
            command += ["--appendonly", "no", "--dir", str(self.directory), "--loglevel", "warning"]
            found.append(self._part("redis", command, 5, answers=lambda: accepts(redis_port), hangs=0.4))
        return found

    def _is_serving(self) -> bool:
        try:
            return Speaker(self.port, None).ask("GET", "/.well-known/aim.json").status == 200
        except Lost:
            return False

    @contextmanager
    def ready(self) -> Iterator[_Run]:
        """Everything runs, everybody is registered; in the end everything is ended."""
        try:
            if self.database is not None:
                self.database.start()
                self.database.wait_until_up()
            self._say("prepare")
            self._django("prepare", str(self.plan.old_events))
            # The worker begins with everybody else: what it has to delete is there already.
            needed = [part for part in self.services if part.name != "worker"]
            for part in needed:
                part.start()
            for part in needed:
                part.wait_until_up()
            self._introduce()
            yield self
        except Exception as error:
            words = "\n".join(f"--- {part.name}\n{part.last_words()}" for part in self.services)
            raise RuntimeError(f"{error}\n{words}") from error
        finally:
            for part in [*self.writers, *self.readers]:
                if part.process is not None:
                    part.kill()
            for part in self.services:
                part.end()
            if self.database is not None and self.database.process is not None:
                self.database.kill()

    def _django(self, *arguments: str) -> str:
        """What ``evidence`` does with the database, in a process of its own and without the planted bug's code."""
        done = subprocess.run(
            python("-m", "tests.e2e.crash.evidence", *arguments),
            cwd=ROOT,
            env={**os.environ, **self.env},
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            raise RuntimeError(f"evidence {arguments[0]} failed:\n{done.stderr[-3000:]}")
        return done.stdout

    def _introduce(self) -> None:
        """Register every agent, as newcomers do."""
        for name, key in self.keys.items():
            speaker = Speaker(self.port, key)
            challenge = _until(lambda: Speaker(self.port, None).ask("POST", "/v2/challenges"), 201)
            public = keys.public_of(key)
            solution = solve(challenge["challenge"], public, challenge["difficulty"])
            asked = {
                "public_key": public,
                "name": name,
                "challenge": challenge["challenge"],
                "solution": solution,
            }
            registered = _until(
                lambda speaker=speaker, asked=asked: speaker.ask("POST", "/v2/agents/register", asked), 201
            )
            self.beginnings[name] = registered["cursor"]
        for name, key in self.keys.items():
            for other in self.plan.agents:
                if other != name:
                    speaker = Speaker(self.port, key)
                    target = f"/v2/contacts/{other}"
                    _until(lambda s=speaker, t=target: s.ask("PUT", t, {"state": "accepted"}), 200)

    # -- the run

    def carry_out(self) -> Outcome:
        self._start_people()
        began = time.monotonic()
        self._kill_at_random(began)
        self._say("finish", 1.0)
        self._let_everybody_finish()
        self.outcome.seconds = time.monotonic() - began
        self.outcome.ends.update({part.name: part.ends for part in self.services if part.ends})
        self._judge()
        return self.outcome

    def _start_people(self) -> None:
        for number in range(self.plan.writers):
            name = self.plan.agents[number // PER_AGENT]
            path = self.directory / f"writer-{number}.jsonl"
            settings = writer.Settings(
                seed=f"{self.plan.seed} {number}",
                key=b64url(self.keys[name].seed),
                name=name,
                port=self.port,
                recipients=[other for other in self.plan.agents if other != name],
                journal=str(path),
                stop=str(self.stop),
                spent=self.plan.quota is not None,
            )
            command = python("-m", "tests.e2e.crash.writer", settings.text())
            self.writers.append(self._part(f"writer-{number}", command, 15, lives=True))
            self.tails.append(Tail(path))
        for number in range(self.plan.readers):
            name = self.plan.agents[number % len(self.plan.agents)]
            path = self.directory / f"reader-{number}.jsonl"
            following = reader.Settings(
                seed=f"{self.plan.seed} {number}",
                key=b64url(self.keys[name].seed),
                name=name,
                port=self.port,
                cursor=self.beginnings[name],
                journal=str(path),
                finish=str(self.finish),
            )
            command = python("-m", "tests.e2e.crash.reader", following.text())
            # One of them lives through it all.
            self.readers.append(self._part(f"reader-{number}", command, 6 if number else 0, lives=True))
        for part in [*self.services, *self.writers, *self.readers]:
            if not part.is_running:
                part.start()

    def _kill_at_random(self, began: float) -> None:
        everything = [*self.services, *self.writers, *self.readers]
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
                self._say("kill", self._share(now - began))
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
                if line["is"] == "answer":
                    self.outcome.acknowledged += line["accepted"]
                    self.outcome.duplicates += line["accepted"] and line["duplicate"]
                    if not line["accepted"]:
                        self.outcome.refused[line["code"]] += 1
                elif line["is"] == "lost":
                    self.outcome.lost_answers += 1
                elif line["is"] == "wait":
                    self.outcome.refused[line["code"]] += 1
                elif line["is"] == "use":
                    self.outcome.replays += line.get("replay", False)

    def _let_everybody_finish(self) -> None:
        """Nothing is killed any more: writers get their last answers, the pump drains, readers reach the end."""
        needed = [*([self.database] if self.database else []), *self.services]
        for part in needed:
            part.wait_until_up()
        for part in [*self.writers, *self.readers]:
            if not part.is_running:
                part.start()
        self.stop.touch()
        self._wait_until(lambda: not any(part.is_running for part in self.writers))
        self._wait_until(lambda: self._django("lag").strip() == "0")
        self.finish.touch()
        self._wait_until(lambda: not any(part.is_running for part in self.readers))
        for part in [*self.writers, *self.readers]:
            if part.is_running:
                part.kill()  # the oracle finds what is missing
            elif part.process is not None and part.process.returncode:
                raise RuntimeError(f"{part.name} failed:\n{part.last_words()}")
        self._count()
        self.inboxes = {name: self._inbox(key) for name, key in self.keys.items()}

    def _inbox(self, key: SigningKey) -> list[list[str]]:
        """Every message of an agent's inbox, newest first, as sender and id."""
        found: list[list[str]] = []
        target: str | None = "/v2/inbox?limit=100"
        while target:
            page = _until(lambda asked=target: Speaker(self.port, key).ask("GET", asked), 200)
            envelopes = [item["envelope"] for item in page["items"]]
            found += [[each["from"].partition("@")[0], each["id"]] for each in envelopes]
            cursor = page["next_cursor"]
            target = f"/v2/inbox?limit=100&cursor={cursor}" if cursor else None
        return found

    def _wait_until(self, is_done: Callable[[], bool]) -> None:
        deadline = time.monotonic() + self.plan.finishing
        while time.monotonic() < deadline and not is_done():
            for part in self.services:
                part.keep_up()
            time.sleep(0.3)

    def _judge(self) -> None:
        self._say("judge", 1.0)
        path = self.directory / "snapshot.json"
        self._django("snapshot", str(path))
        found = evidence.load(
            json.loads(path.read_text()),
            writers={part.name: read(self.directory / f"{part.name}.jsonl") for part in self.writers},
            readers={part.name: read(self.directory / f"{part.name}.jsonl") for part in self.readers},
            told=read(self.told_journal),
            inboxes=self.inboxes,
            quota=self.plan.quota,
        )
        outcome = self.outcome
        outcome.messages, outcome.events = len(found.messages), len(found.events)
        outcome.deleted = found.floor
        outcome.read = sum(
            len(line["events"]) for lines in found.readers.values() for line in lines if line["is"] == "page"
        )
        outcome.breaches = oracle.judge(found)

    def _say(self, phase: str, share: float = 0.0) -> None:
        self.told(phase, share, self.outcome)


def _until(ask: Callable[[], Answer], status: int) -> dict[str, Any]:
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
