"""Work in a process of its own that is ended when it takes more of the processor than anything in linear time would.

No clock is looked at: a busy machine changes nothing. The bound is many times what the work takes, and what is not
linear takes many times the bound.
"""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
from typing import Final

from tests.support.races import ROOT

SECONDS: Final = 20
"""Of the processor; the work of a test takes less than one."""


def run_bounded(code: str, *, seconds: int = SECONDS) -> str:
    """What the code, which may import agentweb, prints. The test fails when it takes too long, with what it printed."""

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1))

    done = subprocess.run(
        [sys.executable, "-c", code],
        preexec_fn=limit,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT), "DJANGO_SETTINGS_MODULE": "tests.settings"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode not in {-signal.SIGXCPU, -signal.SIGKILL}, f"too long, after: {done.stdout[-500:]}"
    assert done.returncode == 0, done.stderr[-2_000:]
    return done.stdout
