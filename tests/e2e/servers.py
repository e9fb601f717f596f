"""Real servers of the test site, several on one database: ``python -m tests.e2e.servers PORT``."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tests.support.races import ROOT, Database


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port


@contextmanager
def serving(database: Database, count: int) -> Iterator[list[tuple[str, int]]]:
    """``count`` server processes; their addresses once each accepts connections."""
    ports = [free_port() for _ in range(count)]
    servers = [
        subprocess.Popen(
            [sys.executable, "-m", "tests.e2e.servers", str(port)],
            cwd=ROOT,
            env={**os.environ, **database.env},
        )
        for port in ports
    ]
    try:
        for port, server in zip(ports, servers, strict=True):
            _wait(port, server)
        yield [("127.0.0.1", port) for port in ports]
    finally:
        for server in servers:
            server.terminate()
        for server in servers:
            server.wait(timeout=20)


def _wait(port: int, server: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        assert server.poll() is None, "the server ended at once"
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            time.sleep(0.05)
        else:
            return
    raise AssertionError("the server does not answer")


def issue(subject: str, scopes: list[str], spending: str | None) -> str:
    """A grant of the site for this key, as its header; runs in a process of its own (tests/support/races.py)."""
    from agentweb.testing import grant

    return grant(subject, scopes, spending=spending).header


def main(port: int) -> None:
    import uvicorn
    from django.core.asgi import get_asgi_application

    application: Any = get_asgi_application()
    uvicorn.run(application, host="127.0.0.1", port=port, log_level="error", lifespan="off")


if __name__ == "__main__":
    main(int(sys.argv[1]))
