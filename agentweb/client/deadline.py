"""One end for a whole exchange: httpx bounds each read, so a site that trickles would hold it for ever.

httpcore says which streams it opens (its extension ``trace``). Each is made to look, at every read and write, at
the end that holds for the thread at that moment; a stream that is used again keeps looking.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

try:
    import httpx
except ImportError:  # the extra "client" is not installed; then no stream is ever opened
    httpx = None  # type: ignore[assignment]

_PIECE: Final = 16_384
_SHORTEST: Final = 0.001
"""Seconds; a time-out of 0 would mean that nothing is waited for, and be another error."""


class Deadline:
    """Ends exchanges in time: ``with deadline.until(end)`` around a request that has ``trace`` as extension."""

    def __init__(self) -> None:
        self._local = threading.local()

    @contextmanager
    def until(self, end: float) -> Iterator[None]:
        """Let what this thread reads and writes in the block end at ``end`` of the monotonic clock."""
        self._local.end = end
        try:
            yield
        finally:
            self._local.end = None

    def trace(self, name: str, info: dict[str, Any]) -> None:
        """For httpcore: shorten what is about to begin, and take hold of the stream that was opened."""
        if name.endswith((".connect_tcp.started", ".start_tls.started")) and "timeout" in info:
            info["timeout"] = max(self._left(info["timeout"]) or 0, _SHORTEST)
        elif name.endswith((".connect_tcp.complete", ".start_tls.complete")):
            self._hold(info["return_value"])

    def _left(self, timeout: float | None) -> float | None:
        end = getattr(self._local, "end", None)
        if end is None:
            return timeout
        left: float = end - time.monotonic()
        return left if timeout is None else min(left, timeout)

    def _hold(self, stream: Any) -> None:
        whole_read, whole_write = stream.read, stream.write

        def read(max_bytes: int, timeout: float | None = None) -> bytes:
            left = self._left(timeout)
            if left is not None and left <= 0:
                raise httpx.ReadTimeout("the answer took too long to arrive")
            received: bytes = whole_read(max_bytes, left)
            return received

        def write(buffer: bytes, timeout: float | None = None) -> None:
            for start in range(0, len(buffer), _PIECE):
                left = self._left(timeout)
                if left is not None and left <= 0:
                    raise httpx.WriteTimeout("the request took too long to send")
                whole_write(buffer[start : start + _PIECE], left)

        stream.read, stream.write = read, write
