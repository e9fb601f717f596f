"""The tests of docs/reference/testing.md pass in the tutorial's project."""

from __future__ import annotations

import inspect
import re
import shutil
from pathlib import Path

from agentweb.testing import TestAgent
from tests.docs.pages import DOCS, file
from tests.docs.tutorial import Site

PAGE = "reference/testing.md"
TEXT = (DOCS / PAGE).read_text(encoding="utf-8")


def test_the_tests_of_the_page_pass(shop: Site, tmp_path: Path) -> None:
    copy = Site(tmp_path / "teashop", port=shop.port)
    shutil.copytree(shop.folder, copy.folder, ignore=shutil.ignore_patterns("*.sqlite3*"))
    copy.write("shop/tests.py", file(PAGE, "shop/tests.py"))
    copy.run("python manage.py test")


def test_every_argument_of_the_test_agent_is_described() -> None:
    table = TEXT.partition("\n## `TestAgent`\n")[2].partition("| method |")[0]
    assert re.findall(r"^\| `\*{0,2}(\w+)`", table, re.MULTILINE) == list(
        inspect.signature(TestAgent).parameters
    )
