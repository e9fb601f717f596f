"""The tests of docs/reference/testing.md pass in the tutorial's project."""

from __future__ import annotations

import inspect
import re
import shutil
from pathlib import Path

from agentweb import testing
from agentweb.testing import TestAgent
from tests.docs.pages import DOCS, file
from tests.docs.tutorial import Site

PAGE = "reference/testing.md"
TEXT = (DOCS / PAGE).read_text(encoding="utf-8")


def test_the_tests_of_the_page_pass(shop: Site, tmp_path: Path) -> None:
    copy = Site(tmp_path / "teashop", port=shop.port)
    shutil.copytree(shop.folder, copy.folder, ignore=shutil.ignore_patterns("*.sqlite3*"))
    for path in ("shop/tests.py", "shop/test_grants.py"):
        copy.write(path, file(PAGE, path))
    copy.run("python manage.py test")


def test_every_argument_of_the_test_agent_is_described() -> None:
    table = TEXT.partition("\n## `TestAgent`\n")[2].partition("| method |")[0]
    assert re.findall(r"^\| `\*{0,2}(\w+)`", table, re.MULTILINE) == list(
        inspect.signature(TestAgent).parameters
    )


def test_every_name_of_the_module_and_every_method_of_an_agent_is_described() -> None:
    for name in (*testing.__all__, *(name for name in vars(TestAgent) if not name.startswith("_"))):
        assert name in {"Clock", "registry"} or re.search(rf"`[^`]*\b{name}\b[^`]*`", TEXT), name
