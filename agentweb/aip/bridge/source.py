"""What the streams of open pages carry: the calls of agents, once a stream is there to take them.

A call may come twice when its stream broke in between; ``bridge.js`` knows by its id what it has done.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from typing import Any, Final

from agentweb.aip.bridge import calls, open_pages
from agentweb.aip.models import BrowserCall, OpenPage
from agentweb.http.streams import HEARTBEAT_SECONDS, Event, Reader, Stream
from agentweb.wire.clock import now_datetime
from agentweb.wire.encoding import random_id

_State: Final = BrowserCall.State
_COLUMNS: Final = ("pk", "page_id", "action", "input", "deadline")
_AT_ONCE: Final = 500
_FEW: Final = 50


class Calls:
    """The source of the bridge; the topic of a stream is the id of its open page."""

    def __init__(self) -> None:
        self._stay_at = 0.0

    def read(
        self, streams: Sequence[Stream], ended: Sequence[Stream]
    ) -> Iterable[tuple[Stream, bytes | None]]:
        by_page = {str(stream.topic): stream for stream in streams}
        _stay({str(stream.topic) for stream in ended} - by_page.keys(), open_pages.GRACE)
        if not by_page:
            return []
        closed = self._stay(by_page)
        found: list[tuple[Stream, bytes | None]] = [(by_page[page], None) for page in closed]
        return [*found, *((by_page[row[1]], _frame(row)) for row in _taken(by_page))]

    def _stay(self, by_page: dict[str, Stream]) -> set[str]:
        """Move on until when they are connected, once a heartbeat; those that were closed meanwhile."""
        now = time.monotonic()
        if now < self._stay_at:
            _stay({page for page, stream in by_page.items() if stream.is_new}, open_pages.STREAMED)
            return set()
        self._stay_at = now + HEARTBEAT_SECONDS
        _stay(by_page.keys(), open_pages.STREAMED)
        still: set[str] = set()
        for some in _portions(by_page.keys()):
            still |= set(OpenPage.objects.filter(pk__in=some).exclude(login="").values_list("pk", flat=True))
        return by_page.keys() - still


def _stay(pages: Iterable[str], seconds: Any) -> None:
    for some in _portions(pages):
        open_pages.stay(some, seconds)


def _taken(by_page: dict[str, Stream]) -> list[tuple[Any, ...]]:
    """The calls for these pages that this turn has taken; and for new streams, those that an earlier one had."""
    at = now_datetime()
    waiting = BrowserCall.objects.filter(state=_State.WAITING, deadline__gt=at)
    if len(by_page) <= _FEW:
        waiting = waiting.filter(page_id__in=by_page)
    rows = [row for row in waiting.values_list(*_COLUMNS) if row[1] in by_page]
    # Before this turn takes any, or they would come twice in one.
    again = _again([page for page, stream in by_page.items() if stream.is_new], at)
    if rows:
        turn = random_id("tn_")
        mine = BrowserCall.objects.filter(pk__in=[row[0] for row in rows], state=_State.WAITING)
        if mine.update(state=_State.SENT, taken=turn) < len(rows):
            # Some were given up, or taken by another stream of the same page.
            taken = set(BrowserCall.objects.filter(taken=turn).values_list("pk", flat=True))
            rows = [row for row in rows if row[0] in taken]
    return [*again, *rows]


def _again(pages: list[str], at: datetime) -> list[tuple[Any, ...]]:
    found: list[tuple[Any, ...]] = []
    for some in _portions(pages):
        sent = BrowserCall.objects.filter(page_id__in=some, state=_State.SENT, deadline__gt=at)
        found += sent.values_list(*_COLUMNS)
    return found


def _frame(row: tuple[Any, ...]) -> bytes:
    ident, _, action, text, deadline = row
    seconds = max(0.0, (deadline - now_datetime()).total_seconds())
    data = json.dumps({"call": ident, "action": action, "seconds": round(seconds, 1)})
    # The input as its exact text: a number must not change on its way.
    return Event(f'{data[:-1]}, "input": {text}}}', name="call").frame()


def _portions(idents: Iterable[str]) -> Iterator[list[str]]:
    listed = list(idents)
    for start in range(0, len(listed), _AT_ONCE):
        yield listed[start : start + _AT_ONCE]


reader: Final = Reader(Calls())
calls.on_ask(reader.wake)
