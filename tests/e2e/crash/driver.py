"""The messenger's run: writers, readers, and what they are to be given. See ``running``."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agentweb.wire.aim import keys
from agentweb.wire.aim.proof_of_work import solve
from agentweb.wire.encoding import b64url
from agentweb.wire.signing import SigningKey
from tests.e2e.crash import evidence, oracle, reader, writer
from tests.e2e.crash.journal import Line, Tail, read
from tests.e2e.crash.parts import Part, python
from tests.e2e.crash.plan import PER_AGENT, Plan
from tests.e2e.crash.running import Outcome, Run, Told, own_directory, until
from tests.e2e.crash.speaker import Lost, Speaker
from tests.e2e.servers import free_port


@dataclass
class Messages(Outcome):
    """What a messenger's run came to."""

    duplicates: int = 0
    messages: int = 0
    events: int = 0
    read: int = 0
    replays: int = 0
    deleted: int = 0

    def counted(self) -> Mapping[str, Any]:
        names = ("duplicates", "messages", "events", "read", "replays", "deleted")
        return {name: getattr(self, name) for name in names}

    def told(self) -> Sequence[str]:
        refused = ", ".join(f"{count} {code}" for code, count in sorted(self.refused.items()))
        return (
            f"{self.acknowledged} acknowledged ({self.duplicates} as duplicates), {self.messages} messages, "
            f"{self.lost_answers} answers lost, refused: {refused or 'none'}",
            f"{self.events} events, read {self.read} times; {self.replays} requests replayed; "
            f"{self.deleted} expired events deleted",
        )


def run(plan: Plan, told: Told, *, keep: bool = False) -> Outcome:
    """One run in a directory of its own, which is deleted unless ``keep``. Raises RuntimeError when it cannot run."""
    with own_directory(keep=keep) as directory:
        return _Messenger(Messages(plan), directory, told).carry_out()


class _Messenger(Run[Messages]):
    evidence = "tests.e2e.crash.evidence"
    settings = "tests.e2e.crash.settings"

    def __init__(self, outcome: Messages, directory: Path, told: Told) -> None:
        super().__init__(outcome, directory, told)
        self.port = free_port()
        self.end = directory / "finish"
        self.told_journal = directory / "told.jsonl"
        self.keys = {name: SigningKey.from_seed(self.random.randbytes(32)) for name in self.plan.agents}
        self.beginnings: dict[str, str] = {}
        self.writers: list[Part] = []
        self.readers: list[Part] = []
        self.inboxes: dict[str, list[list[str]]] = {}

    # -- setting up

    def environment(self) -> dict[str, str]:
        env = super().environment()
        if self.plan.quota is not None:
            env["AGENTWEB_CRASH_QUOTA"] = str(self.plan.quota)
        if self.plan.with_redis and shutil.which("redis-server"):
            env["AGENTWEB_CRASH_REDIS"] = f"redis://127.0.0.1:{free_port()}/0"
        return env

    def prepare(self) -> None:
        self.django("prepare", str(self.plan.old_events))
        worker = python("-m", "tests.e2e.crash.worker", str(self.told_journal))
        self.services = [
            self.server("server", self.port, self._is_serving),
            self.part("worker", worker, 4),
            *self.redis(),
        ]

    def _is_serving(self) -> bool:
        try:
            return Speaker(self.port, None).ask("GET", "/.well-known/aim.json").status == 200
        except Lost:
            return False

    def introduce(self) -> None:
        """Register every agent, as newcomers do."""
        for name, key in self.keys.items():
            speaker = Speaker(self.port, key)
            challenge = until(lambda: Speaker(self.port, None).ask("POST", "/v2/challenges"), 201)
            public = keys.public_of(key)
            solution = solve(challenge["challenge"], public, challenge["difficulty"])
            asked = {
                "public_key": public,
                "name": name,
                "challenge": challenge["challenge"],
                "solution": solution,
            }
            registered = until(
                lambda speaker=speaker, asked=asked: speaker.ask("POST", "/v2/agents/register", asked), 201
            )
            self.beginnings[name] = registered["cursor"]
        for name, key in self.keys.items():
            for other in self.plan.agents:
                if other != name:
                    speaker = Speaker(self.port, key)
                    target = f"/v2/contacts/{other}"
                    until(lambda s=speaker, t=target: s.ask("PUT", t, {"state": "accepted"}), 200)

    # -- the run

    def begin(self) -> None:
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
            self.writers.append(self.part(f"writer-{number}", command, 15, lives=True))
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
                finish=str(self.end),
            )
            command = python("-m", "tests.e2e.crash.reader", following.text())
            # One of them lives through it all.
            self.readers.append(self.part(f"reader-{number}", command, 6 if number else 0, lives=True))
        self.people = [*self.writers, *self.readers]

    def count(self, line: Line) -> None:
        outcome = self.outcome
        match line["is"]:
            case "answer":
                outcome.acknowledged += line["accepted"]
                outcome.duplicates += line["accepted"] and line["duplicate"]
                if not line["accepted"]:
                    outcome.refused[line["code"]] += 1
            case "lost":
                outcome.lost_answers += 1
            case "wait":
                outcome.refused[line["code"]] += 1
            case "use":
                outcome.replays += line.get("replay", False)

    def finish(self) -> None:
        """Writers get their last answers, the pump drains, readers reach the end."""
        self.wait_until(lambda: not any(part.is_running for part in self.writers))
        self.wait_until(lambda: self.django("lag").strip() == "0")
        self.end.touch()
        self.wait_until(lambda: not any(part.is_running for part in self.readers))
        self.inboxes = {name: self._inbox(key) for name, key in self.keys.items()}

    def _inbox(self, key: SigningKey) -> list[list[str]]:
        """Every message of an agent's inbox, newest first, as sender and id."""
        found: list[list[str]] = []
        target: str | None = "/v2/inbox?limit=100"
        while target:
            page = until(lambda asked=target: Speaker(self.port, key).ask("GET", asked), 200)
            envelopes = [item["envelope"] for item in page["items"]]
            found += [[each["from"].partition("@")[0], each["id"]] for each in envelopes]
            cursor = page["next_cursor"]
            target = f"/v2/inbox?limit=100&cursor={cursor}" if cursor else None
        return found

    def judge(self) -> None:
        path = self.directory / "snapshot.json"
        self.django("snapshot", str(path))
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
