"""Starting the site, waiting until it answers, and stopping it whatever happens."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any, Final

import httpx

from demo_project.serving import GRACE_SECONDS

ROOT: Final = Path(__file__).resolve().parents[1]
MANIFEST: Final = "/.well-known/agent-actions.json"
START_SECONDS: Final = 60
LOOPBACK: Final = "127.0.0.1"


class SiteFailedError(Exception):
    """The site does not run; the text says why and what to do."""


class Site:
    """A running site. ``origin`` is ``http://127.0.0.1:<port>``."""

    def __init__(self, origin: str, process: subprocess.Popen[bytes]) -> None:
        self.origin = origin
        self._process = process

    @property
    def is_running(self) -> bool:
        return self._process.poll() is None

    def stop(self) -> None:
        """Ask, then insist; afterwards the process is gone."""
        if self._process.stdin is not None:
            with suppress(OSError):
                self._process.stdin.close()
        for insist in (self._process.terminate, self._process.kill):
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(GRACE_SECONDS + 1)
                return
            insist()
        self._process.wait()


@contextmanager
def running(environment: Mapping[str, str], *, port: int = 0, log: IO[bytes] | None = None) -> Iterator[Site]:
    """The site on 127.0.0.1, answering, until the block ends. Port 0 is any free one.

    ``environment`` is added to ours; what the site logs goes to ``log``, else to standard error. Raises
    SiteFailedError when the port is taken, the site dies, or does not answer within a minute.
    """
    with _listen(port) as listener:
        origin = f"http://{LOOPBACK}:{listener.getsockname()[1]}"
        process = subprocess.Popen(  # noqa: S603 - our own module
            [sys.executable, "-m", "demo_project.serving", str(listener.fileno())],
            cwd=ROOT,
            env={**os.environ, **environment, "AGENTWEB_DEMO_ORIGIN": origin},
            stdin=subprocess.PIPE,
            stdout=log,
            stderr=log,
            # A session of its own: Ctrl-C is for us alone, and we stop the site in order.
            start_new_session=True,
            **_handing_on(listener),
        )
    site = Site(origin, process)
    try:
        _wait_until_it_answers(site)
        yield site
    finally:
        site.stop()


def _listen(port: int) -> socket.socket:
    try:
        return socket.create_server((LOOPBACK, port), backlog=128)
    except OSError as error:
        raise SiteFailedError(
            f"Port {port} of {LOOPBACK} cannot be used ({error.strerror}). Perhaps another demo runs there: "
            "choose another --port, or leave it out for a free one."
        ) from None


def _handing_on(listener: socket.socket) -> dict[str, Any]:
    if os.name == "posix":
        return {"pass_fds": (listener.fileno(),)}
    listener.set_inheritable(True)
    return {"close_fds": False}


def _wait_until_it_answers(site: Site) -> None:
    deadline = time.monotonic() + START_SECONDS
    answered = "nothing"
    with httpx.Client(base_url=site.origin, trust_env=False, timeout=10) as http:
        while time.monotonic() < deadline:
            if not site.is_running:
                raise SiteFailedError("The site stopped while it started.")
            with suppress(httpx.HTTPError):
                response = http.get(MANIFEST)
                if response.status_code == httpx.codes.OK:
                    return
                answered = f"{response.status_code} for {MANIFEST}"
            time.sleep(0.1)
    raise SiteFailedError(f"The site did not answer within {START_SECONDS} seconds: {answered}.")
