"""How many examples a property is tried with: few in every run, many with AGENTWEB_LONG=1, and the fewest with
AGENTWEB_BRIEF=1, where another run has tried them already."""

from __future__ import annotations

import os

_FACTOR = 20
_BRIEF = 4


def examples(count: int) -> int:
    if os.environ.get("AGENTWEB_LONG") == "1":
        return count * _FACTOR
    return max(1, count // _BRIEF) if os.environ.get("AGENTWEB_BRIEF") == "1" else count
