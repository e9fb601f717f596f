"""Real servers on 127.0.0.1, and what CPU they used."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from benchmarks.environment import ROOT

WORKERS: Final = 2
KINDS: Final = ("gthread", "granian")
_TICKS: Final = os.sysconf("SC_CLK_TCK")


class Server:
    """A running server: ``url`` and the CPU seconds that all its processes have used so far."""

    def __init__(self, process: subprocess.Popen[bytes], port: int) -> None:
        self.process = process
        self.url = f"http://127.0.0.1:{port}"

    def cpu_seconds(self) -> float:
        ticks = 0
        for entry in Path("/proc").iterdir():
            if not entry.name.isdigit():
                continue
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:  # it ended meanwhile
                continue
            if int(fields[2]) == self.process.pid:  # its process group
                ticks += int(fields[11]) + int(fields[12])
        return ticks / _TICKS


@contextmanager
def running(kind: str, python: str, environment: Mapping[str, str], log: Path) -> Iterator[Server]:
    """A server of a kind with two worker processes, ready to answer."""
    port = _free_port()
    command = _command(kind, python, port)
    with (
        log.open("ab") as output,
        subprocess.Popen(
            command,
            cwd=ROOT,
            env={**os.environ, **environment},
            stdout=output,
            stderr=output,
            start_new_session=True,
        ) as process,
    ):
        try:
            _wait(process, port, log)
            yield Server(process, port)
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGTERM)
                try:
                    process.wait(10)
                except subprocess.TimeoutExpired:
                    os.killpg(process.pid, signal.SIGKILL)


def _command(kind: str, python: str, port: int) -> list[str]:
    application = "benchmarks.site.wsgi:application"
    if kind == "gthread":
        return [
            *[python, "-m", "gunicorn", application, "--worker-class", "gthread", "--threads", "4"],
            *["--workers", str(WORKERS), "--bind", f"127.0.0.1:{port}", "--log-level", "warning"],
        ]
    return [
        *[python, "-m", "granian", application, "--interface", "wsgi", "--workers", str(WORKERS)],
        *["--blocking-threads", "4", "--host", "127.0.0.1", "--port", str(port), "--log-level", "warning"],
        "--no-ws",
    ]


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port


def _wait(process: subprocess.Popen[bytes], port: int, log: Path) -> None:
    end = time.monotonic() + 30
    while time.monotonic() < end:
        if process.poll() is not None:
            break
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.05)
    raise SystemExit(f"The server did not start:\n{log.read_text(errors='replace')[-2_000:]}")
