"""Documents that are kept in the process as bytes, so that a warm one costs no query and no work.

A room keeps each document under a key that names everything it is made of: ``registry.version``, the origin, the
prefix, and which guarded things the reader may see.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Final

from agentweb.http.headers import Document

MAX_KEPT: Final = 64


class KeptDocuments:
    """At most ``limit`` documents; the oldest goes first."""

    def __init__(self, limit: int = MAX_KEPT) -> None:
        self._limit = limit
        self._lock = threading.Lock()
        self._documents: OrderedDict[Hashable, Document] = OrderedDict()

    def get(self, key: Hashable, build: Callable[[], Document]) -> Document:
        """The document of this key, built when it is not there. Two readers at once may both build it."""
        kept = self._documents.get(key)
        if kept is not None:
            return kept
        built = build()
        with self._lock:
            self._documents[key] = built
            while len(self._documents) > self._limit:
                self._documents.popitem(last=False)
        return built

    def forget(self) -> None:
        """Empty it: for tests, and after something changed that no key names."""
        with self._lock:
            self._documents.clear()

    def __len__(self) -> int:
        return len(self._documents)
