"""What the page that is open in a person's browser adds to the session manifest."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Final

from agentweb.aip.models import OpenPage
from agentweb.catalog.page_paths import canonical
from agentweb.wire.clock import now_datetime


@dataclass(frozen=True, slots=True)
class Live:
    """``state`` is what the page published, ``offers`` the names of the browser actions that it can do now."""

    is_connected: bool
    state: Mapping[str, Any] = field(default_factory=dict)
    offers: frozenset[str] = frozenset()


NOT_OPEN: Final = Live(is_connected=False)


def live(user_id: Any, path: str) -> Live:
    """The page at ``path`` as it is open in this person's browser, in the tab they used last. One query."""
    if user_id is None:
        return NOT_OPEN
    row = (
        OpenPage.objects.filter(user_id=user_id, page=canonical(path), connected_until__gt=now_datetime())
        .order_by("-active_at")
        .values_list("state", "offers")
        .first()
    )
    if row is None:
        return NOT_OPEN
    state, offers = row
    return Live(True, json.loads(state, parse_float=Decimal), frozenset(json.loads(offers)))


def paths_offering(action: str, user_id: Any) -> list[str]:
    """Paths of the pages in this person's browser that can do this browser action now; the one used last first."""
    if user_id is None:
        return []
    rows = OpenPage.objects.filter(user_id=user_id, connected_until__gt=now_datetime())
    listed = rows.order_by("-active_at").values_list("page", "offers")
    return [path for path, offers in listed if action in json.loads(offers)]
