"""Races between real processes, each with its own connection, on SQLite (default options) and on PostgreSQL.

A racer is a function ``module:name`` that takes JSON arguments and returns JSON. ``race`` starts all processes,
waits until each is ready, lets them go at once, and returns what each answered; a racer that raises fails the
test with its traceback.
"""

from __future__ import annotations

import importlib
import json
import os
import secrets
import subprocess
import sys
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


@contextmanager
def fresh_database(kind: str, directory: Path) -> Iterator[Database]:
    """A migrated database of the test site, gone afterwards."""
    if kind == "sqlite":
        database = Database(kind, str(directory / f"race-{secrets.token_hex(4)}.sqlite3"))
        run(database, "tests.support.races:migrate")
        yield database
        return
    require_postgres()
    name = f"agentweb_race_{secrets.token_hex(6)}"
    with _postgres_admin() as admin:
        admin.execute(f'CREATE DATABASE "{name}"')
    database = Database(kind, name)
    try:
        run(database, "tests.support.races:migrate")
        yield database
    finally:
        with _postgres_admin() as admin:
            admin.execute(f'DROP DATABASE IF EXISTS "{name}" WITH (FORCE)')


def migrate() -> None:
    from django.core.management import call_command

    call_command("migrate", verbosity=0, interactive=False, run_syncdb=True)


def _start(
    database: Database, target: str, arguments: list[Any], env: dict[str, str]
) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "tests.support.races", target, json.dumps(arguments)],
        cwd=ROOT,
        env={**os.environ, **database.env, **env},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def race(
    database: Database,
    target: str,
    arguments: list[list[Any]],
    *,
    timeout: float = 120,
    env: dict[str, str] | None = None,
) -> list[Any]:
    """One process for each list of arguments, started together; their answers in order."""
    racers = [_start(database, target, given, env or {}) for given in arguments]
    try:
        for racer in racers:
            assert racer.stdout is not None
            if racer.stdout.readline() != "ready\n":
                raise AssertionError(f"{target} did not start:\n{racer.communicate()[1]}")
        for racer in racers:
            assert racer.stdin is not None
            racer.stdin.write("go\n")
            racer.stdin.flush()
        answers = []
        for racer in racers:
            out, err = racer.communicate(timeout=timeout)
            if racer.returncode != 0:
                raise AssertionError(f"{target} failed:\n{err}")
            answers.append(json.loads(out))
        return answers
    finally:
        for racer in racers:
            if racer.poll() is None:
                racer.kill()
                racer.wait()


def run(database: Database, target: str, *arguments: Any) -> Any:
    """One process alone."""
    [answer] = race(database, target, [list(arguments)])
    return answer


def _main() -> None:
    import django

    target, arguments = sys.argv[1], json.loads(sys.argv[2])
    django.setup()
    module, _, name = target.partition(":")
    function = getattr(importlib.import_module(module), name)
    print("ready", flush=True)
    sys.stdin.readline()
    print(json.dumps(function(*arguments)), flush=True)


if __name__ == "__main__":
    _main()
