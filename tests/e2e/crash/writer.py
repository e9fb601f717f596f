"""A writer process: ``python -m tests.e2e.crash.writer SETTINGS``. It never gives up a message.

It writes down each signed envelope before the first attempt, and posts the identical envelope, each time with a fresh
nonce and signature, until it is told 202. Killed and started again, it goes on with what it finds in its journal.
"""

from __future__ import annotations

import hashlib
import json
import random
import sys
import time
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from agentweb.wire.aim import envelope as envelopes
from agentweb.wire.aim.envelope import BATCH_MAX, sign
from agentweb.wire.canonical import canonicalize
from agentweb.wire.encoding import b64url_decode
from agentweb.wire.signing import SigningKey
from tests.e2e.crash.journal import Journal, Line, read
from tests.e2e.crash.speaker import AUTHORITY, Answer, Lost, Signed, Speaker

RACING: Final = 0.15
BATCHES: Final = 0.15
CAPTURED: Final = 0.2
REPLAYED: Final = 0.1
TO_SELF: Final = 0.05
YOUNG_SECONDS: Final = 200
"""Replays of older requests would be refused for their age, whether or not the nonce is remembered."""

PASSING: Final = frozenset({"overloaded", "unavailable", "maintenance", "rate_limited"})
"""Codes after which the same envelope is tried again."""


@dataclass(frozen=True)
class Settings:
    """``stop`` is a file: once it is there, no new message is begun. ``spent``: a used-up
    quota is an end and not a wait."""

    seed: str
    key: str
    name: str
    port: int
    recipients: list[str]
    journal: str
    stop: str
    spent: bool = False

    def text(self) -> str:
        return json.dumps(asdict(self))


@dataclass
class _Captured:
    request: Signed
    accepted: bool


class Writer:
    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.key = SigningKey.from_seed(b64url_decode(settings.key))
        self.random = random.Random(f"{settings.seed} {time.time_ns()}")
        self.speakers = [Speaker(settings.port, self.key) for _ in range(2)]
        self.pool = ThreadPoolExecutor(2)
        self.captured: deque[_Captured] = deque(maxlen=40)
        lines = read(Path(settings.journal))
        self.journal = Journal(Path(settings.journal))
        self.pending = unfinished(lines)

    def run(self) -> None:
        while self.pending or not self._is_stopped():
            if not self.pending:
                self._mean()
            self._attempt()
            if self.captured and self.random.random() < REPLAYED:
                self._replay(self.random.choice(self.captured))
        # By now everything was killed and came back: nothing of it may have forgotten.
        for captured in list(self.captured):
            self._replay(captured)

    def _is_stopped(self) -> bool:
        return Path(self.settings.stop).exists()

    def _mean(self) -> None:
        """Compose what is to be said next and write it down."""
        count = self.random.randint(2, BATCH_MAX) if self.random.random() < BATCHES else 1
        lines = []
        for _ in range(count):
            to = self.random.choice(self.settings.recipients)
            if self.random.random() < TO_SELF:
                to = self.settings.name
            envelope = compose(self.key, self.settings.name, to, self.random)
            lines.append({"is": "intent", "from": self.settings.name, "to": to, **envelope})
        self.journal.write(*lines)
        self.pending = {line["id"]: line["envelope"] for line in lines}

    def _attempt(self) -> None:
        """Post what is pending, once or as two racing copies, and take in the answers."""
        idents, envelopes = list(self.pending), list(self.pending.values())
        body = envelopes[0] if len(envelopes) == 1 else f'{{"messages":[{",".join(envelopes)}]}}'
        copies = 2 if self.random.random() < RACING else 1
        posts = [speaker.sign("POST", "/v2/messages", body.encode()) for speaker in self.speakers[:copies]]
        answers = list(self.pool.map(_send, self.speakers, posts))
        wait = 0.0
        for post, answer in zip(posts, answers, strict=True):
            wait = max(wait, self._take(idents, answer))
            if self.random.random() < CAPTURED:
                self._capture(post, answer)
        if self.pending and wait:
            time.sleep(wait)

    def _take(self, idents: list[str], answer: Answer | None) -> float:
        """Write down what an attempt came to; how long to wait before the next one."""
        if answer is None:
            self.journal.write(*({"is": "lost", "id": ident} for ident in idents))
            return self.random.uniform(0.02, 0.2)
        results = results_of(answer, len(idents))
        if results is None:
            code = answer.error["code"]
            if code in PASSING:
                self.journal.write({"is": "wait", "code": code})
                return self._wait(answer.error)
            if len(idents) == 1 and answer.status in range(400, 500):
                results = [{"id": idents[0], "accepted": False, "error": answer.error}]
            else:
                self._unexplained(answer, code)
                return 0.5
        wait = 0.0
        for ident, result in zip(idents, results, strict=True):
            if result["id"] != ident:
                self._unexplained(answer, "wrong id")
            error = result.get("error") or {"code": ""}
            is_final = not result["accepted"] and self.settings.spent and error["code"] == "quota_exceeded"
            self.journal.write(
                {
                    "is": "answer",
                    "id": ident,
                    "accepted": result["accepted"],
                    "duplicate": result.get("duplicate", False),
                    "charged": result.get("charged", 0),
                    "cursor": result.get("cursor"),
                    "code": error["code"],
                    "final": is_final,
                }
            )
            if result["accepted"] or is_final:
                self.pending.pop(ident, None)
            else:
                if error["code"] not in PASSING:
                    self._unexplained(answer, error["code"])
                wait = max(wait, self._wait(error))
        return wait

    def _wait(self, error: dict[str, Any]) -> float:
        # Not the whole Retry-After: early ones are refused, which is what it is for.
        return min(float(error.get("retry_after") or 0), self.random.uniform(0.05, 0.5))

    def _unexplained(self, answer: Answer, code: str) -> None:
        text = json.dumps(answer.value)[:500]
        self.journal.write({"is": "unexplained", "status": answer.status, "code": code, "text": text})

    def _capture(self, request: Signed, answer: Answer | None) -> None:
        accepted = got_past_its_nonce(answer)
        self.captured.append(_Captured(request, accepted))
        self.journal.write({"is": "use", "nonce": request.nonce, "accepted": accepted})

    def _replay(self, captured: _Captured) -> None:
        """Send a captured request once more, as it was: one of all attempts with its nonce may get through."""
        if time.time() - captured.request.ts > YOUNG_SECONDS:
            return
        answer = _send(self.speakers[0], captured.request)
        accepted = got_past_its_nonce(answer)
        self.journal.write(
            {"is": "use", "nonce": captured.request.nonce, "accepted": accepted, "replay": True}
        )


def unfinished(lines: list[Line]) -> dict[str, str]:
    """Envelopes of a journal that were neither acknowledged nor refused for good, by their ids."""
    found: dict[str, str] = {}
    for line in lines:
        if line["is"] == "intent":
            found[line["id"]] = line["envelope"]
        elif line["is"] == "answer" and (line["accepted"] or line["final"]):
            found.pop(line["id"], None)
    return found


def compose(key: SigningKey, name: str, to: str, source: random.Random) -> Line:
    """A new signed envelope: its ``id``, canonical text and digest."""
    body = {"text": "x" * source.choice([1, 20, 300, 3000]), "n": source.random()}
    envelope = sign(envelopes.compose(f"{name}@{AUTHORITY}", f"{to}@{AUTHORITY}", body), key)
    text = canonicalize(envelope)
    return {"id": envelope["id"], "digest": hashlib.sha256(text).hexdigest(), "envelope": text.decode()}


def results_of(answer: Answer, sent: int) -> list[dict[str, Any]] | None:
    """One result for each envelope that was sent, in their order; None for an answer about the whole request."""
    if sent == 1:
        return [answer.value] if answer.status == 202 else None
    if answer.status not in {202, 207}:
        return None
    results: list[dict[str, Any]] = answer.value["results"]
    return results


def got_past_its_nonce(answer: Answer | None) -> bool:
    """Whether the server took the request for a new one. Failures and limits come before it, or cannot be told."""
    return answer is not None and answer.status not in {401, 429} and answer.status < 500


def _send(speaker: Speaker, request: Signed) -> Answer | None:
    try:
        return speaker.send(request)
    except Lost:
        return None


if __name__ == "__main__":
    Writer(Settings(**json.loads(sys.argv[1]))).run()
