"""The doctor has nothing to say of the demo shop: while it is developed, and as others would see it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.demo.managing import new_shop


@pytest.mark.parametrize("debug", ["1", "0"])
def test_the_shop_is_sound(tmp_path: Path, debug: str) -> None:
    manage = new_shop(tmp_path, debug=debug)
    told = json.loads(manage("agentweb_doctor", "--json", "--fail-level", "warning"))
    assert told["summary"]["ok"] > 30
