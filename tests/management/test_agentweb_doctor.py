"""``manage.py agentweb_doctor``: its lines, its JSON, and when it fails."""

from __future__ import annotations

import io
import json
import re
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.urls import get_script_prefix

from agentweb import action
from tests.doctor.conftest import site  # noqa: F401

pytestmark = pytest.mark.usefixtures("site")

LINE = re.compile(r"(ok|warning|error) +D[0-9]{3}  \S.*")


def doctor(*options: str, fails: str = "") -> str:
    out = io.StringIO()
    if fails:
        with pytest.raises(CommandError, match=fails):
            call_command("agentweb_doctor", *options, stdout=out)
    else:
        call_command("agentweb_doctor", *options, stdout=out)
    return out.getvalue()


def break_something() -> None:
    """One warning (no scope) and one error (a read that crashes)."""

    @action(effect="write", description="No scope.", input=None)
    def free(_inp: Any, ctx: Any) -> Any:
        return {}

    @action(description="Crash.", input=None)
    def broken(_inp: Any, ctx: Any) -> Any:
        raise LookupError("no\nsuch \x1b[2Jtable")


def test_a_sound_site_is_all_ok() -> None:
    *lines, last = doctor().splitlines()
    assert all(LINE.fullmatch(line) and line.startswith("ok ") for line in lines)
    assert last == f"{len(lines)} ok, 0 warning, 0 error."


def test_a_finding_is_one_line_with_what_to_do() -> None:
    break_something()
    lines = doctor(fails=r"1 warning, 1 error\.").splitlines()
    assert all(LINE.fullmatch(line) for line in lines)
    [warning] = [line for line in lines if line.startswith("warning")]
    assert warning.startswith("warning  D011  agentweb.W010: ")
    [error] = [line for line in lines if line.startswith("error")]
    assert error.startswith("error    D102  broken, called with its example, answers 500: ")
    assert error.endswith(
        "LookupError: no such [U+001B][2Jtable  Correct " + __name__ + ".break_something.<locals>.broken."
    )


@pytest.mark.parametrize(("level", "fails"), [("error", True), ("warning", True), ("never", False)])
def test_the_level_decides_whether_an_error_fails(level: str, fails: bool) -> None:
    break_something()
    doctor("--fail-level", level, fails="1 error" if fails else "")


@pytest.mark.parametrize(("level", "fails"), [("error", False), ("warning", True), ("never", False)])
def test_the_level_decides_whether_a_warning_fails(level: str, fails: bool) -> None:
    action("free", effect="write", description="No scope.", input=None)(lambda _, ctx: None)
    doctor("--fail-level", level, fails="1 warning" if fails else "")


def test_json_is_one_object_also_when_it_fails() -> None:
    break_something()
    told = json.loads(doctor("--json", fails="1 error"))
    assert set(told) == {"findings", "summary"}
    assert (told["summary"]["warning"], told["summary"]["error"]) == (1, 1)
    assert sum(told["summary"].values()) == len(told["findings"])
    assert all(set(each) == {"level", "id", "text", "fix"} for each in told["findings"])
    assert [each["id"] for each in told["findings"] if each["level"] == "error"] == ["D102"]


def test_a_site_that_its_server_mounts_under_a_path_is_sound_too() -> None:
    assert ", 0 warning, 0 error." in doctor("--script-name", "/shop")
    assert get_script_prefix() == "/"


def test_a_terminal_gets_colours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DJANGO_COLORS", "dark")
    out = io.StringIO()
    call_command("agentweb_doctor", stdout=out, force_color=True)
    assert "\x1b[" in out.getvalue()
    assert "\x1b[" not in doctor()
