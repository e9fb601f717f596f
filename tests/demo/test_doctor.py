"""The doctor has nothing to say of the demo shop: while it is developed, and as others would see it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("debug", ["1", "0"])
def test_the_shop_is_sound(tmp_path: Path, debug: str) -> None:
    environment = {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "DJANGO_SETTINGS_MODULE": "demo_project.settings",
        "AGENTWEB_DEMO_DATABASE": str(tmp_path / "shop.sqlite3"),
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
            timeout=120,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    manage("migrate", "--verbosity", "0")
    manage("agentweb_keys", "create")
    manage("agentweb_content")
    told = json.loads(manage("agentweb_doctor", "--json", "--fail-level", "warning"))
    assert told["summary"]["ok"] > 30
