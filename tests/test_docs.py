"""Reference pages say what the code says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from agentweb.conf import SETTINGS
from agentweb.wire.errors import STATUS, Code

DOCS = Path(__file__).resolve().parents[1] / "docs" / "reference"


def rows(page: str) -> list[list[str]]:
    lines = (DOCS / page).read_text(encoding="utf-8").splitlines()
    return [
        [cell.strip() for cell in line.strip("|").split(" | ")] for line in lines if re.match(r"\| `", line)
    ]


def test_every_setting_is_described_with_its_default_and_sentence() -> None:
    assert rows("settings.md") == [
        [f"`{key}`", setting.group, f"`{setting.default!r}`", setting.sentence]
        for key, setting in SETTINGS.items()
    ]


@pytest.mark.requirement("AA-3.4")
def test_every_error_code_stands_with_its_status() -> None:
    assert rows("errors.md") == [[f"`{code}`", str(STATUS.get(code, "client only"))] for code in Code]
