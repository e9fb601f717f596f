"""``manage.py awp_validate``: a file, standard input, a URL or this site's own manifest."""

from __future__ import annotations

import io
import json
import re
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from tests.awp.compliance.conftest import served, sound  # noqa: F401
from tests.awp.compliance.sites import WELL_KNOWN, SoundSite, manifest

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("sound")]

BROKEN = """{
  "version": "1.0",
  "name": "Shop",
  "description": "Tea",
\t"capabilities": ["content"],
  "endpoints": {"manifest": "/awp/manifest.json"}
}"""


def validate(*options: str, fails: str = "", code: int = 1) -> str:
    out = io.StringIO()
    if fails:
        with pytest.raises(CommandError, match=fails) as failed:
            call_command("awp_validate", *options, stdout=out)
        assert failed.value.returncode == code
    else:
        call_command("awp_validate", *options, stdout=out)
    return out.getvalue()


def written(tmp_path: Path, text: str | bytes) -> str:
    path = tmp_path / "manifest.json"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return str(path)


def test_a_site_that_has_the_room_off_is_told_so_and_files_are_validated_all_the_same(
    settings: Any, tmp_path: Path
) -> None:
    settings.AGENTWEB = {**settings.AGENTWEB, "ROOMS": ["aip", "agent_actions"]}
    assert validate(fails="AWP is off on this site: .* does not name 'awp'", code=2) == ""
    file = tmp_path / "manifest.json"
    file.write_text(BROKEN, encoding="utf-8")
    validate(str(file), fails="3 error|2 error|1 error")


def test_a_valid_file_is_told_as_that(tmp_path: Path) -> None:
    name = written(tmp_path, json.dumps(manifest()))
    assert validate(name) == f"{name} is a valid discovery manifest of AWP 1.0: 0 error, 0 warning, 0 note.\n"


def test_a_problem_has_its_place_the_line_a_mark_and_the_fix(tmp_path: Path) -> None:
    name = written(tmp_path, BROKEN)
    told = validate(name, fails=f"^{re.escape(name)}: 1 error, 0 warning, 4 note.$")
    assert (
        f"{name}:4:18: error: 'description' must have at least 10 characters; it has 3.\n"
        '      "description": "Tea",\n'
        "                     ^\n"
        "    Fix: Say in one or two sentences what the site is and what agents can do here.\n"
    ) in told
    assert f"{name}:6:16: note: 'endpoints.content' is not given" in told


def test_a_tab_does_not_move_the_mark_and_a_long_line_is_cut(tmp_path: Path) -> None:
    line = '{"a": "' + "x" * 300 + '",\t"version": 1, "z": "' + "y" * 300 + '"}'
    told = validate(written(tmp_path, line), fails="error").splitlines()
    at = next(number for number, each in enumerate(told) if "'version' must be" in each)
    shown, mark = told[at + 1], told[at + 2]
    assert shown[mark.index("^")] == "1"
    assert len(shown) < 180
    assert shown.strip().startswith("…")
    assert shown.endswith("…")


def test_json_holds_every_problem(tmp_path: Path) -> None:
    told = json.loads(validate(written(tmp_path, BROKEN), "--json", fails="1 error"))
    assert told["valid"] is False
    assert told["summary"] == {"error": 1, "warning": 0, "note": 4}
    error = next(each for each in told["problems"] if each["severity"] == "error")
    assert error == {
        "severity": "error",
        "code": "minLength",
        "message": "'description' must have at least 10 characters; it has 3.",
        "fix": "Say in one or two sentences what the site is and what agents can do here.",
        "pointer": "/description",
        "line": 4,
        "column": 18,
    }


@pytest.mark.parametrize(("level", "fails"), [("error", ""), ("warning", "1 warning"), ("never", "")])
def test_the_level_says_from_where_on_it_fails(tmp_path: Path, level: str, fails: str) -> None:
    name = written(tmp_path, json.dumps({**manifest(), "description": "tea " * 250}))
    validate(name, "--fail-level", level, fails=fails)


def test_standard_input_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(b'{"version": "1.0",}')))
    told = validate("-", fails="<stdin>: 1 error")
    assert "<stdin>:1:1" in told
    assert "Fix: Remove the comma" in told


def test_without_an_argument_it_is_this_site_s_own(sound: SoundSite) -> None:  # noqa: F811
    assert validate().startswith(f"{WELL_KNOWN} is a valid discovery manifest")
    sound.edit(WELL_KNOWN, version="2.0")
    validate(fails=f"{WELL_KNOWN}: 1 error")
    sound.bodies.pop(WELL_KNOWN)
    validate(fails="This site has no manifest: .* answers 404", code=2)


def test_a_url_of_a_site_or_of_a_manifest_is_fetched(served: str, sound: SoundSite) -> None:  # noqa: F811
    assert "is a valid discovery manifest" in validate(served)
    assert "is a valid discovery manifest" in validate(f"{served}/")
    sound.put("/other.json", "[]")
    assert f"{served}/other.json:1:1: error: The manifest must be an object." in validate(
        f"{served}/other.json", fails="1 error"
    )
    validate(f"{served}/nothing.json", fails="answers 404", code=2)


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("nothing-here.json", "nothing-here.json cannot be read: No such file"),
        (".", "cannot be read: Is a directory"),
        (
            "https://10.0.0.1/",
            "not public; it is not called. For a site on this machine .* add --allow-private",
        ),
        ("http://shop.example/", "https"),
        ("gopher://shop.example/", "cannot be called"),
        ("https://[", "Invalid IPv6"),
    ],
    ids=["no-file", "folder", "private", "without-tls", "gopher", "no-url"],
)
def test_what_cannot_be_read_is_another_failure(source: str, said: str) -> None:
    validate(source, fails=said, code=2)


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "The document is empty"),
        (b"\xff", "not UTF-8"),
        (b"[" * 100_000, "nests deeper"),
        (b" " * 1_048_577, "at most 1048576 are read"),
        (b'{"a": "\\u202e\\u001b[2J", "a\\u202e": 1, "a\\u202e": 2}', "[U+202E]"),
    ],
    ids=["empty", "bytes", "deep", "large", "odd"],
)
def test_any_file_is_told_and_nothing_of_it_turns_the_terminal_around(
    tmp_path: Path, data: bytes, said: str
) -> None:
    told: Any = validate(written(tmp_path, data), fails="error")
    assert said in told
    assert "\u202e" not in told
    assert "\x1b" not in told
