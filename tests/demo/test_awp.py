"""The demo shop keeps the whole of AWP 1.0: every line of the checklist, as its command measures it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.demo.managing import new_shop


@pytest.mark.requirement(
    "AWP-7.1", "AWP-7.2", "AWP-7.3", "AWP-7.4", "AWP-7.5", "AWP-7.6", "AWP-7.7", "AWP-7.8", "AWP-7.9"
)
@pytest.mark.requirement("AWP-7.10", "AWP-7.11", "AWP-7.12", "AWP-7.13", "AWP-7.14")
def test_the_shop_passes_every_line_of_the_checklist(tmp_path: Path) -> None:
    manage = new_shop(tmp_path)
    told = json.loads(manage("awp_analyze", "--format", "json", "--fail-level", "warning"))
    assert {item["id"]: item["problems"] for item in told["items"] if item["problems"]} == {}
    assert (told["score"], told["compliant"]) == (100, True)
    assert told["required"] == {"met": 6, "of": 6}
    assert told["recommended"] == {"met": 8, "of": 8}
    assert all(row["texts"] and not row["over"] for row in told["budgets"])
    assert json.loads(manage("awp_validate", "--json", "--fail-level", "warning"))["problems"] == []
