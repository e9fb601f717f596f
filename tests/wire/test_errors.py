"""What every error tells its caller."""

from __future__ import annotations

from typing import Any

import pytest

from agentweb.wire.errors import InputError


@pytest.mark.parametrize(
    ("count", "listed", "said", "extra"),
    [
        (100, 100, "has 100 problems", {}),
        (101, 100, "has more than 100 problems", {"truncated": True}),
        (5_000, 100, "has more than 100 problems", {"truncated": True}),
    ],
)
def test_of_many_problems_a_hundred_are_told(
    count: int, listed: int, said: str, extra: dict[str, Any]
) -> None:
    error = InputError([{"pointer": f"/{number}", "field": f"{number}"} for number in range(count)])
    assert len(error.as_dict()["problems"]) == listed
    assert said in error.message
    assert error.extra == extra
