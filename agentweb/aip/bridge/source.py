"""What the streams of open pages carry: the calls of agents, once a stream is there to take them.

A call may come twice when its stream broke in between; ``bridge.js`` knows by its id what it has done.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import starmap
from typing import Any, Final, NamedTuple, TypeVar

from django.db.models import Exists, Q

from agentweb.aip.bridge import authority, calls, logins, open_pages
from agentweb.aip.models import BrowserCall, OpenPage
from agentweb.http.streams import HEARTBEAT_SECONDS, Event, Reader, Stream
from agentweb.wire.clock import now_datetime
from agentweb.wire.encoding import random_id

_T = TypeVar("_T")

_State: Final = BrowserCall.State
_AT_ONCE: Final = 500
_FEW: Final = 50
_CONDITIONS: Final = 50
"""Calls that one UPDATE takes, each under a condition of its own."""


class _Row(NamedTuple):
    """A call and what its page says of the login behind it."""

    pk: str
    state: str
    page_id: str
    action: str
    input: str
    deadline: datetime
    idents: str
    password: str
    user_id: Any
    login: str
    session: str
    stream: str


_COLUMNS: Final = (
    *("pk", "state", "page_id", "action", "input", "deadline", "idents", "password"),
    *("page__user_id", "page__login", "page__session", "page__stream"),
)


@dataclass(slots=True)
class _Seat:
    """What the source keeps of a stream: its mark, and when its page is to be looked at again."""

    mark: str
    due_at: float


class Calls:
    """The source of the bridge; the topic of a stream is the id of its open page."""

    def read(
        self, streams: Sequence[Stream], ended: Sequence[Stream]
    ) -> Iterable[tuple[Stream, bytes | None]]:
        for some in _portions(ended):
            seats = [each.memo for each in some if each.memo]
            open_pages.disconnect([each.topic for each in some], [seat.mark for seat in seats])
        if not streams:
            return []
        # Of two for one page, the newer one: the other may be broken, and does not know yet.
        by_page = {
            str(stream.topic): stream for stream in streams if stream.is_new or stream.memo is not None
        }
        new = [stream for stream in by_page.values() if stream.is_new]
        _connect(new)
        closed = _stay(by_page)
        rows, refused = _taken(by_page, new)
        found: list[tuple[Stream, bytes | None]] = [(by_page[row.page_id], _frame(row)) for row in rows]
        return [*found, *((by_page[page], None) for page in closed | refused)]


def _connect(new: Sequence[Stream]) -> None:
    turn = random_id("st_") if new else ""
    due_at = time.monotonic() + HEARTBEAT_SECONDS
    for some in _portions(new):
        for stream in some:
            stream.memo = _Seat(turn, due_at)
        open_pages.connect([each.topic for each in some], turn)


def _stay(by_page: dict[str, Stream]) -> set[str]:
    """Say which are connected, once a heartbeat; the pages that were closed meanwhile, or whose login is over."""
    now = time.monotonic()
    if all(now < stream.memo.due_at for stream in by_page.values()):
        return set()
    closed: set[str] = set()
    for pages in _portions([*by_page]):
        still = set(logins.still_there(open_pages.logins(pages)))
        gone = set(pages) - still
        open_pages.close([*gone])
        open_pages.stay([*still])
        closed |= gone
    for stream in by_page.values():
        stream.memo.due_at = now + HEARTBEAT_SECONDS
    return closed


def _taken(by_page: dict[str, Stream], new: Sequence[Stream]) -> tuple[list[_Row], set[str]]:
    """The calls for these pages that this turn has taken, and for new streams those that an earlier one had; and the
    pages among them whose login is over.

    What is true is read now, and the UPDATE that takes a call holds only where it still is.
    """
    at = now_datetime()
    waiting = BrowserCall.objects.filter(state=_State.WAITING, deadline__gt=at)
    if len(by_page) <= _FEW:
        waiting = waiting.filter(page_id__in=by_page)
    fresh = [
        row
        for row in starmap(_Row, waiting.values_list(*_COLUMNS))
        if row.page_id in by_page and row.stream == by_page[row.page_id].memo.mark
    ]
    # Before this turn takes any, or they would come twice in one.
    rows = [*_again(new, at), *fresh]
    if not rows:
        return [], set()
    pages = {row.page_id: row for row in rows}
    persons = logins.still_there((page, row.user_id, row.login, row.session) for page, row in pages.items())
    refused = pages.keys() - persons.keys()
    open_pages.close([*refused])
    allowed: list[str] = []
    ended: list[str] = []
    for row in rows:
        if row.page_id in persons:
            holds = authority.has_password(persons[row.page_id], row.password)
            (allowed if holds else ended).append(row.pk)
    _drop(ended)
    taken: set[str] = set()
    for some in _portions([row for row in rows if row.pk in allowed], _CONDITIONS):
        taken |= _take(some, at)
    return [row for row in rows if row.pk in taken], refused


def _take(rows: Sequence[_Row], at: datetime) -> set[str]:
    """Those of the calls that are to be sent: nothing that allowed them is revoked, and their pages are open."""
    turn = random_id("tn_")
    holds = Q()
    for row in rows:
        # Subqueries and no joins: the UPDATE then looks at the state anew when it had to wait for the row.
        page = OpenPage.objects.filter(pk=row.page_id, stream=row.stream).exclude(login="")
        holds |= Q(Exists(page), authority.unrevoked(row.idents), pk=row.pk, state=row.state)
    mine = BrowserCall.objects.filter(holds, deadline__gt=at)
    if mine.update(state=_State.SENT, taken=turn) == len(rows):
        return {row.pk for row in rows}
    return set(BrowserCall.objects.filter(taken=turn).values_list("pk", flat=True))


def _drop(idents: Sequence[str]) -> None:
    """These were asked by sessions that a new password has ended."""
    if idents:
        waiting = BrowserCall.objects.filter(pk__in=idents, state=_State.WAITING)
        waiting.update(state=_State.DROPPED, answer=authority.REVOKED, input="")


def _again(new: Sequence[Stream], at: datetime) -> list[_Row]:
    found: list[_Row] = []
    for some in _portions(new):
        pages = [stream.topic for stream in some]
        sent = BrowserCall.objects.filter(page_id__in=pages, state=_State.SENT, deadline__gt=at)
        found += starmap(_Row, sent.exclude(page__login="").values_list(*_COLUMNS))
    return found


def _frame(row: _Row) -> bytes:
    seconds = max(0.0, (row.deadline - now_datetime()).total_seconds())
    data = json.dumps({"call": row.pk, "action": row.action, "seconds": round(seconds, 1)})
    # The input as its exact text: a number must not change on its way.
    return Event(f'{data[:-1]}, "input": {row.input}}}', name="call").frame()


def _portions(all_of_them: Sequence[_T], size: int = _AT_ONCE) -> Iterator[Sequence[_T]]:
    """As many as fit well into one statement."""
    for start in range(0, len(all_of_them), size):
        yield all_of_them[start : start + size]


reader: Final = Reader(Calls())
calls.on_ask(reader.wake)
