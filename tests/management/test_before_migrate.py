"""The commands on a database without tables: one sentence about what to do, never a traceback."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.access.signing import AGENT

ROOT = Path(__file__).resolve().parents[2]
GRANT = ["issue_grant", "--agent-key", AGENT.public, "--scope", "notes:write"]


def manage(database: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if name != "AGENTWEB_TEST_DB"}
    return subprocess.run(
        [sys.executable, "-m", "django", *arguments],
        cwd=ROOT,
        env=environment
        | {"DJANGO_SETTINGS_MODULE": "tests.settings", "AGENTWEB_TEST_DB_NAME": str(database)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


@pytest.mark.parametrize(
    "command",
    [
        GRANT,
        [*GRANT, "--user", "ann"],
        ["agentweb_keys"],
        ["agentweb_keys", "create"],
        ["agentweb_keys", "rotate"],
        ["agentweb_keys", "retire", "kid"],
        ["agentweb_keys", "reseal"],
        ["revoke_grant", "gr_" + "A" * 22],
        ["revoke_grant", AGENT.public],
        ["clear_expired"],
        ["export_manifests", "--out", "never-made"],
        ["awp_analyze"],
    ],
    ids=" ".join,
)
def test_every_command_asks_for_migrate(tmp_path: Path, command: list[str]) -> None:
    done = manage(tmp_path / "empty.sqlite3", *command)
    assert done.returncode == 1
    assert done.stdout == ""
    assert "run `manage.py migrate` first" in done.stderr
    assert "Traceback" not in done.stderr


def test_the_doctor_names_it_as_its_one_error(tmp_path: Path) -> None:
    done = manage(tmp_path / "empty.sqlite3", "agentweb_doctor")
    assert done.returncode == 1
    [error] = [line for line in done.stdout.splitlines() if line.startswith("error")]
    assert error.startswith("error    D021  ")
    assert error.endswith("Run `manage.py migrate`.")
    assert "Traceback" not in done.stderr


def test_another_failure_of_the_database_stays_what_it_is(tmp_path: Path) -> None:
    database = tmp_path / "no database.sqlite3"
    database.write_bytes(b"not a database at all" * 100)
    done = manage(database, "agentweb_keys")
    assert done.returncode == 1
    assert "migrate" not in done.stderr.splitlines()[-1]
    assert "not a database" in done.stderr
