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
import queue
import random
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

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
    """One process for each list of arguments, started together; their answers in order.

    ``env`` is of the environment in which Django is set up.
    """
    starter = _starter(database.kind, tuple(sorted((env or {}).items())))
    return starter.race({**os.environ, **database.env, **(env or {})}, target, arguments, timeout)


class _Starter:
    """A process that has set Django up and opened nothing, from which racers are forked: that is done once, not for
    every race."""

    def __init__(self, env: dict[str, str]) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.support.races"],
            cwd=ROOT,
            env=env,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        self._answers: queue.Queue[str] = queue.Queue()
        threading.Thread(target=self._listen, daemon=True).start()

    def race(self, env: dict[str, str], target: str, arguments: list[list[Any]], timeout: float) -> list[Any]:
        assert self._process.stdin is not None
        with tempfile.TemporaryDirectory(prefix="agentweb-race-") as directory:
            order = {"env": env, "target": target, "arguments": arguments, "directory": directory}
            self._process.stdin.write(json.dumps(order) + "\n")
            self._process.stdin.flush()
            launcher = int(self._answer(60))
            try:
                status = int(self._answer(timeout))
            except queue.Empty:
                os.killpg(launcher, signal.SIGKILL)
                self._answer(60)
                raise AssertionError(f"{target} took more than {timeout} seconds") from None
            told = Path(directory)
            if status != 0:
                raise AssertionError(f"{target} failed:\n{(told / 'stderr').read_text()}")
            return [json.loads((told / str(number)).read_text()) for number in range(len(arguments))]

    def end(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(10)

    def _listen(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._answers.put(line)

    def _answer(self, seconds: float) -> str:
        return self._answers.get(timeout=seconds)


@functools.cache
def _starter(kind: str, env: tuple[tuple[str, str], ...]) -> _Starter:
    # The name is another one for each race; a starter opens no database.
    starter = _Starter({**os.environ, **Database(kind, "agentweb_none").env, **dict(env)})
    atexit.register(starter.end)
    return starter


def run(database: Database, target: str, *arguments: Any, timeout: float = 120) -> Any:
    """One process alone."""
    [answer] = race(database, target, [list(arguments)], timeout=timeout)
    return answer


def _main() -> None:
    """Set Django up once, and for each order on standard input fork a launcher: its pid and its exit status are
    answered, a line each."""
    import django

    django.setup()
    for line in sys.stdin:
        order = json.loads(line)
        launcher = os.fork()
        if not launcher:
            _launch(**order)
        print(launcher, flush=True)
        print(os.waitstatus_to_exitcode(os.waitpid(launcher, 0)[1]), flush=True)


def _launch(env: dict[str, str], target: str, arguments: list[list[Any]], directory: str) -> NoReturn:
    """Fork a process for each list of arguments, let all go at once, leave what they answer in the directory.

    No connection is open when the processes part, so each makes its own.
    """
    from django.conf import settings
    from django.db import connections

    status = 1
    with suppress(ProcessLookupError):
        os.setsid()
    os.environ.clear()
    os.environ.update(env)
    _redirect(Path(directory) / "stderr")
    try:
        for databases in (settings.DATABASES, connections.settings):
            databases["default"]["NAME"] = env["AGENTWEB_TEST_DB_NAME"]
        module, _, name = target.partition(":")
        function = getattr(importlib.import_module(module), name)
        gate, opener = os.pipe()
        racers = [
            _fork(function, given, (gate, opener), Path(directory) / str(number))
            for number, given in enumerate(arguments)
        ]
        os.close(opener)  # the gate opens: every racer reads the end of the file
        status = sum(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) != 0 for pid in racers)
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(min(status, 1))


def _redirect(stderr: Path) -> None:
    """What a racer prints goes to its errors; standard output and input are the starter's."""
    with stderr.open("w") as told, open(os.devnull) as nothing:
        os.dup2(told.fileno(), 2)
        os.dup2(told.fileno(), 1)
        os.dup2(nothing.fileno(), 0)


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
