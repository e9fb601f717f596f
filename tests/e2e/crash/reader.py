"""A reader process: ``python -m tests.e2e.crash.reader SETTINGS``. It follows the events of one agent.

A page is written down before its cursor is committed, and killed and started again the reader resumes at the cursor
it committed last. Sometimes it commits only after several pages.
"""

from __future__ import annotations

import hashlib
import json
import random
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlencode

from agentweb.wire.canonical import canonicalize
from agentweb.wire.encoding import b64url_decode
from agentweb.wire.signing import SigningKey
from tests.e2e.crash.journal import Journal, Line, read
from tests.e2e.crash.speaker import Lost, Speaker
from tests.e2e.crash.writer import PASSING

COMMITTED: Final = 0.8
LIMITS: Final = (3, 20, 100)
WAITS: Final = (0, 0, 1, 4)


@dataclass(frozen=True)
class Settings:
    """``cursor`` is where the agent began. ``finish`` is a file: once it is there, the log's end is the end."""

    seed: str
    key: str
    name: str
    port: int
    cursor: str
    journal: str
    finish: str

    def text(self) -> str:
        return json.dumps(asdict(self))


def run(settings: Settings) -> None:
    source = random.Random(f"{settings.seed} {time.time_ns()}")
    speaker = Speaker(settings.port, SigningKey.from_seed(b64url_decode(settings.key)))
    cursor = resumed_at(read(Path(settings.journal)), settings.cursor)
    journal = Journal(Path(settings.journal))
    journal.write({"is": "start", "agent": settings.name, "cursor": cursor})
    while True:
        is_finishing = Path(settings.finish).exists()
        wait = 0 if is_finishing else source.choice(WAITS)
        query = urlencode({"after": cursor, "limit": source.choice(LIMITS), "wait": wait})
        try:
            answer = speaker.ask("GET", f"/v2/events?{query}")
        except Lost:
            time.sleep(source.uniform(0.02, 0.3))
            continue
        if answer.status != 200:
            code = answer.error["code"]
            if code not in PASSING:
                text = json.dumps(answer.value)[:500]
                journal.write({"is": "unexplained", "status": answer.status, "code": code, "text": text})
            time.sleep(source.uniform(0.05, 0.5))
            continue
        journal.write(page(cursor, answer.value))
        cursor = answer.value["cursor"]
        is_over = is_finishing and not answer.value["events"] and not answer.value["has_more"]
        if is_over or source.random() < COMMITTED:
            journal.write({"is": "commit", "cursor": cursor})
        if is_over:
            return
        if not answer.value["events"] and not wait:
            time.sleep(source.uniform(0.05, 0.3))


def resumed_at(lines: list[Line], beginning: str) -> str:
    """The cursor that was committed last; ``beginning`` before any was."""
    committed = [line["cursor"] for line in lines if line["is"] == "commit"]
    return str(committed[-1]) if committed else beginning


def page(after: str, value: dict[str, Any]) -> Line:
    """An answer of ``GET /v2/events`` as the oracle reads it: messages as ``[from, id, digest]``."""
    events = []
    for event in value["events"]:
        line = {"cursor": event["cursor"], "type": event["type"]}
        envelope = event.get("message")
        if envelope is not None:
            digest = hashlib.sha256(canonicalize(envelope)).hexdigest()
            line["message"] = [envelope["from"].partition("@")[0], envelope["id"], digest]
        events.append(line)
    return {
        "is": "page",
        "after": after,
        "cursor": value["cursor"],
        "more": value["has_more"],
        "events": events,
    }


if __name__ == "__main__":
    run(Settings(**json.loads(sys.argv[1])))
