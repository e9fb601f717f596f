"""Reference pages say what the code says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import agentweb
from agentweb.conf import GROUPS, SETTINGS
from agentweb.wire.errors import STATUS, Code

DOCS = Path(__file__).resolve().parents[1] / "docs" / "reference"


def rows(page: str) -> list[list[str]]:
    lines = (DOCS / page).read_text(encoding="utf-8").splitlines()
    return [
        [cell.strip() for cell in line.strip("|").split(" | ")] for line in lines if re.match(r"\| `", line)
    ]


def test_every_setting_is_described_with_its_default_its_bounds_and_its_sentence() -> None:
    assert rows("settings.md") == [
        [f"`{key}`", setting.group, f"`{setting.default!r}`", setting.check.takes, setting.sentence]
        for known in (SETTINGS, *GROUPS.values())
        for key, setting in known.items()
    ]


# Named by code that nothing calls yet: content negotiation of DRF.
UNREACHED = {Code.NOT_ACCEPTABLE}


@pytest.mark.requirement("AA-3.4")
def test_every_error_code_stands_once_with_its_status() -> None:
    listed = sorted((code, status) for code, status, *_ in rows("errors.md"))
    assert listed == sorted((f"`{code}`", str(STATUS.get(code, "client only"))) for code in Code)


def test_every_code_says_what_to_do_unless_nothing_answers_with_it_yet() -> None:
    package = Path(agentweb.__file__).parent
    source = "".join(
        path.read_text(encoding="utf-8")
        for path in package.rglob("*.py")
        if path != package / "wire" / "errors.py"
    )
    unused = {code for code in Code if not re.search(rf"\bCode\.{code.name}\b", source)}
    assert {row[0] for row in rows("errors.md") if len(row) == 2} == {
        f"`{code}`" for code in unused | UNREACHED
    }
    advised = (DOCS / "errors.md").read_text(encoding="utf-8").partition("\n## Not yet\n")[0]
    assert all(f"`{code}`" not in advised for code in unused | UNREACHED)
