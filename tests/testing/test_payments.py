"""The test provider: whose books are whose, and what a test may tell it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from django.db import connection

from agentweb.ledger.providers import State
from agentweb.testing.payments import ENVIRONMENT, TestProvider
from tests.support.charges import charge_order


@pytest.fixture
def provider(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> TestProvider:
    made = TestProvider(tmp_path / "books.sqlite3")
    monkeypatch.setattr(made, "hang", lambda: None)
    return made


@pytest.mark.parametrize("item", ["timeout", "late"])
@pytest.mark.parametrize("state", ["captured", "declined"])
def test_what_hung_or_is_pending_comes_out_as_it_is_settled(
    provider: TestProvider, item: str, state: str
) -> None:
    provider.charge(charge_order(item=item))
    assert provider.taken() == 0
    provider.settle("rc_1", state)
    assert (provider.find("rc_1").state, provider.charge(charge_order(item=item)).state) == (
        State(state),
        State(state),
    )
    assert provider.taken() == (1_000 if state == "captured" else 0)


def test_a_charge_that_hung_is_not_there_until_it_is_settled_and_may_be_cancelled(
    provider: TestProvider,
) -> None:
    assert provider.charge(charge_order(item="timeout")).state is State.UNKNOWN
    assert (provider.find("rc_1").state, provider.charges()) == (State.ABSENT, [])
    assert provider.cancel("rc_1").state is State.DECLINED
    with pytest.raises(ValueError, match="rc_1 is declined already"):
        provider.settle("rc_1")
    assert provider.taken() == 0


@pytest.mark.parametrize(
    ("ident", "state", "words"),
    [
        ("rc_9", "captured", "have no charge 'rc_9'"),
        ("rc_1", "declined", "rc_1 is captured already"),
        ("rc_1", "refunded", "captured or declined"),
    ],
    ids=["unknown", "over", "state"],
)
def test_what_cannot_be_settled_is_said(provider: TestProvider, ident: str, state: str, words: str) -> None:
    provider.charge(charge_order(item="tea"))
    with pytest.raises(ValueError, match=words):
        provider.settle(ident, state)
    provider.settle("rc_1")  # which it is already


def test_each_project_and_database_has_books_of_its_own(
    settings: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv(ENVIRONMENT, raising=False)
    settings.BASE_DIR = tmp_path / "one"
    provider = TestProvider()
    first = provider.path
    assert TestProvider().path == first
    settings.BASE_DIR = tmp_path / "two"
    assert provider.path != first
    settings.BASE_DIR = tmp_path / "one"
    monkeypatch.setitem(connection.settings_dict, "NAME", "another")
    assert provider.path != first
    monkeypatch.setenv(ENVIRONMENT, str(tmp_path / "named"))
    assert provider.path == tmp_path / "named"


@pytest.mark.parametrize("name", ["agentweb.testing", "agentweb.testing.payments"])
def test_outside_of_django_the_import_says_what_to_do(name: str) -> None:
    environment = {name: value for name, value in os.environ.items() if name != "DJANGO_SETTINGS_MODULE"}
    ended = subprocess.run(
        [sys.executable, "-c", f"import {name}"], capture_output=True, text=True, env=environment, check=False
    )
    assert ended.returncode == 1
    assert ended.stderr.splitlines()[-1].startswith(
        "django.core.exceptions.ImproperlyConfigured: agentweb.testing"
    )
    assert "django.setup()" in ended.stderr
