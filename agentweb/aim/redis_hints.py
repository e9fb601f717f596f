"""Wake-ups between processes through a Redis: ``AGENTWEB["WAKE_UPS"]``.

Messages on its channel are empty: they say only that the log has grown. Nothing is kept in it.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from typing import Any, Final

from agentweb import conf
from agentweb.aim import outlets

logger = logging.getLogger("agentweb.aim")

LISTEN_SECONDS: Final = 10.0
"""How long a listener waits before it looks whether it is still wanted."""

_CONNECT_SECONDS: Final = 0.5
_ANSWER_SECONDS: Final = 1.0


def channel() -> str:
    """Channels are shared by all databases of a Redis, so the site is in the name."""
    return f"agentweb:{conf.get('ORIGIN') or ''}:log"


class Publisher:
    """Called, it publishes; the connection is kept while it is good. Raises whatever the Redis, or its client, does."""

    def __init__(self) -> None:
        self._client: Any = None
        self._url = ""

    def __call__(self) -> None:
        url = conf.get("WAKE_UPS")
        if not url:
            return
        if self._client is None or self._url != url:
            self._client, self._url = _connect(url), url
        try:
            self._client.publish(channel(), "")
        except Exception:
            self._client.close()
            self._client = None
            raise


def listen(ring: Callable[[], None]) -> None:
    """Call ``ring`` whenever any process published, and after each time that nobody listened. Returns once WAKE_UPS is
    unset."""
    is_broken = False
    while url := conf.get("WAKE_UPS"):
        try:
            with _connect(url) as client, client.pubsub(ignore_subscribe_messages=True) as subscription:
                subscription.subscribe(channel())
                ring()
                while url == conf.get("WAKE_UPS"):
                    if subscription.get_message(timeout=LISTEN_SECONDS) is not None:
                        ring()
                    is_broken = False
        except Exception as error:
            if not is_broken:
                logger.warning(
                    "Wake-ups cannot be heard, so this process looks for events by itself: %s",
                    outlets.first_line(error),
                )
            is_broken = True
            time.sleep(outlets.BREAK_SECONDS)


def _connect(url: str) -> Any:
    import redis  # noqa: PLC0415 - an extra, for sites that have one
    from redis.backoff import NoBackoff  # noqa: PLC0415 - the same
    from redis.retry import Retry  # noqa: PLC0415 - the same

    return redis.Redis.from_url(
        url,
        socket_connect_timeout=_CONNECT_SECONDS,
        socket_timeout=_ANSWER_SECONDS,
        socket_keepalive=True,
        health_check_interval=30,
        retry=Retry(NoBackoff(), 0),
    )
