"""How many examples a property is tried with: few in every run, many with AGENTWEB_LONG=1."""

from __future__ import annotations

import os

_FACTOR = 20


def examples(count: int) -> int:
    return count * _FACTOR if os.environ.get("AGENTWEB_LONG") == "1" else count
