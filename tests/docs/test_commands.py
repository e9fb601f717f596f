"""docs/reference/commands.md and doctor.md list every command with its options, and every finding with its level."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import pytest
from django.core.management import load_command_class
from django.core.management.base import BaseCommand

import agentweb
from agentweb import rooms
from agentweb.doctor.calling import REACHED
from agentweb.doctor.examination import RUNS
from agentweb.doctor.probes import all_probes
from tests.docs.pages import DOCS, blocks

COMMANDS = (DOCS / "reference" / "commands.md").read_text(encoding="utf-8")
DOCTOR = (DOCS / "reference" / "doctor.md").read_text(encoding="utf-8")
NAMES = sorted(
    path.stem for path in (Path(agentweb.__file__).parent / "management" / "commands").glob("[a-z]*.py")
)


def options(name: str) -> list[str]:
    """What the command takes beside Django's own options: long forms, and names of positional arguments."""
    own = {action.dest for action in BaseCommand().create_parser("manage.py", name)._actions}
    parser = load_command_class("agentweb", name).create_parser("manage.py", name)
    return [
        (action.option_strings or [action.dest])[-1] for action in parser._actions if action.dest not in own
    ]


def test_every_command_is_listed_in_alphabetical_order() -> None:
    assert re.findall(r"^## (.+)$", COMMANDS, re.MULTILINE) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_every_option_is_listed(name: str) -> None:
    section = COMMANDS.partition(f"\n## {name}\n")[2].partition("\n## ")[0]
    listed = re.findall(r"^\| `([a-z-]+)` \|", section, re.MULTILINE)
    assert sorted(listed) == sorted(options(name))


def test_every_finding_is_listed_with_its_level(settings: Any) -> None:
    settings.AGENTWEB = {**settings.AGENTWEB, "ROOMS": list(rooms.ROOMS)}
    listed = re.findall(r"^\| `(D[0-9]{3})` \| (\w+) \| (production)? ?\|", DOCTOR, re.MULTILINE)
    probes = [
        (probe.id, str(probe.level), "production" if probe.is_for_production else "")
        for probe in all_probes()
    ]
    assert listed == sorted([*probes, (RUNS, "error", ""), (REACHED, "error", "")])


def test_every_id_in_the_code_is_listed() -> None:
    package = Path(agentweb.__file__).parent
    files = [*package.glob("doctor/*.py"), *package.glob("*/*probes.py")]
    in_code = {
        found for path in files for found in re.findall(r'"(D[0-9]{3})"', path.read_text(encoding="utf-8"))
    }
    assert in_code == set(re.findall(r"^\| `(D[0-9]{3})`", DOCTOR, re.MULTILINE))


def test_what_the_page_pastes_are_commands_and_options() -> None:
    for block in blocks("reference/doctor.md", "sh"):
        for line in block.text.splitlines():
            _python, _manage, name, *given = shlex.split(line)
            assert {word for word in given if word.startswith("--")} <= set(options(name))


def test_the_example_s_lines_are_findings() -> None:
    [shown] = [block.text for block in blocks("reference/doctor.md") if block.language == "text"]
    levels = dict(re.findall(r"^\| `(D[0-9]{3})` \| (\w+) ", DOCTOR, re.MULTILINE))
    for line in shown.splitlines():
        level, number = line.split()[:2]
        assert level in {"ok", levels[number]}
