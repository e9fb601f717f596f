"""The messenger: posting one by one and in batches on real servers, and in one process beside the bare sum of what a
message cannot do without; polling and reading with a long log; and whether any of it grows with what is there.

Limits are raised so that no load meets them (``benchmarks/site/settings.py``); every request is signed beforehand,
with a nonce of its own.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable
from functools import partial
from http.client import HTTPConnection
from pathlib import Path
from typing import Any, Final

from agentweb.wire.aim.envelope import BATCH_MAX
from benchmarks import databases, servers
from benchmarks.environment import ROOT, python
from benchmarks.figures import Series, judged, table
from benchmarks.load import measure_prepared, require_wrk
from benchmarks.messenger import letters
from benchmarks.messenger.letters import AGENTS, LARGE, SMALL, Signed

SINGLE: Final = "single, 400 bytes"
SINGLE_LARGE: Final = "single, 8 KiB"
BATCH: Final = f"batch of {BATCH_MAX}, 400 bytes"
POLL: Final = "caught-up poll"

_NAMES: Final = ("request, the view", "bare sum", "bare sum, rfc8785")
_LARGEST_RATE: Final = {SINGLE: 1_500, SINGLE_LARGE: 1_000, BATCH: 250, POLL: 3_000}
"""Requests a second for which single-use ones are prepared."""


def run(options: argparse.Namespace) -> list[dict[str, Any]]:
    """Measure and print; what was measured, a dict for each database."""
    require_wrk()
    interpreter = python()
    print(
        f"{AGENTS} agents that are each other's contacts; limits raised: a million requests and messages a second, a "
        "hundred million messages a day"
    )
    chosen = databases.KINDS if options.database == "both" else (options.database,)
    return [_one(interpreter, database, options) for database in chosen]


def _one(interpreter: str, database: str, options: argparse.Namespace) -> dict[str, Any]:
    kinds = servers.KINDS if options.server == "both" else (options.server,)
    with tempfile.TemporaryDirectory() as name, databases.fresh(database, Path(name)) as settings:
        folder = Path(name)
        environment = {
            "DJANGO_SETTINGS_MODULE": "benchmarks.site.settings",
            "BENCHMARKS_DATABASE": json.dumps(settings),
        }
        _run(interpreter, ["benchmarks.site.prepare"], environment)
        found: dict[str, Any] = {"database": database, "servers": {}}
        for kind in kinds:
            with servers.running(kind, interpreter, environment, folder / "server.log") as server:
                series = _rounds(server, options, folder)
            print(
                f"\n{kind}, {servers.WORKERS} workers, {database}; {options.rounds} rounds of {options.seconds} s"
            )
            _print_served(series, database)
            found["servers"][kind] = [
                {"name": each.name, "cpu_us": each.cpu, "per_second": each.rate} for each in series.values()
            ]
        sizes = ["--rounds", str(options.rounds)]
        if options.quick:
            sizes += ["--each", "40", "--events", "100000"]
        measured = json.loads(_run(interpreter, ["benchmarks.messenger.measure", *sizes], environment))
        print(f"\nin one process, {database}; {options.rounds} rounds, the contestants in turn")
        _print_posting(measured, database)
        _print_reading(measured)
        return found | {"process": measured}


def _run(interpreter: str, module: list[str], environment: dict[str, str]) -> bytes:
    return subprocess.run(
        [interpreter, "-m", *module],
        cwd=ROOT,
        env={**os.environ, **environment},
        stdout=subprocess.PIPE,
        check=True,
    ).stdout


# ── on servers ─────────────────────────────────────────────────────────────────────────────────────────


def _rounds(server: servers.Server, options: argparse.Namespace, folder: Path) -> dict[str, Series]:
    made: dict[str, Callable[[int], Iterable[Signed]]] = {
        SINGLE: partial(letters.singles, size=SMALL),
        SINGLE_LARGE: partial(letters.singles, size=LARGE),
        BATCH: partial(letters.batches, size=SMALL),
        POLL: partial(letters.reads, target="/v2/events?after=now"),
    }
    series = {name: Series(name) for name in made}
    host = server.url.removeprefix("http://")
    _wake(host)
    for at in range(options.rounds + 1):
        for name, make in made.items():
            _tell(f"round {at} of {options.rounds}: {name}")
            # Round 0 warms up.
            seconds = options.seconds if at else 1
            raw = [each.raw(host) for each in make(round(_LARGEST_RATE[name] * seconds))]
            measure_prepared(
                server,
                series[name] if at else Series(name),
                raw,
                seconds=seconds,
                folder=folder,
                units=BATCH_MAX if name == BATCH else 1,
            )
    _tell("")
    return series


def _wake(host: str) -> None:
    """Let every worker load what its first request needs, however long that takes."""
    connections = []
    for each in letters.reads(4 * servers.WORKERS, "/v2/events?after=now"):
        connection = HTTPConnection(host, timeout=60)
        connection.request(each.method, each.target, headers={"Authorization": each.header})
        connections.append(connection)
    for connection in connections:
        answer = connection.getresponse()
        if answer.status != 200:
            raise SystemExit(f"The server answers {answer.status}: {answer.read(500)!r}")
        connection.close()


def _print_served(series: dict[str, Series], database: str) -> None:
    rows = [
        [
            each.name,
            f"{each.rate_median:,.0f}",
            f"{each.cpu_median:,.0f}",
            f"{min(each.cpu):,.0f}–{max(each.cpu):,.0f}",
            f"{each.cpu_median / series[SINGLE].cpu_median:.2f}",
        ]
        for each in series.values()
    ]
    print(table(["", "messages/s", "CPU µs/message", "min–max", f"CPU / {SINGLE}"], rows))
    if database == "postgres":
        goals = [
            (SINGLE, series[SINGLE].rate_median, "≥", 300.0, "messages/s"),
            (BATCH, series[BATCH].rate_median, "≥", 1_500.0, "messages/s"),
        ]
        print("\n" + judged(goals))


# ── in one process ─────────────────────────────────────────────────────────────────────────────────────


def _print_posting(measured: dict[str, Any], database: str) -> None:
    request, bare, bare_rfc8785 = _NAMES
    for size, title in (("small", f"{SMALL} bytes"), ("large", "8 KiB")):
        figures = measured[size]
        print(f"\n{title}")
        rows = [
            [
                name,
                f"{each['wall_us']:,.0f}",
                f"{each['least_us']:,.0f}",
                f"{each['cpu_us']:,.0f}",
                f"{each['wall_us'] / figures[bare]['wall_us']:.2f}",
                f"{each['cpu_us'] / figures[bare]['cpu_us']:.2f}",
            ]
            for name, each in figures.items()
        ]
        print(table(["", "µs", "least", "CPU µs", "x bare", "CPU x bare"], rows))
    small, large = measured["small"], measured["large"]
    growth = {
        name: figures[request]["wall_us"] / figures[bare]["wall_us"]
        for name, figures in measured["growth"].items()
    }
    is_postgres = database == "postgres"
    goals = [
        (
            "a message of 400 bytes / bare sum",
            _ratio(small, request, bare),
            "≤",
            3.0 if is_postgres else 3.3,
            "x",
        ),
        (
            "one of 8 KiB / bare sum, rfc8785",
            _ratio(large, request, bare_rfc8785),
            "≤",
            1.7 if is_postgres else 1.3,
            "x",
        ),
        ("with a crowd and a long log / before", growth["many"] / growth["few"], "≤", 1.25, "x"),
    ]
    print("\n" + judged(goals))
    print(f"{len(measured['statements'])} statements a message, signature and limits included")


def _ratio(figures: dict[str, Any], one: str, other: str) -> float:
    return float(figures[one]["wall_us"] / figures[other]["wall_us"])


def _print_reading(measured: dict[str, Any]) -> None:
    reads = measured["reads"]
    print(f"\nreading, {measured['position']:,} events in the log, more than every tenth is the reader's")
    print(
        table(
            ["", "ms", "least", "CPU ms"],
            [
                [name, *(f"{each[key] / 1_000:.1f}" for key in ("wall_us", "least_us", "cpu_us"))]
                for name, each in reads.items()
            ],
        )
    )
    short, long = measured["catch_up"]
    pace = [each["seconds"] / each["events"] for each in (short, long)]
    goals = [
        (POLL, reads[POLL]["wall_us"] / 1_000, "≤", 3.0, "ms"),
        *(
            (name, reads[name]["wall_us"] / 1_000, "≤", 5.0, "ms")
            for name in reads
            if name.startswith(("100 events", "inbox"))
        ),
        ("10,000 events replayed", 10_000 * pace[0], "≤", 5_000 / 1_000, "s"),
        (f"an event of {long['events']:,} / of {short['events']:,}", pace[1] / pace[0], "≤", 1.25, "x"),
    ]
    print("\n" + judged(goals))


def _tell(text: str) -> None:
    if sys.stderr.isatty():
        print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)
