"""Numbers in a query string: cursors and page sizes."""

from __future__ import annotations

import re
from typing import Final

from agentweb.http.views import AgentView
from agentweb.wire.errors import Code, RequestError

MAX_CURSOR: Final = 2**63 - 1

_WHOLE: Final = re.compile(r"0|[1-9][0-9]{0,18}")


def number(view: AgentView, name: str, code: Code, *, default: int, low: int, high: int) -> int:
    """One whole number of the query string; RequestError with this code for anything else."""
    given = [value for key, value in view.query_pairs if key == name]
    if not given:
        return default
    if len(given) == 1 and _WHOLE.fullmatch(given[0]) and low <= int(given[0]) <= high:
        return int(given[0])
    wanted = "the next_cursor of the page before" if code is Code.INVALID_CURSOR else f"from {low} to {high}"
    raise RequestError(code, f"{name} must be one whole number, {wanted}.", field=name)
