"""Lists that a service gives in pages: as long as they are, and never without end for nothing."""

from __future__ import annotations

from typing import Final

from agentweb.wire.errors import ClientError, Code

EMPTY_PAGES: Final = 1_000
"""Pages in a row that may bring nothing new. A service that looks for what is ours among much else gives some."""


class Paging:
    """Watches over the pages of one list."""

    def __init__(self) -> None:
        self._empty = 0
        self._cursors: set[str] = set()

    def made(self, cursor: str, *, is_new: bool) -> None:
        """Another page is to be had at ``cursor``; ``is_new``: this one had something that none before it had.

        Raises ClientError ``response_invalid`` where the list goes round, or has had nothing for ``EMPTY_PAGES``.
        """
        if is_new:
            self._empty = 0
            self._cursors.clear()
        self._empty += 1
        if cursor in self._cursors or self._empty > EMPTY_PAGES:
            raise ClientError(
                Code.RESPONSE_INVALID,
                "The service says again and again that there is more, and gives nothing that is new.",
            )
        self._cursors.add(cursor)
