"""A clock that runs fast, the same for everybody: leases and abandoned payments end while a run still goes on."""

from __future__ import annotations

import os
import time
from contextlib import ExitStack
from typing import Final

from agentweb.wire import clock

VARIABLE: Final = "AGENTWEB_CRASH_BEGAN"
TIMES: Final = 10
"""How many of its seconds are one of ours."""
_for_ever: Final = ExitStack()


def begin() -> None:
    """Let this process read the time of day so from now on. The environment says when the run began."""
    began = float(os.environ[VARIABLE])
    _for_ever.enter_context(clock.clock(lambda: began + (time.time() - began) * TIMES))
