"""Calls of one action by session token, signature and mandate, beside the same work done by peers; and documents.

Every call validates three inputs and writes one row. Ours checks a token or signature, scope and limits and writes
its audit row as well. Contestants take turns within each round, so a slow minute is everybody's.
"""

from __future__ import annotations

import argparse
import json
import os
import secrets
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final

from agentweb.wire.http_signature import sign_request
from agentweb.wire.signing import SigningKey
from benchmarks import databases, servers
from benchmarks.environment import ROOT, python
from benchmarks.figures import Goal, Series, comparison, verdicts
from benchmarks.load import Request, measure, require_wrk

_LINE: Final = json.dumps({"product": "tea", "quantity": 2, "note": "as a present"}, separators=(",", ":"))
_TOOL_CALL: Final = json.dumps(
    {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": {"name": "order", "arguments": json.loads(_LINE)},
    }
)
_JSON: Final = {"Content-Type": "application/json"}
_LARGEST_RATE: Final = 4_000
"""Requests a second for which single-use ones are prepared."""

GOALS: Final = (
    Goal("session call", "DRF view", 1.0),
    Goal("session call", "DRF + token + audit", 1.0),
    Goal("session call", "django-mcpz + audit", 1.0),
    Goal("session call", "django-ninja", 1.25),
    Goal("signed call", "session call", 1.7),
    Goal("spend call", "session call", 3.0),
    Goal("manifest 200", "bare document", 1.25),
    Goal("manifest 304", "bare document", 1.11),
)


def run(options: argparse.Namespace) -> list[dict[str, Any]]:
    """Measure and print; what was measured, a dict for each contestant and server."""
    require_wrk()
    interpreter = python()
    found = []
    for database in databases.KINDS if options.database == "both" else (options.database,):
        for kind in servers.KINDS if options.server == "both" else (options.server,):
            series = _one(interpreter, kind, database, options)
            print(
                f"\n{kind}, {servers.WORKERS} workers, {database}; {options.rounds} rounds of {options.seconds} s"
            )
            print(comparison(series, base="DRF view"))
            print("\n" + verdicts(series, GOALS))
            found += [
                {
                    "server": kind,
                    "database": database,
                    "name": each.name,
                    "cpu_us": each.cpu,
                    "requests_per_second": each.rate,
                }
                for each in series
            ]
    return found


def _one(interpreter: str, kind: str, database: str, options: argparse.Namespace) -> list[Series]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with databases.fresh(database, folder) as settings:
            environment = {
                "DJANGO_SETTINGS_MODULE": "benchmarks.site.settings",
                "BENCHMARKS_DATABASE": json.dumps(settings),
            }
            prepared = subprocess.run(
                [interpreter, "-m", "benchmarks.site.prepare"],
                cwd=ROOT,
                env={**os.environ, **environment},
                stdout=subprocess.PIPE,
                check=True,
            )
            known = json.loads(prepared.stdout)
            with servers.running(kind, interpreter, environment, folder / "server.log") as server:
                return _rounds(server, known, options, folder)


def _rounds(
    server: servers.Server, known: dict[str, Any], options: argparse.Namespace, folder: Path
) -> list[Series]:
    contestants = _contestants(known, round(options.seconds * _LARGEST_RATE), server)
    series = {name: Series(name) for name in contestants}
    for at in range(options.rounds + 1):
        for name, requests in contestants.items():
            _tell(f"round {at} of {options.rounds}: {name}")
            # Round 0 warms up: connections, caches, the first sight of the grant.
            kept = series[name] if at else Series(name)
            seconds = options.seconds if at else 1
            measure(server, kept, requests(), seconds=seconds, folder=folder)
    _tell("")
    return list(series.values())


def _contestants(
    known: dict[str, Any], many: int, server: servers.Server
) -> dict[str, Callable[[], Sequence[Request]]]:
    def same(
        path: str, body: str = _LINE, method: str = "POST", **headers: str
    ) -> Callable[[], list[Request]]:
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        return lambda: [Request(method, path, {**_JSON, **sent} if body else sent, body)]

    etag = _etag(server)
    return {
        "plain view": same("/plain/order"),
        "DRF view": same("/drf/order"),
        "DRF + token + audit": same("/drf-token/order", Authorization=f"Token {known['drf_token']}"),
        "django-ninja": same("/ninja/order"),
        "django-mcpz + audit": same(
            "/mcpz",
            _TOOL_CALL,
            Authorization=f"Bearer {known['mcpz_token']}",
            MCP_Protocol_Version="2025-06-18",
            Accept="application/json, text/event-stream",
        ),
        "session call": same("/agent/order", Authorization=f"Bearer {known['session_token']}"),
        "signed call": partial(_signed, known, "/agent/order", many, keyed=False),
        "signed, keyed call": partial(_signed, known, "/agent/order", many, keyed=True),
        "spend call": partial(_signed, known, "/agent/buy", many, keyed=True),
        "anonymous read": same("/agent/greet", "", "GET"),
        "bare document": same("/bare/document", "", "GET"),
        "manifest 200": same("/.well-known/agent-actions.json", "", "GET"),
        "manifest 304": same("/.well-known/agent-actions.json", "", "GET", If_None_Match=etag),
    }


def _signed(known: dict[str, Any], path: str, many: int, *, keyed: bool) -> list[Request]:
    key = SigningKey.from_seed(bytes.fromhex(known["seed"]))
    created = int(time.time())
    requests = []
    for _ in range(many):
        headers = {**_JSON, "Agent-Grant": known["grant"]}
        if keyed:
            headers["Idempotency-Key"] = secrets.token_urlsafe(16)
        signature = sign_request(
            method="POST",
            url=f"http://127.0.0.1{path}",
            body=_LINE.encode(),
            key=key,
            headers=headers,
            created=created,
        )
        requests.append(Request("POST", path, {**headers, **signature}, _LINE))
    return requests


def _etag(server: servers.Server) -> str:
    from http.client import HTTPConnection  # noqa: PLC0415 - once, here

    connection = HTTPConnection(server.url.removeprefix("http://"))
    connection.request("GET", "/.well-known/agent-actions.json")
    answer = connection.getresponse()
    answer.read()
    return str(answer.headers["ETag"])


def _tell(text: str) -> None:
    if sys.stderr.isatty():
        print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)
