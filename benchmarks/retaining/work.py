"""Half of a million events is deleted while somebody appends."""

from __future__ import annotations

import json
import select
import subprocess
import sys
import time
from datetime import timedelta
from typing import Any, Final

from django.core.management import call_command
from django.db import connection

from agentweb.access.database import begun, patiently
from agentweb.aim import consumers, log, retention
from agentweb.aim.models import Event, LogConsumer, LogHead
from agentweb.wire.clock import now_datetime
from benchmarks.environment import ROOT

_EVENTS: Final = 1_000_000
_OLD: Final = 500_000
_ALONE_SECONDS: Final = 5
_FILL: Final = """
    INSERT INTO agentweb_event (seq, stream, type, at, message_key, data)
    SELECT n, 'agent:' || (n - n / 1000 * 1000), 'message', CASE WHEN n <= %s THEN %s ELSE %s END, n / 2, ''
"""
_NUMBERS: Final = {
    "sqlite": "FROM (WITH RECURSIVE numbers(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < %s) "
    "SELECT n FROM numbers)",
    "postgresql": "FROM generate_series(1, %s) n",
}


def delete() -> dict[str, Any]:
    """Fill, let a writer write, and delete."""
    call_command("migrate", verbosity=0)
    log.begin()
    consumers.create(consumers.READERS)
    _fill()
    command = [sys.executable, "-m", "benchmarks.retaining", "write"]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as writer:
        if writer.stdin is None or writer.stdout is None or writer.stdout.readline() != b"ready\n":
            raise RuntimeError("The writer did not begin.")
        time.sleep(_ALONE_SECONDS)
        writer.stdin.write(b"\n")
        writer.stdin.flush()
        began = time.monotonic()
        deleted = retention.clear_expired(now_datetime())["events"]
        seconds = time.monotonic() - began
        answer, _none = writer.communicate(b"\n")
    if deleted != _OLD or Event.objects.filter(seq__lte=_OLD).exists():
        raise RuntimeError(f"{deleted} events were deleted.")
    found: dict[str, Any] = json.loads(answer)
    return {"deleted": deleted, "seconds": seconds, **found}


def write() -> dict[str, Any]:
    """Append every 10 ms until two lines came: what is before the first one is without deletion."""
    patiently(_append)
    print("ready", flush=True)
    phases: list[list[float]] = []
    for _ in range(2):
        took: list[float] = []
        while not select.select([sys.stdin], [], [], 0.01)[0]:
            began = time.perf_counter()
            patiently(_append)
            took.append(time.perf_counter() - began)
        sys.stdin.buffer.raw.read(1)
        phases.append(sorted(took))
    return {
        name: {"worst": took[-1] * 1_000, "p99": took[int(len(took) * 0.99)] * 1_000, "appends": len(took)}
        for name, took in zip(("alone", "during"), phases, strict=True)
    }


def _append() -> None:
    with begun():
        log.append(
            [log.Entry("agent:1", log.MESSAGE, 1), log.Entry("agent:2", log.MESSAGE, 1)], now_datetime()
        )


def _fill() -> None:
    now = now_datetime()
    old = now - timedelta(days=40)
    adapt = connection.ops.adapt_datetimefield_value
    with connection.cursor() as cursor:
        cursor.execute(_FILL + _NUMBERS[connection.vendor], [_OLD, adapt(old), adapt(now), _EVENTS])
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")
    LogHead.objects.update(last=_EVENTS)
    LogConsumer.objects.update(position=_EVENTS)
