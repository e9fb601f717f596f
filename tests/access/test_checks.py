"""Each check of this floor speaks when it should and is silent when not."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.core.checks import run_checks
from django.db import connection, connections
from django.test.utils import _TestState

from agentweb.access import checks, site_keys
from agentweb.access.models import SiteKey

ASKED = ["default"]
IMMEDIATE = {
    "transaction_mode": "IMMEDIATE",
    "init_command": "PRAGMA journal_mode=WAL;PRAGMA synchronous=FULL;",
}


def ids(found: list[Any]) -> list[str]:
    assert all(message.hint for message in found)
    return [message.id for message in found]


@pytest.fixture
def sqlite_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Puts a SQLite file with given options in the place of the default database."""
    opened = []

    def use(**options: Any) -> None:
        parameters = {
            **connections["default"].settings_dict,
            "ENGINE": "django.db.backends.sqlite3",
            "NAME": str(tmp_path / "site.sqlite3"),
            "OPTIONS": options,
        }
        wrapper = connections.create_connection("default") if connection.vendor == "sqlite" else None
        if wrapper is None:
            from django.db.backends.sqlite3.base import DatabaseWrapper

            wrapper = DatabaseWrapper(parameters, "default")
        wrapper.settings_dict = parameters
        wrapper.inc_thread_sharing()
        opened.append(wrapper)
        monkeypatch.setattr(checks, "connections", {"default": wrapper})

    yield use
    for wrapper in opened:
        wrapper.close()


def test_w030_sqlite_without_immediate_transactions(sqlite_file: Any) -> None:
    sqlite_file()
    assert ids(checks.check_transaction_mode()) == ["agentweb.W030"]
    sqlite_file(transaction_mode="DEFERRED")
    assert ids(checks.check_transaction_mode()) == ["agentweb.W030"]
    for mode in ("IMMEDIATE", "immediate", "EXCLUSIVE"):
        sqlite_file(transaction_mode=mode)
        assert checks.check_transaction_mode() == []


@pytest.mark.django_db
def test_w031_and_w032_sqlite_without_wal_or_full_synchronous(sqlite_file: Any) -> None:
    sqlite_file()
    assert ids(checks.check_durability(ASKED)) == ["agentweb.W031"]
    sqlite_file(init_command="PRAGMA journal_mode=WAL;PRAGMA synchronous=NORMAL;")
    assert ids(checks.check_durability(ASKED)) == ["agentweb.W032"]
    sqlite_file(**IMMEDIATE)
    assert checks.check_durability(ASKED) == []


@pytest.mark.django_db
def test_other_databases_and_unasked_ones_are_left_alone(sqlite_file: Any) -> None:
    sqlite_file()
    for databases in (None, ["replica"]):
        assert checks.check_durability(databases=databases) == []
        assert checks.check_site_key(databases=databases) == []
    assert ids(checks.check_durability(databases=["default"])) == ["agentweb.W031"]


@pytest.fixture
def no_test_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """This process as one in which no test runner has set up its environment."""
    monkeypatch.delattr(_TestState, "saved_data")


@pytest.mark.django_db
def test_w033_is_silent_while_tests_run() -> None:
    assert not SiteKey.objects.exists()
    assert checks.check_site_key(ASKED) == []


@pytest.mark.parametrize("command", ["test", "check"])
def test_w033_speaks_to_a_site_and_not_to_its_tests(tmp_path: Path, command: str) -> None:
    (tmp_path / "conf.py").write_text(
        "SECRET_KEY = 'only-for-tests-0123456789-0123456789-0123456789'\n"
        "INSTALLED_APPS = ['django.contrib.contenttypes', 'django.contrib.auth', 'agentweb']\n"
        "DATABASES = {'default': {'ENGINE': 'django.db.backends.sqlite3', 'NAME': 'site.sqlite3'}}\n"
        "ROOT_URLCONF = 'agentweb.urls'\n"
        "AGENTWEB = {'ORIGIN': 'https://shop.example'}\n"
    )
    (tmp_path / "test_one.py").write_text(
        "from django.test import TestCase\nclass One(TestCase):\n    def test_one(self):\n        pass\n"
    )
    root = Path(__file__).parents[2]
    environment = os.environ | {
        "DJANGO_SETTINGS_MODULE": "conf",
        "PYTHONPATH": f"{root}{os.pathsep}{tmp_path}",
    }

    def manage(*arguments: str) -> str:
        done = subprocess.run(
            [sys.executable, "-m", "django", *arguments],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stderr

    if command == "test":
        said = manage("test")
        assert "Ran 1 test" in said
        assert "W033" not in said
    else:
        manage("migrate", "--verbosity=0", "--skip-checks")
        assert "W033" in manage("check", "--database", "default")


@pytest.mark.django_db
@pytest.mark.usefixtures("no_test_run")
def test_w033_no_site_key_outside_debug(settings: Any) -> None:
    assert ids(checks.check_site_key(databases=["default"])) == ["agentweb.W033"]
    settings.DEBUG = True
    assert checks.check_site_key(ASKED) == []
    settings.DEBUG = False
    site_keys.create()
    assert checks.check_site_key(ASKED) == []
    site_keys.retire(SiteKey.objects.get().kid)
    assert ids(checks.check_site_key(ASKED)) == ["agentweb.W033"]


@pytest.mark.django_db
def test_w034_a_key_that_secret_key_does_not_open(settings: Any) -> None:
    row = site_keys.create()
    former = settings.SECRET_KEY
    settings.SECRET_KEY = "another-secret-key-another-secret-key-another"
    [message] = checks.check_site_key(ASKED)
    assert message.id == "agentweb.W034"
    assert row.kid in message.msg
    settings.SECRET_KEY_FALLBACKS = [former]
    assert checks.check_site_key(ASKED) == []


@pytest.mark.django_db
@pytest.mark.usefixtures("no_test_run")
def test_the_checks_are_registered_and_those_that_ask_the_database_only_run_when_asked() -> None:
    mine = {f"agentweb.W03{n}" for n in range(5)}
    plain = {message.id for message in run_checks()} & mine
    asked = {message.id for message in run_checks(databases=["default"], tags=["database"])} & mine
    assert plain <= {"agentweb.W030"}
    assert "agentweb.W033" in asked
    assert "agentweb.W033" in {message.id for message in run_checks(tags=["agentweb"], databases=ASKED)}


@pytest.mark.django_db(transaction=True)
def test_a_database_that_is_not_migrated_is_no_fault_of_the_keys() -> None:
    with connection.cursor() as cursor:
        cursor.execute("ALTER TABLE agentweb_sitekey RENAME TO agentweb_sitekey_away")
    try:
        assert checks.check_site_key(ASKED) == []
    finally:
        with connection.cursor() as cursor:
            cursor.execute("ALTER TABLE agentweb_sitekey_away RENAME TO agentweb_sitekey")


def test_every_id_stands_in_the_reference() -> None:
    page = (Path(__file__).parents[2] / "docs" / "reference" / "checks.md").read_text()
    for number in range(30, 35):
        assert f"`agentweb.W0{number}`" in page
