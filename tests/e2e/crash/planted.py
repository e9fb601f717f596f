"""Bugs that the harness has to catch. They live here only, and patch the process of a server that was told to."""

from __future__ import annotations

import os
from typing import Final

VARIABLE: Final = "AGENTWEB_CRASH_PLANTED"


def plant() -> None:
    """Put the bug named by the environment into this process."""
    name = os.environ.get(VARIABLE)
    if name:
        raise SystemExit(f"no such bug: {name}")


def prepare() -> None:
    """Take away from the database what would stop the bug: a constraint that the bug's author forgot."""
