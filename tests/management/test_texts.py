"""What a terminal may send as an argument: never a traceback, and no digits but 0 to 9."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command, load_command_class
from django.core.management.base import BaseCommand

import agentweb
from agentweb.access.models import Grant
from agentweb.management.commands._texts import TextCommand, whole
from tests.access.signing import AGENT

COMMANDS = sorted(
    path.stem for path in (Path(agentweb.__file__).parent / "management" / "commands").glob("[a-z]*.py")
)


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_checks_its_texts(name: str) -> None:
    command: BaseCommand = load_command_class("agentweb", name)
    assert isinstance(command, TextCommand)


@pytest.mark.django_db
@pytest.mark.parametrize("bad", ["caf\udce9", "a\0b"])
@pytest.mark.parametrize(
    ("command", "arguments"),
    [
        ("issue_grant", ["--agent-key", AGENT.public, "--scope", "cart:read", "--note", "?"]),
        ("issue_grant", ["--agent-key", AGENT.public, "--scope", "?"]),
        ("issue_grant", ["--agent-key", "?", "--scope", "cart:read"]),
        ("issue_grant", ["--agent-key", AGENT.public, "--scope", "cart:read", "--user", "?"]),
        ("revoke_grant", ["?"]),
        ("revoke_grant", [AGENT.public, "--reason", "?"]),
        ("agentweb_keys", ["retire", "?"]),
    ],
)
def test_what_is_no_text_is_a_command_error(command: str, arguments: list[str], bad: str) -> None:
    with pytest.raises(CommandError, match=r"Not in UTF-8, or with a NUL character: .*Type it anew"):
        call_command(command, *[bad if argument == "?" else argument for argument in arguments])
    assert not Grant.objects.exists()


def test_bytes_of_another_encoding_end_a_command_without_a_traceback() -> None:
    done = subprocess.run(
        [sys.executable.encode(), b"-m", b"django", b"revoke_grant", b"caf\xe9"],
        env=os.environ | {"DJANGO_SETTINGS_MODULE": "tests.settings", "PYTHONPATH": os.getcwd()},
        capture_output=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 1
    assert done.stderr.startswith(b"CommandError: Not in UTF-8")


@pytest.mark.parametrize(("text", "number"), [("0", 0), ("3600", 3600), ("-1", -1), ("007", 7)])
def test_ascii_digits_are_a_number(text: str, number: int) -> None:
    assert whole(text) == number


@pytest.mark.parametrize(
    "text",
    [
        "",
        " 1",
        "1 ",
        "+1",
        "1_000",
        "1e3",
        "1.0",
        "0x10",
        "٣٦٠٠",
        "３６００",
        "²",
        "1\n",
        "9" * 19,
        "9" * 5_000,
    ],
)
def test_everything_else_is_none(text: str) -> None:
    assert whole(text) is None


@pytest.mark.django_db
@pytest.mark.parametrize("option", ["--expires-in", "--delegate"])
@pytest.mark.parametrize("value", ["٣", "1_0", "many", ""])
def test_an_option_takes_no_other_digits(option: str, value: str) -> None:
    arguments: list[Any] = ["--agent-key", AGENT.public, "--scope", "cart:read", f"{option}={value}"]
    with pytest.raises(CommandError, match=f"{option}: .* is not a whole number"):
        call_command("issue_grant", *arguments)


def test_a_reader_that_has_read_enough_is_no_error() -> None:
    """As with ``| head``: the reading end is closed before anything is written."""
    command = subprocess.Popen(
        [sys.executable, "-m", "django", "agentweb_actions"],
        env={**os.environ, "DJANGO_SETTINGS_MODULE": "tests.settings"},
        cwd=Path(__file__).parents[2],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert command.stdout is not None
    command.stdout.close()
    assert command.stderr is not None
    with command.stderr as said:
        assert said.read() == ""
    assert command.wait(timeout=60) == 0
