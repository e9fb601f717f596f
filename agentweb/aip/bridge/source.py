"""What the streams of open pages carry: the calls of agents, once a stream is there to take them.

A call may come twice when its stream broke in between; ``bridge.js`` knows by its id what it has done.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from typing import Any, Final, TypeVar

from agentweb.aip.bridge import calls, open_pages
from agentweb.aip.models import BrowserCall
from agentweb.http.streams import HEARTBEAT_SECONDS, Event, Reader, Stream
from agentweb.wire.clock import now_datetime
from agentweb.wire.encoding import random_id

_T = TypeVar("_T")

_State: Final = BrowserCall.State
_COLUMNS: Final = ("pk", "page_id", "action", "input", "deadline")
_AT_ONCE: Final = 500
_FEW: Final = 50


class Calls:
    """The source of the bridge; the topic of a stream is the id of its open page, its memo the mark of the stream."""

    def __init__(self) -> None:
        self._stay_at = 0.0

    def read(
        self, streams: Sequence[Stream], ended: Sequence[Stream]
    ) -> Iterable[tuple[Stream, bytes | None]]:
        for some in _portions(ended):
            open_pages.disconnect([each.topic for each in some], [each.memo for each in some if each.memo])
        if not streams:
            return []
        # Of two for one page, the newer one: the other may be broken, and does not know yet.
        by_page = {str(stream.topic): stream for stream in streams}
        new = [stream for stream in by_page.values() if stream.is_new]
        closed = self._stay(by_page, new)
        found: list[tuple[Stream, bytes | None]] = [(by_page[page], None) for page in closed]
        return [*found, *((by_page[row[1]], _frame(row)) for row in _taken(by_page, new))]

    def _stay(self, by_page: dict[str, Stream], new: Sequence[Stream]) -> set[str]:
        """Say which are connected, once a heartbeat; the pages that were closed meanwhile."""
        turn = random_id("st_") if new else ""
        for some in _portions(new):
            for stream in some:
                stream.memo = turn
            open_pages.connect([each.topic for each in some], turn)
        now = time.monotonic()
        if now < self._stay_at:
            return set()
        self._stay_at = now + HEARTBEAT_SECONDS
        still: set[str] = set()
        for some_pages in _portions([*by_page]):
            still |= open_pages.stay(some_pages)
        return by_page.keys() - still


def _taken(by_page: dict[str, Stream], new: Sequence[Stream]) -> list[tuple[Any, ...]]:
    """The calls for these pages that this turn has taken; and for new streams, those that an earlier one had."""
    at = now_datetime()
    waiting = BrowserCall.objects.filter(state=_State.WAITING, deadline__gt=at)
    if len(by_page) <= _FEW:
        waiting = waiting.filter(page_id__in=by_page)
    rows = [
        row
        for row in waiting.values_list(*_COLUMNS, "page__stream")
        if row[1] in by_page and row[-1] == by_page[row[1]].memo
    ]
    # Before this turn takes any, or they would come twice in one.
    again = _again(new, at)
    if rows:
        turn = random_id("tn_")
        mine = BrowserCall.objects.filter(pk__in=[row[0] for row in rows], state=_State.WAITING)
        if mine.update(state=_State.SENT, taken=turn) < len(rows):
            # Some were given up meanwhile.
            taken = set(BrowserCall.objects.filter(taken=turn).values_list("pk", flat=True))
            rows = [row for row in rows if row[0] in taken]
    return [*again, *rows]


def _again(new: Sequence[Stream], at: datetime) -> list[tuple[Any, ...]]:
    found: list[tuple[Any, ...]] = []
    for some in _portions(new):
        pages = [stream.topic for stream in some]
        sent = BrowserCall.objects.filter(page_id__in=pages, state=_State.SENT, deadline__gt=at)
        found += sent.values_list(*_COLUMNS)
    return found


def _frame(row: tuple[Any, ...]) -> bytes:
    ident, _, action, text, deadline = row[:5]
    seconds = max(0.0, (deadline - now_datetime()).total_seconds())
    data = json.dumps({"call": ident, "action": action, "seconds": round(seconds, 1)})
    # The input as its exact text: a number must not change on its way.
    return Event(f'{data[:-1]}, "input": {text}}}', name="call").frame()


def _portions(all_of_them: Sequence[_T]) -> Iterator[Sequence[_T]]:
    """As many as fit well into one statement."""
    for start in range(0, len(all_of_them), _AT_ONCE):
        yield all_of_them[start : start + _AT_ONCE]


reader: Final = Reader(Calls())
calls.on_ask(reader.wake)
