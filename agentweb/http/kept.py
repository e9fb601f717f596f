"""What is kept in the process, documents as bytes above all, so that a warm one costs no query and no work.

A room keeps each under a key that names everything it is made of: ``registry.version``, the origin, the
prefix, and which guarded things the reader may see.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Final, Generic, TypeVar

from agentweb.http.headers import Document

MAX_KEPT: Final = 64

_Value = TypeVar("_Value")


class _Flight:
    """Somebody builds a value, and so many wait for it or build it."""

    __slots__ = ("lock", "readers")

    def __init__(self) -> None:
        # The same thread may come by again, from what it builds.
        self.lock = threading.RLock()
        self.readers = 0


class Kept(Generic[_Value]):
    """At most ``limit`` values; the oldest goes first."""

    def __init__(self, limit: int = MAX_KEPT) -> None:
        self._limit = limit
        self._lock = threading.Lock()
        self._values: OrderedDict[Hashable, _Value] = OrderedDict()
        self._flights: dict[Hashable, _Flight] = {}

    def get(self, key: Hashable, build: Callable[[], _Value]) -> _Value:
        """The value of this key, built when it is not there: by one reader, for whom the others wait. Where building
        it raises, the next of them tries."""
        kept = self._values.get(key)
        if kept is not None:
            return kept
        with self._lock:
            flight = self._flights.setdefault(key, _Flight())
            flight.readers += 1
        try:
            with flight.lock:
                kept = self._values.get(key)
                return self._keep(key, build()) if kept is None else kept
        finally:
            with self._lock:
                flight.readers -= 1
                if not flight.readers:
                    del self._flights[key]

    def _keep(self, key: Hashable, built: _Value) -> _Value:
        with self._lock:
            self._values[key] = built
            while len(self._values) > self._limit:
                self._values.popitem(last=False)
        return built

    def forget(self) -> None:
        """Empty it: for tests, and after something changed that no key names."""
        with self._lock:
            self._values.clear()

    def __len__(self) -> int:
        return len(self._values)


class KeptDocuments(Kept[Document]):
    """Documents."""
