"""Real servers of the site with a live page, and what the tests ask of them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import httpx

from tests.e2e.servers import free_port
from tests.support.races import ROOT, Database, run

SETTINGS = "tests.aip.live.settings"


@dataclass(frozen=True)
class Site:
    """``tokens`` are of sessions: ``ada`` and ``bob`` with all scopes, ``reader`` of ada's without ``board:write``."""

    origin: str
    database: Database
    process: subprocess.Popen[bytes]
    tokens: dict[str, str]

    def kill(self) -> None:
        """End it at once, with the processes that it has started."""
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait(20)

    def agent(self, name: str = "ada") -> httpx.Client:
        headers = {"Authorization": f"Bearer {self.tokens[name]}"}
        return httpx.Client(base_url=self.origin, headers=headers, timeout=30)

    def invoke(self, action: str, input: Any = None, *, by: str = "ada", **more: Any) -> httpx.Response:
        headers = {"Idempotency-Key": more.pop("key")} if "key" in more else {}
        body = {"actionId": action, **more} | ({} if input is None else {"input": input})
        with self.agent(by) as agent:
            return agent.post("/__aim/invoke", json=body, headers=headers)

    def manifest(self, by: str = "ada") -> dict[str, Any]:
        with self.agent(by) as agent:
            answer = agent.get("/board.json")
        assert answer.status_code == 200, answer.text
        found: dict[str, Any] = answer.json()
        return found

    def until(self, holds: Any, seconds: float = 15) -> Any:
        """Ask again until it holds; what it then answered."""
        deadline = time.monotonic() + seconds
        while not (answer := holds()):
            assert time.monotonic() < deadline, "it never came to be"
            time.sleep(0.05)
        return answer


@contextmanager
def serving(kind: str, database: Database, *, log: Any = subprocess.DEVNULL) -> Iterator[Site]:
    """The site, by uvicorn (``asgi``) or by gunicorn's threads in two processes (``wsgi``)."""
    port = free_port()
    tokens = run(database, "tests.aip.live.site:prepare", f"127.0.0.1:{port}")
    with serving_at(port, kind, database, tokens, log=log) as site:
        yield site


@contextmanager
def serving_at(
    port: int, kind: str, database: Database, tokens: dict[str, str], *, log: Any = subprocess.DEVNULL
) -> Iterator[Site]:
    """``serving`` at this port, where the database has been prepared: also after the server was killed."""
    origin = f"http://127.0.0.1:{port}"
    env = {**os.environ, **database.env, "AGENTWEB_TEST_ORIGIN": origin, "DJANGO_SETTINGS_MODULE": SETTINGS}
    process = subprocess.Popen(
        _command(kind, port), cwd=ROOT, env=env, stdout=log, stderr=log, start_new_session=True
    )
    try:
        deadline = time.monotonic() + 60
        while True:
            try:
                httpx.get(f"{origin}/board.json", timeout=10)
                break
            except httpx.TransportError:
                assert process.poll() is None, "the server ended at once"
                assert time.monotonic() < deadline, "the server does not answer"
                time.sleep(0.05)
        yield Site(origin, database, process, tokens)
    finally:
        process.terminate()
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait(20)
            raise


def _command(kind: str, port: int) -> list[str]:
    if kind == "asgi":
        return [
            *(sys.executable, "-m", "uvicorn", "tests.aip.live.asgi:application"),
            *("--port", str(port), "--log-level", "warning", "--lifespan", "off"),
        ]
    return [
        *(sys.executable, "-m", "gunicorn", "tests.aip.live.wsgi:application"),
        *("--bind", f"127.0.0.1:{port}", "--workers", "2", "--worker-class", "gthread", "--threads", "4"),
        *("--graceful-timeout", "5"),
    ]


def answered_by_pages() -> int:
    """Calls that a page has answered."""
    from agentweb.aip.models import BrowserCall

    return BrowserCall.objects.filter(state=BrowserCall.State.DONE).count()


def end_leases() -> None:
    """As if the minute were over for which a call keeps its key to itself."""
    from datetime import timedelta

    from agentweb.invoke.models import IdempotencyRecord
    from agentweb.wire.clock import now_datetime

    IdempotencyRecord.objects.update(lease_until=now_datetime() - timedelta(seconds=1))


def prepare(site: str) -> dict[str, str]:
    """Two persons with tokens of sessions of theirs, and ten others, ``p0`` to ``p9``."""
    from django.contrib.auth.models import User

    from agentweb.access import sessions, site_keys

    site_keys.ensure_active_key()
    ada, bob = User.objects.create_user("ada"), User.objects.create_user("bob")
    for number in range(10):
        User.objects.create_user(f"p{number}")
    tokens = {}
    for name, user, scopes in (
        ("ada", ada, ["board:*"]),
        ("bob", bob, ["board:*"]),
        ("reader", ada, ["board:read"]),
    ):
        tokens[name] = sessions.create(user=user, scopes=scopes, expires_in=3_600, site=site)[1]
    return tokens
