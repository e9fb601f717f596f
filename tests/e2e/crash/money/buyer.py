"""A buyer process: ``python -m tests.e2e.crash.money.buyer SETTINGS``. It never gives up an intent, unless it means to.

It writes down each intent before the first attempt, and repeats the call under the same Idempotency-Key, signed afresh,
often in several copies at once, until it has a final answer. Killed and started again, it goes on with what it finds in
its journal.
"""

from __future__ import annotations

import json
import random
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from agentweb.wire.encoding import b64url_decode
from agentweb.wire.signing import SigningKey
from tests.e2e.crash.journal import Journal, Line, read
from tests.e2e.crash.money import haste
from tests.e2e.crash.money.intents import (
    GOOD,
    LEDGER,
    MODES,
    PROVIDER,
    Composer,
    Purse,
    given,
    purse_of,
)
from tests.e2e.crash.money.speaker import Buying
from tests.e2e.crash.speaker import Answer, Lost

WANTED: Final = {
    "buy": 20,
    "decline": 3,
    "halves": 6,
    "refuse": 6,
    "crash": 6,
    "bargain": 18,
    "deal": 8,
    "once": 8,
    "tight": 6,
    "refund": 18,
    "give up": 5,
}
"""What is wanted how often."""
AT_ONCE: Final = 4
RACING: Final = 0.35
REPEATED: Final = 0.1
REPEATED_AT_THE_END: Final = 12
GIVES_UP_SECONDS: Final = 0.3

PASSING: Final = frozenset(
    {
        "idempotency_in_progress",
        "overloaded",
        "payment_unknown",
        "rate_limited",
        "signature_expired",
        "unavailable",
    }
)
"""Codes after which the same call is tried again."""


@dataclass(frozen=True)
class Settings:
    """``stop`` is a file: once it is there, no new intent is begun. ``chain`` and ``tight`` are the agent's grants,
    root first; ``person`` is the key that gives it more of them."""

    seed: str
    key: str
    person: str
    chain: list[dict[str, Any]]
    tight: list[dict[str, Any]]
    ports: dict[str, int]
    journal: str
    stop: str

    def text(self) -> str:
        return json.dumps(asdict(self))


class Buyer:
    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.key = SigningKey.from_seed(b64url_decode(settings.key))
        self.person = SigningKey.from_seed(b64url_decode(settings.person))
        self.random = random.Random(f"{settings.seed} {time.time_ns()}")
        self.compose = Composer(self.random)
        self.purse, self.tight = purse_of(settings.chain), purse_of(settings.tight)
        self.speakers = {
            mode: [Buying(port, None) for _ in range(AT_ONCE)] for mode, port in settings.ports.items()
        }
        self.pool = ThreadPoolExecutor(AT_ONCE)
        lines = read(Path(settings.journal))
        self.journal = Journal(Path(settings.journal))
        self.pending = unfinished(lines)
        self.done: list[Line] = []
        self.bargains: list[tuple[Line, dict[str, Any]]] = []
        self.countered: list[tuple[Line, dict[str, Any]]] = []
        self.bought: list[tuple[Line, str]] = []
        intents = {line["id"]: line for line in lines if line["is"] == "intent"}
        for line in lines:
            if line["is"] == "answer" and line["ok"]:
                self._learn(intents[line["id"]], line["value"])
        # Those of before may be over.
        self.bargains.clear()
        self.countered.clear()

    def run(self) -> None:
        while self.pending or not Path(self.settings.stop).exists():
            if not self.pending:
                self._mean()
            self._attempt()
            if self.done and self.random.random() < REPEATED:
                self._repeat(self.random.choice(self.done))
        # By now everything was killed and came back: nothing of it may have forgotten.
        for intent in self.done[-REPEATED_AT_THE_END:]:
            self._repeat(intent)

    def _mean(self) -> None:
        """Decide what is wanted next and write it down."""
        intents = self._wanted()
        self.journal.write(*intents)
        self.pending = {line["id"]: line for line in intents}

    def _wanted(self) -> list[Line]:
        compose, mode = self.compose, self.random.choice(MODES)
        word = self.random.choice(GOOD)
        [choice] = self.random.choices([*WANTED], [*WANTED.values()])
        match choice:
            case "decline":
                return [compose.buy("buy", "decline", self.purse, mode)]
            case "halves":
                return [compose.buy("buy_in_halves", word, self.purse, mode)]
            case "refuse":
                return [compose.buy("buy_and_refuse", word, self.purse, mode)]
            case "crash":
                return [compose.buy("buy_or_crash", word, self.purse, mode)]
            case "bargain" if self.bargains:
                # Two want to buy by one agreement.
                bargained, answer = self.bargains.pop()
                return [compose.by_agreement(bargained, answer, mode, "agreement_used") for _ in range(2)]
            case "bargain" if self.countered:
                return [compose.accept(*self.countered.pop(), mode)]
            case "bargain":
                how = self.random.choice([compose.bargain, compose.negotiate, compose.negotiate])
                return [how(self.purse, mode)]
            case "deal":
                return [compose.deal(self.purse, mode)]
            case "once":
                once = purse_of(given(self.person, self.key, one_time=True))
                return [self._once(once, word, mode) for _ in range(2)]
            case "tight":
                return [compose.buy("buy", word, self.tight, mode, "mandate_exceeded") for _ in range(2)]
            case "refund" if self.bought:
                bought, receipt = self.bought.pop(self.random.randrange(len(self.bought)))
                return [compose.refund(bought, receipt, mode) for _ in range(self.random.randint(1, 2))]
            case "give up":
                item = self.random.choice(["timeout", "lost", "late", "tea"])
                up_mode = PROVIDER if item == "timeout" else mode
                return [compose.buy("buy", item, self.purse, up_mode, gives_up=True)]
            case _:
                return [
                    compose.buy("buy", self.random.choice([*GOOD, "refuse-refund"]), self.purse, each)
                    for each in (LEDGER, PROVIDER)
                ]

    def _once(self, once: Purse, word: str, mode: str) -> Line:
        return self.compose.buy("buy", word, once, mode, "grant_used")

    def _attempt(self) -> None:
        """Send what is pending, some of it in two copies, and take in the answers."""
        jobs = list(self.pending.values())
        jobs += [intent for intent in jobs if self.random.random() < RACING]
        self.random.shuffle(jobs)
        answers = list(self.pool.map(self._send, jobs[:AT_ONCE], range(AT_ONCE)))
        wait = 0.0
        for intent, answer in zip(jobs, answers, strict=False):
            wait = max(wait, self._take(intent, answer))
        for intent in [each for each in self.pending.values() if each["gives_up"]]:
            self.journal.write({"is": "gave up", "id": intent["id"]})
            del self.pending[intent["id"]]
        if self.pending and wait:
            time.sleep(wait)

    def _send(self, intent: Line, number: int) -> Answer | None:
        port = self.settings.ports[intent["mode"]]
        speaker = (
            Buying(port, None, timeout=GIVES_UP_SECONDS)
            if intent["gives_up"]
            else self.speakers[intent["mode"]][number]
        )
        request = speaker.call(
            self.key, intent["target"], intent["body"], grant=intent["grant"], idempotency_key=intent["id"]
        )
        try:
            return speaker.send(request)
        except Lost:
            return None

    def _take(self, intent: Line, answer: Answer | None) -> float:
        """Write down what an attempt came to; how long to wait before the next one."""
        if answer is None:
            self.journal.write({"is": "lost", "id": intent["id"]})
            return self.random.uniform(0.02, 0.2)
        ok = answer.status in {200, 202}
        code = "" if ok else answer.error["code"]
        if code in PASSING or (code == "handler_error" and intent["what"] == "buy_or_crash"):
            self.journal.write({"is": "wait", "code": code})
            return self.random.uniform(0.05, 0.4)
        if not ok and code not in intent["may"]:
            text = json.dumps(answer.value)[:500]
            said = {"id": intent["id"], "status": answer.status, "code": code, "text": text}
            self.journal.write({"is": "unexplained", **said})
            return 0.5
        self.journal.write(
            {
                "is": "answer",
                "id": intent["id"],
                "ok": ok,
                "status": answer.status,
                "code": code,
                "value": answer.value if ok else None,
            }
        )
        if self.pending.pop(intent["id"], None) is not None and ok:
            self._learn(intent, answer.value)
        return 0.0

    def _learn(self, intent: Line, value: Any) -> None:
        match intent["what"]:
            case "negotiate" | "accept":
                agreed = value["agreement"]
                if agreed is None:
                    self.countered.append((intent, value))
                else:
                    self.bargains.append((intent, {"agreement": agreed["id"], "price": agreed["price"]}))
                return
            case "bargain":
                self.bargains.append((intent, value))
            case _ if intent["charges"]:
                bought = value["value"] if intent["what"] == "deal" else value
                self.bought += [(intent, receipt) for receipt in bought["receipts"]]
        self.done.append(intent)

    def _repeat(self, intent: Line) -> None:
        """Ask once more for what was answered: the answer is the same."""
        self._take(intent, self._send(intent, 0))


def unfinished(lines: list[Line]) -> dict[str, Line]:
    """Intents of a journal that have no final answer and were not given up, by their ids."""
    found: dict[str, Line] = {}
    for line in lines:
        if line["is"] == "intent":
            found[line["id"]] = line
        elif line["is"] in {"answer", "gave up"}:
            found.pop(line["id"], None)
    return found


if __name__ == "__main__":
    haste.begin()
    Buyer(Settings(**json.loads(sys.argv[1]))).run()
