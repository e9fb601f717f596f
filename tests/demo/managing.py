"""A shop in a database of its own, and its commands as processes."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def new_shop(directory: Path, *, debug: str = "1") -> Callable[..., str]:
    """A shop that is ready and whose content was read. The answer runs a command in it and gives what that printed."""
    environment = {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "DJANGO_SETTINGS_MODULE": "demo_project.settings",
        "AGENTWEB_DEMO_DATABASE": str(directory / "shop.sqlite3"),
        "AGENTWEB_DEMO_ORIGIN": "http://127.0.0.1:8000",
        "AGENTWEB_DEMO_SECRET_KEY": "only-for-this-test-only-for-this-test-only-for-this-test",
        "AGENTWEB_DEMO_DEBUG": debug,
    }

    def manage(*arguments: str) -> str:
        done = subprocess.run(
            [sys.executable, "-m", "django", *arguments],
            env=environment,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    manage("migrate", "--verbosity", "0")
    manage("agentweb_keys", "create")
    manage("agentweb_content")
    return manage
