"""Each mistake that others made has tests here that show the right behaviour, and they are there and run."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from tests.spec.known_mistakes import MISTAKES
from tests.spec.marker import Scan, scan_source, scan_tree


@pytest.fixture(scope="module")
def scan() -> Scan:
    return scan_tree(Path(__file__).resolve().parents[1])


def test_all_rows_are_there_in_order() -> None:
    assert [each.number for each in MISTAKES] == list(range(1, 27))
    assert [each.number for each in MISTAKES if not each.reports or not each.tests] == []


def test_every_test_of_a_row_is_collected_and_runs(scan: Scan) -> None:
    assert [(each.number, test) for each in MISTAKES for test in each.tests if not scan.tests.get(test)] == []


def test_no_report_and_no_test_stands_in_a_row_twice() -> None:
    reports = Counter(report for each in MISTAKES for report in each.reports)
    assert [report for report, times in reports.items() if times > 1] == []
    assert [each.number for each in MISTAKES if len(set(each.tests)) < len(each.tests)] == []


def test_a_test_that_is_skipped_or_not_collected_does_not_count() -> None:
    source = (
        "import pytest\n@pytest.mark.skip\ndef test_a(): ...\ndef test_b(): ...\n"
        "def helper(): ...\nclass TestC:\n    def test_d(self): ...\n"
    )
    here = "tests/test_x.py"
    assert scan_source(source, here).tests == {
        f"{here}::test_a": False,
        f"{here}::test_b": True,
        f"{here}::TestC::test_d": True,
    }
    assert scan_source(source, "tests/helpers.py").tests == {}
