"""The scan finds the markers that pytest finds, and reports those that prove nothing."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from textwrap import dedent

import pytest

from tests.spec.marker import Proof, scan_source, scan_tree

EVERY_PLACE = '''
    import unittest
    import pytest
    from pytest import mark

    pytestmark = [pytest.mark.requirement("M-1")]

    @pytest.mark.requirement("F-1", "F-2")
    @mark.requirement("F-3")
    def test_function():
        pass

    @pytest.mark.requirement("F-4")
    async def test_coroutine():
        pass

    @pytest.mark.parametrize("n", [1, pytest.param(2, marks=pytest.mark.requirement("P-1"))])
    def test_parametrized(n):
        pass

    def test_unmarked():
        """Carries the module's mark only; pytest.mark.requirement("TEXT") in a text is no marker."""

    if True:
        @pytest.mark.requirement("I-1")
        def test_under_a_condition():
            pass

    @pytest.mark.requirement("C-1")
    class TestClass:
        pytestmark = pytest.mark.requirement("C-2")

        @pytest.mark.requirement("C-1", "C-3")
        def test_method(self):
            pass

        class TestInner:
            def test_deep(self):
                pass

    class OfUnittest(unittest.TestCase):
        @pytest.mark.requirement("U-1")
        def test_method(self):
            pass
'''


def _scan(source: str, path: str = "tests/test_it.py"):
    return scan_source(dedent(source), path)


def _collected_by_pytest(folder: Path) -> set[tuple[str, str]]:
    """(node id without parameters, requirement id) as pytest itself collects them in a process of its own."""
    (folder / "conftest.py").write_text(
        dedent("""
            import json, pathlib

            def pytest_collection_modifyitems(items):
                found = [
                    (item.nodeid.split("[")[0], id_)
                    for item in items for mark in item.iter_markers("requirement") for id_ in mark.args
                ]
                pathlib.Path("found.json").write_text(json.dumps(found))
        """)
    )
    (folder / "pytest.ini").write_text("[pytest]\nmarkers =\n    requirement(id): which one\n")
    environment = {name: value for name, value in os.environ.items() if name != "PYTEST_ADDOPTS"}
    environment["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    subprocess.run(
        [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider", "tests"],
        cwd=folder,
        env=environment,
        check=True,
        capture_output=True,
        timeout=60,
    )
    return {(test, id_) for test, id_ in json.loads((folder / "found.json").read_text())}


def test_scan_and_pytest_find_the_same_markers(tmp_path: Path) -> None:
    tests = tmp_path / "tests"
    tests.mkdir()
    (tests / "test_it.py").write_text(dedent(EVERY_PLACE))
    scan = scan_tree(tests)
    assert scan.problems == []
    found = {(proof.test, proof.requirement) for proof in scan.proofs}
    assert found == _collected_by_pytest(tmp_path)
    assert len(found) == len(scan.proofs) == 20


@pytest.mark.parametrize(
    "source",
    [
        "@pytest.mark.requirement('A-1')\ndef helper(): pass",
        "@pytest.mark.requirement('A-1')\n@pytest.fixture\ndef thing(): pass",
        "def test_it():\n    @pytest.mark.requirement('A-1')\n    def test_inner(): pass",
        "class TestIt:\n def __init__(s): ...\n @pytest.mark.requirement('A-1')\n def test_it(s): pass",
        "class Mixin:\n    @pytest.mark.requirement('A-1')\n    def test_it(self): pass",
        "proves = pytest.mark.requirement('A-1')",
        "proves = pytest.mark.requirement\n@proves('A-1')\ndef test_it(): pass",
        "@pytest.mark.requirement\ndef test_it(): pass",
        "@pytest.mark.requirement()\ndef test_it(): pass",
        "@pytest.mark.requirement(ID)\ndef test_it(): pass",
        "@pytest.mark.requirement(*IDS)\ndef test_it(): pass",
        "@pytest.mark.requirement('A-1', 2)\ndef test_it(): pass",
        "@pytest.mark.requirement(id='A-1')\ndef test_it(): pass",
        "def test_it(:",
    ],
)
def test_marker_that_proves_nothing_is_one_problem(source: str) -> None:
    scan = _scan(source)
    assert scan.proofs == []
    assert len(scan.problems) == 1
    assert scan.problems[0].startswith("tests/test_it.py:")


def test_marker_outside_test_files_is_a_problem() -> None:
    scan = _scan("@pytest.mark.requirement('A-1')\ndef test_it(): pass", "tests/factories.py")
    assert scan.proofs == []
    assert len(scan.problems) == 1


@pytest.mark.parametrize("mark", ["skip", "skip('later')", "xfail", "xfail(strict=True)"])
@pytest.mark.parametrize("place", ["@pytest.mark.{}\n", "pytestmark = pytest.mark.{}\n"])
def test_test_that_never_passes_is_no_proof(place: str, mark: str) -> None:
    scan = _scan(place.format(mark) + "@pytest.mark.requirement('A-1')\ndef test_it(): pass")
    assert scan.proofs == [Proof("A-1", "tests/test_it.py::test_it", runs=False)]


def test_test_with_a_condition_to_skip_is_a_proof() -> None:
    scan = _scan("@pytest.mark.skipif(x, reason='')\n@pytest.mark.requirement('A-1')\ndef test_it(): pass")
    assert scan.proofs == [Proof("A-1", "tests/test_it.py::test_it", runs=True)]
