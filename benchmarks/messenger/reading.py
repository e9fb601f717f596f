"""Polling and reading in one process, through the views, with a long log behind."""

from __future__ import annotations

import json
import time
from typing import Any, Final

from agentweb.aim import log
from agentweb.aim.cursors import event_cursor
from benchmarks.messenger import letters, population, posting
from benchmarks.messenger.letters import Writer
from benchmarks.messenger.posting import Work

CAUGHT_UP: Final = "caught-up poll"
FIRST_PAGE: Final = "100 events, oldest"
DEEP_PAGE: Final = "100 events, middle"
LAST_PAGE: Final = "100 events, newest"
INBOX: Final = "inbox, 50 newest"
INBOX_DEEP: Final = "inbox, 50 after 2,000"
CONVERSATION: Final = "conversation, 50 newest"

_PAGE: Final = 100
_INBOX_PAGE: Final = 50
_DEPTH: Final = 2_000
_READER: Final = Writer(0)


def contestants() -> dict[str, Any]:
    """Every kind of read of one agent, who has its share of the log."""
    ends = log.ends()
    # A page for one agent spans the events of all of them.
    newest = max(0, ends.last - _PAGE * 2 * population.FAVOURITE)
    places = {FIRST_PAGE: 0, DEEP_PAGE: ends.last // 2, LAST_PAGE: newest, CAUGHT_UP: ends.last}
    targets = {
        name: f"/v2/events?after={event_cursor(ends.epoch, place)}&limit={_PAGE}"
        for name, place in places.items()
    }
    targets[INBOX] = f"/v2/inbox?limit={_INBOX_PAGE}"
    targets[INBOX_DEEP] = f"/v2/inbox?limit={_INBOX_PAGE}&cursor={_deep_inbox()}"
    targets[CONVERSATION] = f"/v2/inbox?limit={_INBOX_PAGE}&with={_READER.contact(0).name}"
    return {name: _prepared(target) for name, target in targets.items()}


def statements(name: str) -> list[str]:
    [one] = contestants()[name](1)
    return posting.statements(one)


def catch_up(many: int) -> dict[str, Any]:
    """Read ``many`` events from the oldest on, page after page: seconds, and how many came."""
    cursor, seen, pages = None, 0, 0
    start = time.perf_counter()
    while seen < many:
        target = f"/v2/events?limit={_PAGE}" + ("" if cursor is None else f"&after={cursor}")
        page = _get(target)
        seen += len(page["events"])
        cursor, pages = page["cursor"], pages + 1
        if not page["has_more"]:
            break
    return {"events": seen, "pages": pages, "seconds": time.perf_counter() - start}


def _deep_inbox() -> str:
    cursor = ""
    for _ in range(_DEPTH // _INBOX_PAGE):
        found = _get(f"/v2/inbox?limit={_INBOX_PAGE}" + (f"&cursor={cursor}" if cursor else ""))
        if found["next_cursor"] is None:
            break
        cursor = found["next_cursor"]
    return cursor


def _get(target: str) -> Any:
    work = posting.viewed(letters.sign(_READER, "GET", target), 200)
    return json.loads(work())  # type: ignore[arg-type]


def _prepared(target: str) -> Any:
    def prepare(many: int) -> list[Work]:
        return [posting.viewed(one, 200) for one in letters.reads(many, target, _READER)]

    return prepare
