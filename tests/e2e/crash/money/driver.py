"""The run of the shop: two servers, a worker, and buyers. See ``running``."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from agentweb.wire.encoding import b64url
from agentweb.wire.grants import Mandate, attenuate
from agentweb.wire.signing import SigningKey
from tests.e2e.crash.journal import Line, Tail, read
from tests.e2e.crash.money import buyer, haste, intents, oracle
from tests.e2e.crash.money.speaker import Buying
from tests.e2e.crash.parts import python
from tests.e2e.crash.plan import PER_AGENT, Plan
from tests.e2e.crash.running import Outcome, Run, Told, own_directory
from tests.e2e.crash.speaker import Lost
from tests.e2e.servers import free_port


@dataclass
class Sales(Outcome):
    """What a run of the shop came to: how much there was of everything that can go wrong."""

    done: Counter[str] = field(default_factory=Counter)
    gave_up: int = 0
    rows: dict[str, int] = field(default_factory=dict)

    def counted(self) -> Mapping[str, Any]:
        return {"done": dict(self.done), "gave_up": self.gave_up, "rows": self.rows}

    def told(self) -> Sequence[str]:
        def words(counts: Mapping[str, int]) -> str:
            return ", ".join(f"{count} {name}" for name, count in sorted(counts.items())) or "none"

        return (
            f"{self.acknowledged} acknowledged: {words(self.done)}; {self.lost_answers} answers lost, "
            f"{self.gave_up} given up",
            f"refused or put off: {words(self.refused)}",
            f"in the end: {words(self.rows)}",
        )


def run(plan: Plan, told: Told, *, keep: bool = False) -> Outcome:
    """As ``driver.run``."""
    with own_directory(keep=keep) as directory:
        return _Shop(Sales(plan), directory, told).carry_out()


class _Shop(Run[Sales]):
    evidence = "tests.e2e.crash.money.evidence"
    settings = "tests.e2e.crash.money.settings"

    def __init__(self, outcome: Sales, directory: Path, told: Told) -> None:
        super().__init__(outcome, directory, told)
        self.ports = {mode: free_port() for mode in intents.MODES}
        self.person = SigningKey.from_seed(self.random.randbytes(32))
        agents = -(-self.plan.writers // PER_AGENT)
        self.keys = [SigningKey.from_seed(self.random.randbytes(32)) for _ in range(agents)]
        self.whats: dict[str, str] = {}

    def environment(self) -> dict[str, str]:
        return {
            **super().environment(),
            haste.VARIABLE: str(time.time()),
            # agentweb.testing.payments.ENVIRONMENT, which needs Django
            "AGENTWEB_TEST_PAYMENTS": str(self.directory / "provider.sqlite3"),
        }

    def prepare(self) -> None:
        self.django("prepare", self.person.public)
        with_provider = {**self.env, "AGENTWEB_CRASH_PROVIDER": "1"}
        worker = python("-m", "tests.e2e.crash.worker", str(self.directory / "told.jsonl"))
        self.services = [
            self.server(mode, port, partial(self._serves, mode), env=env, preload=True)
            for (mode, port), env in zip(self.ports.items(), (self.env, with_provider), strict=True)
        ]
        self.services.append(self.part("worker", worker, 5, env=with_provider))

    def _serves(self, mode: str) -> bool:
        try:
            asked = Buying(self.ports[mode], None).ask("GET", "/agent-actions/receipts/head")
        except Lost:
            return False
        return asked.status == 200

    def introduce(self) -> None:
        """Nobody needs to: a grant of the person's says all."""

    def begin(self) -> None:
        """The first agent has the person's grant, and hands it on to the others: all pay from its mandate."""
        first = self.keys[0]
        totals = (intents.MOST, intents.TIGHT)
        chains = [intents.given(self.person, first, total=total, delegate=1) for total in totals]
        for number in range(self.plan.writers):
            key = self.keys[number // PER_AGENT]
            path = self.directory / f"buyer-{number}.jsonl"
            settings = buyer.Settings(
                seed=f"{self.plan.seed} {number}",
                key=b64url(key.seed),
                person=b64url(self.person.seed),
                chain=self._for(key, chains[0], intents.MOST),
                tight=self._for(key, chains[1], intents.TIGHT),
                ports=self.ports,
                journal=str(path),
                stop=str(self.stop),
            )
            command = python("-m", "tests.e2e.crash.money.buyer", settings.text())
            self.people.append(self.part(f"buyer-{number}", command, 15, lives=True))
            self.tails.append(Tail(path))

    def _for(self, key: SigningKey, chain: list[dict[str, Any]], total: int) -> list[dict[str, Any]]:
        if key is self.keys[0]:
            return chain
        mandate = Mandate(currency="USD", per_tx=intents.PER_TX, total=total)
        return attenuate(chain, self.keys[0], subject=key.public, mandate=mandate)

    def count(self, line: Line) -> None:
        outcome = self.outcome
        match line["is"]:
            case "intent":
                self.whats[line["id"]] = line["what"]
            case "answer" if line["ok"]:
                outcome.acknowledged += 1
                outcome.done[self.whats[line["id"]]] += 1
            case "answer" | "wait":
                outcome.refused[line["code"]] += 1
            case "lost":
                outcome.lost_answers += 1
            case "gave up":
                outcome.gave_up += 1

    def finish(self) -> None:
        self.wait_until(lambda: not any(part.is_running for part in self.people))
        self.django("settle")

    def judge(self) -> None:
        path = self.directory / "snapshot.json"
        self.django("snapshot", str(path))
        snapshot = json.loads(path.read_text())
        found = oracle.Evidence(
            snapshot, {part.name: read(self.directory / f"{part.name}.jsonl") for part in self.people}
        )
        self.outcome.rows = {
            name: len(snapshot[name]) for name in ("receipts", "payments", "refunds", "agreements", "taken")
        }
        self.outcome.breaches = oracle.judge(found)
