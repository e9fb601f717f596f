"""The demo shop keeps the whole of AWP 1.0: every line of the checklist, as its command measures it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.requirement(
    "AWP-7.1", "AWP-7.2", "AWP-7.3", "AWP-7.4", "AWP-7.5", "AWP-7.6", "AWP-7.7", "AWP-7.8", "AWP-7.9"
)
@pytest.mark.requirement("AWP-7.10", "AWP-7.11", "AWP-7.12", "AWP-7.13", "AWP-7.14")
def test_the_shop_passes_every_line_of_the_checklist(tmp_path: Path) -> None:
    environment = {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "DJANGO_SETTINGS_MODULE": "demo_project.settings",
        "AGENTWEB_DEMO_DATABASE": str(tmp_path / "shop.sqlite3"),
        "AGENTWEB_DEMO_ORIGIN": "http://127.0.0.1:8000",
        "AGENTWEB_DEMO_SECRET_KEY": "only-for-this-test-only-for-this-test-only-for-this-test",
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
    told = json.loads(manage("awp_analyze", "--format", "json", "--fail-level", "warning"))
    assert {item["id"]: item["problems"] for item in told["items"] if item["problems"]} == {}
    assert (told["score"], told["compliant"]) == (100, True)
    assert told["required"] == {"met": 6, "of": 6}
    assert told["recommended"] == {"met": 8, "of": 8}
    assert all(row["texts"] and not row["over"] for row in told["budgets"])
    assert json.loads(manage("awp_validate", "--json", "--fail-level", "warning"))["problems"] == []
