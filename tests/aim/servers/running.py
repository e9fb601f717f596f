"""Start a server, or nginx before one, and wait until it answers."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.e2e.servers import free_port
from tests.support.races import ROOT, Database

WSGI = "tests.aim.servers.wsgi:application"
ASGI = "tests.aim.servers.asgi:application"

COMMANDS = {
    "runserver": ["tests.aim.servers.plain", "{port}"],
    "gunicorn": ["gunicorn", WSGI, "--bind", "127.0.0.1:{port}", "--threads", "4", "--log-level", "error"],
    "uvicorn": ["uvicorn", ASGI, "--port", "{port}", "--log-level", "error", "--lifespan", "off"],
    "granian-wsgi": ["granian", "--interface", "wsgi", "--host", "127.0.0.1", "--port", "{port}", WSGI],
    "granian-asgi": ["granian", "--interface", "asginl", "--host", "127.0.0.1", "--port", "{port}", ASGI],
}
KEEPS_RAW_PATH = {"gunicorn", "uvicorn", "granian-asgi"}
"""Servers that hand over the path as it was on the wire; the others decode it first."""

_NGINX = """
daemon off; pid {folder}/nginx.pid; error_log {folder}/error.log; worker_processes 1;
events {{ worker_connections 64; }}
http {{
  access_log off;
  client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy; fastcgi_temp_path {folder}/f;
  uwsgi_temp_path {folder}/u; scgi_temp_path {folder}/s;
  client_max_body_size 4m;
  server {{
    listen 127.0.0.1:{port};
    location {mounted}/ {{
      proxy_pass http://127.0.0.1:{upstream}{rest};
      proxy_set_header Host internal.example;
      proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;
    }}
  }}
}}
"""


def require(kind: str) -> None:
    """Skip without granian, the one server of these that a site need not know."""
    if kind.startswith("granian") and find_spec("granian") is None:
        pytest.skip("granian is not installed")


@contextmanager
def serving(
    kind: str, database: Database, origin: str = "", script: str = "", *, also: Sequence[str] = ()
) -> Iterator[str]:
    """Where the server is, ``http://127.0.0.1:PORT``; it calls itself ``origin``, by default just that.

    ``also`` are more arguments of its command.
    """
    require(kind)
    port = free_port()
    here = f"http://127.0.0.1:{port}"
    command = [*(part.format(port=port) for part in COMMANDS[kind]), *also]
    environment = {
        **os.environ,
        **database.env,
        "DJANGO_SETTINGS_MODULE": "tests.aim.servers.settings",
        "AIM_ORIGIN": origin or here,
        "AIM_SCRIPT_NAME": script,
    }
    with _process([sys.executable, "-m", *command], environment, port):
        yield here


@contextmanager
def nginx(upstream: str, port: int, folder: Path, *, mounted: str = "") -> Iterator[str]:
    """nginx on ``port``, which names another host to the server behind it. ``mounted`` is a path that it takes off."""
    program = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin")
    if program is None:
        if os.environ.get("AGENTWEB_REQUIRE_SERVICES") == "1":
            raise AssertionError("nginx is not installed")
        pytest.skip("nginx is not installed")
    written = folder / "nginx.conf"
    text = _NGINX.format(
        folder=folder,
        port=port,
        upstream=upstream.rpartition(":")[2],
        mounted=mounted,
        rest="/" if mounted else "",
    )
    if os.geteuid() == 0:
        text = "user root;" + text
    written.write_text(text)
    with _process(
        [str(program), "-e", str(folder / "start.log"), "-c", str(written)], dict(os.environ), port
    ):
        yield f"http://127.0.0.1:{port}"


@contextmanager
def _process(command: list[str], environment: dict[str, str], port: int) -> Iterator[None]:
    process = subprocess.Popen(
        command, cwd=ROOT, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        deadline = time.monotonic() + 120
        while True:
            with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
                break
            assert process.poll() is None, f"{command[2]} ended at once"
            assert time.monotonic() < deadline
            time.sleep(0.05)
        yield
    finally:
        process.terminate()
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
