"""How long a call is tried again: bounded in attempts and in time, never earlier than the site asks."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from email.utils import parsedate_to_datetime
from typing import Final

FIRST_PAUSE: Final = 0.5
LONGEST_PAUSE: Final = 20.0


class Patience:
    """The budget of one call: at most ``attempts`` requests within ``seconds``."""

    def __init__(
        self, *, attempts: int, seconds: float, clock: Callable[[], float], sleep: Callable[[float], None]
    ) -> None:
        self._left = attempts
        self._clock = clock
        self._sleep = sleep
        self._deadline = clock() + seconds
        self._pause = FIRST_PAUSE

    def begin(self) -> None:
        """Count an attempt that is made now."""
        self._left -= 1

    def wait(self, asked: float | None = None) -> bool:
        """Pause before another attempt; False, at once, when there must be none.

        ``asked`` seconds or longer, 0 for no pause at all, None for a pause that grows from attempt to attempt.
        """
        # Not all agents of a site that was away come back in the same moment.
        own = min(self._pause * (1 + random.random() / 2), LONGEST_PAUSE)  # noqa: S311 - no secret
        pause = own if asked is None else max(asked, own) if asked > 0 else 0.0
        if self._left < 1 or self._clock() + pause > self._deadline:
            return False
        self._pause *= 2
        if pause:
            self._sleep(pause)
        return True


def retry_after_of(headers: Mapping[str, str], now: float) -> float | None:
    """The seconds that a ``Retry-After`` header asks for (RFC 9110 10.2.3: a number, or a date)."""
    text = headers.get("retry-after", "").strip()
    if text.isascii() and text.isdigit() and len(text) < 8:
        return float(text)
    try:
        return max(0.0, parsedate_to_datetime(text).timestamp() - now)
    except (ValueError, TypeError, OverflowError):
        return None
