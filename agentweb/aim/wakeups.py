"""Waking those who wait for events, at once instead of at their next look into the database.

A wake-up is a hint and says only: look. It may come for nothing, and one that gets lost costs ``POLL_SECONDS``. So it
is never in a request's way: ``notify`` wakes this process's own waiters and leaves telling other processes to a thread
that may hang, fail or not be there.

``AGENTWEB["WAKE_UPS"]`` names a Redis through which processes tell each other. Without it each looks by itself.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable
from typing import Any, Final

from agentweb import conf

logger = logging.getLogger("agentweb.aim")

POLL_SECONDS: Final = 1.0
"""How long a waiter trusts that it is woken, before it looks by itself."""

_BREAK_SECONDS: Final = 5.0
"""How long nothing is tried after a failure."""
_GATHER_SECONDS: Final = 0.005
"""A pause after each message out, in which many hints become one."""
_CONNECT_SECONDS: Final = 0.5
_ANSWER_SECONDS: Final = 1.0
_LISTEN_SECONDS: Final = 10.0


class Outlet:
    """Takes hints out of the process, in a thread of its own that is made by the first one.

    Hints that come while one is under way become one. After a failure there is quiet for a while, and what would have
    been told then is told once, afterwards.
    """

    def __init__(self, name: str, send: Callable[[], None]) -> None:
        self._name = name
        self._send = send
        self._wanted = threading.Event()
        self._starting = threading.Lock()
        self._thread: threading.Thread | None = None
        self.is_broken = False

    def hint(self) -> None:
        """Have ``send`` called soon. Returns at once, whatever ``send`` does."""
        self._wanted.set()
        if self._thread is None and self._starting.acquire(blocking=False):
            try:
                self._thread = _start(self._run, f"agentweb hints: {self._name}")
            finally:
                self._starting.release()

    def _run(self) -> None:
        while True:
            self._wanted.wait()
            self._wanted.clear()
            try:
                self._send()
            except Exception as error:
                if not self.is_broken:
                    logger.warning(
                        "Hints by %s fail, so events are found later: %s", self._name, _first_line(error)
                    )
                self.is_broken = True
                time.sleep(_BREAK_SECONDS)
            else:
                if self.is_broken:
                    logger.info("Hints by %s get through again.", self._name)
                self.is_broken = False
                time.sleep(_GATHER_SECONDS)


class _Bell:
    """The waiters of this process."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._rung = 0

    def mark(self) -> int:
        return self._rung

    def ring(self) -> None:
        with self._changed:
            self._rung += 1
            self._changed.notify_all()

    def wait(self, seconds: float, since: int) -> bool:
        with self._changed:
            return self._changed.wait_for(lambda: self._rung != since, max(0.0, seconds))


class _Process:
    """What belongs to one process; a forked child begins anew, for threads and held locks stay behind."""

    def __init__(self) -> None:
        self.bell = _Bell()
        self.redis = Outlet("Redis", _publish)
        self.starting = threading.Lock()
        self.listener: threading.Thread | None = None
        self.client: Any = None
        self.client_url = ""


_more: Final[dict[str, Callable[[], None]]] = {}
_process = _Process()
_outlets: Final[dict[str, Outlet]] = {}


def mark() -> int:
    """A place in the sequence of wake-ups, for ``wait``: taken before the look into the database that found nothing."""
    return _process.bell.mark()


def wait(seconds: float, since: int | None = None, *, at_most: float = POLL_SECONDS) -> bool:
    """Wait until there may be something new, for ``seconds`` and for ``at_most`` at the longest; whether it was woken.

    ``since``: what ``mark`` gave before the last look; a wake-up after it counts although nobody waited yet. The caller
    then looks into the database, woken or not, and holds no connection to it while it waits.
    """
    _listen_if_wanted()
    bell = _process.bell
    return bell.wait(min(seconds, at_most), bell.mark() if since is None else since)


def notify() -> None:
    """Say that the log has grown: after the commit. Never waits and never raises."""
    _process.bell.ring()
    if conf.get("WAKE_UPS"):
        _process.redis.hint()
    for outlet in tuple(_outlets.values()):
        outlet.hint()


def add_outlet(name: str, send: Callable[[], None]) -> None:
    """Have ``send`` called, in a thread of its own, soon after each ``notify``; many of them become one call."""
    _more[name] = send
    _outlets[name] = Outlet(name, send)


def _begin_anew() -> None:
    global _process  # noqa: PLW0603 - one for the process is the point
    _process = _Process()
    _outlets.update({name: Outlet(name, send) for name, send in _more.items()})


os.register_at_fork(after_in_child=_begin_anew)


def channel() -> str:
    """Channels are shared by all databases of a Redis, so the site is in the name."""
    return f"agentweb:{conf.get('ORIGIN') or ''}:log"


def _publish() -> None:
    url = conf.get("WAKE_UPS")
    if not url:
        return
    process = _process
    if process.client is None or process.client_url != url:
        process.client, process.client_url = _redis(url), url
    try:
        process.client.publish(channel(), "")
    except Exception:
        process.client.close()
        process.client = None
        raise


def _listen_if_wanted() -> None:
    process = _process
    if process.listener is None and conf.get("WAKE_UPS") and process.starting.acquire(blocking=False):
        try:
            process.listener = _start(_listen, "agentweb wake-ups")
        finally:
            process.starting.release()


def _listen() -> None:
    """Ring this process's bell for whatever any process publishes. Ends when WAKE_UPS is unset."""
    is_broken = False
    while url := conf.get("WAKE_UPS"):
        try:
            with _redis(url) as client, client.pubsub(ignore_subscribe_messages=True) as subscription:
                subscription.subscribe(channel())
                # Something may have come while nobody listened.
                _process.bell.ring()
                while url == conf.get("WAKE_UPS"):
                    if subscription.get_message(timeout=_LISTEN_SECONDS) is not None:
                        _process.bell.ring()
                    is_broken = False
        except Exception as error:
            if not is_broken:
                logger.warning(
                    "Wake-ups cannot be heard, so this process looks for events by itself: %s",
                    _first_line(error),
                )
            is_broken = True
            time.sleep(_BREAK_SECONDS)
    _process.listener = None


def _redis(url: str) -> Any:
    import redis  # noqa: PLC0415 - an extra, for sites that have one
    from redis.backoff import NoBackoff  # noqa: PLC0415
    from redis.retry import Retry  # noqa: PLC0415

    return redis.Redis.from_url(
        url,
        socket_connect_timeout=_CONNECT_SECONDS,
        socket_timeout=_ANSWER_SECONDS,
        socket_keepalive=True,
        health_check_interval=30,
        retry=Retry(NoBackoff(), 0),
    )


def _start(run: Callable[[], None], name: str) -> threading.Thread | None:
    thread = threading.Thread(target=run, name=name, daemon=True)
    try:
        thread.start()
    except RuntimeError:
        return None  # no more threads, or the process ends; the next hint tries again
    return thread


def _first_line(error: Exception) -> str:
    return f"{type(error).__name__}: {error}".splitlines()[0]
