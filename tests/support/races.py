"""Races between real processes, each with its own connection, on SQLite (default options) and on PostgreSQL.

A racer is a function ``module:name`` that takes JSON arguments and returns JSON. ``race`` starts all processes,
waits until each is ready, lets them go at once, and returns what each answered; a racer that raises fails the
test with its traceback.
"""

from __future__ import annotations

import atexit
import functools
import importlib
import json
import os
import random
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
KINDS = ("sqlite", "postgres")


@dataclass(frozen=True)
class Database:
    kind: str
    name: str

    @property
    def env(self) -> dict[str, str]:
        return {
            "AGENTWEB_TEST_DB": self.kind,
            "AGENTWEB_TEST_DB_NAME": self.name,
            "DJANGO_SETTINGS_MODULE": "tests.settings",
            "PYTHONPATH": str(ROOT),
        }


def _postgres_admin() -> Any:
    import psycopg

    return psycopg.connect(
        host=os.environ.get("PGHOST", "127.0.0.1"),
        port=os.environ.get("PGPORT", "5432"),
        user=os.environ.get("PGUSER", "postgres"),
        password=os.environ.get("PGPASSWORD", ""),
        dbname="postgres",
        autocommit=True,
        connect_timeout=3,
    )


def require_postgres() -> None:
    """Skip where PostgreSQL is not running; fail where it must be (AGENTWEB_REQUIRE_SERVICES=1)."""
    import psycopg

    try:
        _postgres_admin().close()
    except psycopg.OperationalError as error:
        if os.environ.get("AGENTWEB_REQUIRE_SERVICES") == "1":
            raise
        pytest.skip(f"PostgreSQL does not answer on 127.0.0.1: {error}")


@functools.cache
def _template(kind: str) -> Database:
    """A migrated database to copy, made once for the test session and removed at its end."""
    if kind == "sqlite":
        directory = tempfile.TemporaryDirectory(prefix="agentweb-races-")
        atexit.register(directory.cleanup)
        template = Database(kind, str(Path(directory.name) / "template.sqlite3"))
    else:
        template = Database(kind, f"agentweb_template_{os.getpid()}_{secrets.token_hex(4)}")
        _create(template.name)
        atexit.register(_drop, template.name)
    run(template, "tests.support.races:migrate")
    return template


def _create(name: str, template: str | None = None) -> None:
    with _postgres_admin() as admin:
        admin.execute(f'CREATE DATABASE "{name}"' + (f' TEMPLATE "{template}"' if template else ""))


def _drop(name: str) -> None:
    with _postgres_admin() as admin:
        admin.execute(f'DROP DATABASE IF EXISTS "{name}" WITH (FORCE)')


@contextmanager
def fresh_database(kind: str, directory: Path) -> Iterator[Database]:
    """A migrated database of the test site, gone afterwards."""
    if kind == "sqlite":
        database = Database(kind, str(directory / f"race-{secrets.token_hex(4)}.sqlite3"))
        shutil.copyfile(_template(kind).name, database.name)
        yield database
        return
    require_postgres()
    database = Database(kind, f"agentweb_race_{secrets.token_hex(6)}")
    _create(database.name, _template(kind).name)
    try:
        yield database
    finally:
        _drop(database.name)


def migrate() -> None:
    from django.core.management import call_command

    call_command("migrate", verbosity=0, interactive=False, run_syncdb=True)


def race(
    database: Database,
    target: str,
    arguments: list[list[Any]],
    *,
    timeout: float = 120,
    env: dict[str, str] | None = None,
) -> list[Any]:
    """One process for each list of arguments, started together; their answers in order."""
    launcher = subprocess.Popen(
        [sys.executable, "-m", "tests.support.races", target],
        cwd=ROOT,
        env={**os.environ, **database.env, **(env or {})},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        out, err = launcher.communicate(json.dumps(arguments), timeout=timeout)
    finally:
        if launcher.poll() is None:
            os.killpg(launcher.pid, signal.SIGKILL)
            launcher.wait()
    if launcher.returncode != 0:
        raise AssertionError(f"{target} failed:\n{err}")
    answers: list[Any] = json.loads(out)
    return answers


def run(database: Database, target: str, *arguments: Any) -> Any:
    """One process alone."""
    [answer] = race(database, target, [list(arguments)])
    return answer


def _main() -> None:
    """Set Django up once, fork a process for each list of arguments, let all go at once, collect what they answer.

    No connection is open when the processes part, so each makes its own.
    """
    import django

    arguments = json.load(sys.stdin)
    django.setup()
    module, _, name = sys.argv[1].partition(":")
    function = getattr(importlib.import_module(module), name)
    gate, opener = os.pipe()
    with tempfile.TemporaryDirectory() as directory:
        racers = [
            _fork(function, given, (gate, opener), Path(directory) / str(number))
            for number, given in enumerate(arguments)
        ]
        os.close(opener)  # the gate opens: every racer reads the end of the file
        failed = [pid for pid in racers if os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) != 0]
        if failed:
            sys.exit(f"{len(failed)} of {len(racers)} processes failed")
        answers = [json.loads((Path(directory) / str(number)).read_text()) for number in range(len(racers))]
    print(json.dumps(answers))


def _fork(function: Any, given: list[Any], gate: tuple[int, int], answer: Path) -> int:
    pid = os.fork()
    if pid:
        return pid
    status = 1
    try:
        os.close(gate[1])
        os.read(gate[0], 1)
        random.seed()
        answer.write_text(json.dumps(function(*given)))
        status = 0
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(status)


if __name__ == "__main__":
    _main()
