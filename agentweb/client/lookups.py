"""What a host's name leads to, asked with an end: the system's own look-up has none but its name servers' patience.

Each look-up has a thread of its own, and whoever asked goes on without it when the time is over. A thread that is left
ends when the system gives up. There are never more than ``MAX_AT_ONCE`` of them: who finds no place waits for one, and
no longer than for an answer.
"""

from __future__ import annotations

import ipaddress
import socket
import threading
import time
from typing import Final

from agentweb.client.errors import UnreachableError

MAX_AT_ONCE: Final = 32

_places: Final = threading.BoundedSemaphore(MAX_AT_ONCE)


def addresses_of(host: str, port: int, seconds: float) -> list[str]:
    """The addresses of a host, each once, in the order in which they are to be tried.

    Raises UnreachableError with a ``reason``: ``host`` for a name that leads nowhere, ``time`` when no answer came
    within ``seconds``.
    """
    if _is_address(host):
        return [host]
    end = time.monotonic() + seconds
    if not _places.acquire(timeout=max(seconds, 0)):
        raise _late(host)
    looking = _LookUp(host, port)
    try:
        threading.Thread(target=looking.run, name="agentweb-lookup", daemon=True).start()
    except RuntimeError:  # the system has no thread left
        _places.release()
        raise _late(host) from None
    if not looking.done.wait(max(end - time.monotonic(), 0)):
        raise _late(host)
    if not looking.found:
        raise UnreachableError(f"The host {host} was not found.", may_have_arrived=False, reason="host")
    return looking.found


class _LookUp:
    """One look-up: ``found`` is empty for a name that leads nowhere, and counts when ``done`` is set."""

    def __init__(self, host: str, port: int) -> None:
        self._host = host
        self._port = port
        self.found: list[str] = []
        self.done = threading.Event()

    def run(self) -> None:
        try:
            answers = socket.getaddrinfo(self._host, self._port, type=socket.SOCK_STREAM)
            self.found = list(dict.fromkeys(str(sockaddr[0]) for *_, sockaddr in answers))
        except (OSError, UnicodeError):
            pass  # found nothing
        finally:
            _places.release()
            self.done.set()


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def _late(host: str) -> UnreachableError:
    return UnreachableError(
        f"The name servers did not say in time where the host {host} is.",
        may_have_arrived=False,
        reason="time",
    )
