"""TOON by the official fixtures, against the reference implementation, and within our own bounds."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pytest
import toon_format
from hypothesis import given
from hypothesis import strategies as st

from agentweb.wire import toon
from tests.support.node import toon_values
from tests.vectors_dir import VECTORS

FIXTURES = VECTORS / "toon" / "spec-4.1"

SUPERSEDED = {
    # Specification 4.4 refuses these also where it is not strict; the package and the reference implement 4.4.
    "falls through to a key-value line on a header delimiter mismatch",
    "skips an entry-depth line without a colon in non-strict mode",
    "treats extra brackets after valid array segment as literal key (non-strict)",
    "treats bracket segment without a length as literal key (non-strict)",
    "treats non-integer bracket content as literal key (non-strict)",
    "treats text between bracket segment and colon as literal key (non-strict)",
    "falls through to a key-value line when whitespace precedes the bracket segment",
}


def fixtures(kind: str) -> Iterator[Any]:
    for path in sorted((FIXTURES / kind).glob("*.json")):
        for case in json.loads(path.read_text(encoding="utf-8"))["tests"]:
            yield pytest.param(case, id=f"{path.stem}: {case['name']}")


def indent_of(case: dict[str, Any]) -> int:
    options = case.get("options", {})
    return int(options.get("indentSize", options.get("indent", 2)))


@pytest.mark.parametrize("case", list(fixtures("decode")))
def test_a_document_is_read_as_its_fixture_says(case: dict[str, Any]) -> None:
    is_strict = case.get("options", {}).get("strict", True)
    is_ours = is_strict and indent_of(case) == 2

    def read() -> Any:
        if is_ours:
            return toon.loads(case["input"].encode(), max_bytes=10_000)
        return toon_format.loads(case["input"], strict=is_strict, indent_size=indent_of(case))

    if case.get("shouldError") or case["name"] in SUPERSEDED:
        with pytest.raises(ValueError, match=r"."):
            read()
    else:
        assert read() == case["expected"]


@pytest.mark.parametrize("case", list(fixtures("encode")))
def test_a_value_is_written_as_its_fixture_says(case: dict[str, Any]) -> None:
    delimiter = case.get("options", {}).get("delimiter", ",")
    if delimiter == "," and indent_of(case) == 2:
        assert toon.dumps(case["input"]).decode() == case["expected"]
    else:
        written = toon_format.dumps(case["input"], indent_size=indent_of(case), delimiter=delimiter)
        assert written == case["expected"]


def test_every_exception_is_a_fixture_that_is_not_strict() -> None:
    cases = [parameters.values[0] for parameters in fixtures("decode")]
    found = {case["name"] for case in cases if case.get("options", {}).get("strict") is False}
    assert found >= SUPERSEDED
    assert len(cases) == 359


NUMBERS = st.integers(-(2**53) + 1, 2**53 - 1) | st.floats(allow_nan=False, allow_infinity=False)
VALUES = st.recursive(
    st.none() | st.booleans() | NUMBERS | st.text(st.characters(exclude_categories=["Cs"]), max_size=12),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.text(st.characters(exclude_categories=["Cs"]), max_size=6), inner, max_size=4)
    ),
    max_leaves=20,
)


def as_json(value: Any) -> Any:
    """As a reader of the JSON gets it: 1.0 is 1, -0.0 is 0."""
    return json.loads(json.dumps(value))


@given(VALUES)
def test_what_is_written_is_read_as_the_json_of_the_same_value(value: Any) -> None:
    assert toon.loads(toon.dumps(value), max_bytes=100_000) == as_json(value)


def test_the_reference_reads_what_is_written() -> None:
    cases = [parameters.values[0]["input"] for parameters in fixtures("encode")]
    plain = [case for case in cases if "__proto__" not in json.dumps(case)]
    found = toon_values([toon.dumps(case) for case in plain])
    assert found == [as_json(case) for case in plain]
    assert len(plain) > 150


@pytest.mark.parametrize(
    "value",
    [
        math.nan,
        math.inf,
        -math.inf,
        Decimal("NaN"),
        {"a": [1, math.nan]},
        "\ud800",
        {"\udfff": 1},
        {1: 2},
        {3},
        b"x",
    ],
    ids=repr,
)
def test_what_is_not_json_is_refused_before_anything_is_written(value: Any) -> None:
    with pytest.raises(ValueError, match=r"."):
        toon.dumps(value)


def nested(depth: int) -> Any:
    value: Any = 1
    for _ in range(depth):
        value = [value]
    return value


def test_depth_is_bounded_both_ways() -> None:
    deepest = toon.dumps(nested(toon.MAX_DEPTH))
    assert toon.loads(deepest, max_bytes=100_000) == nested(toon.MAX_DEPTH)
    with pytest.raises(ValueError, match="deeper than 64"):
        toon.dumps(nested(toon.MAX_DEPTH + 1))
    for depth in (toon.MAX_DEPTH + 1, 150, 5_000):
        lines = ["a:", *("  " * at + "b:" for at in range(1, depth))]
        with pytest.raises(toon.ToonError):
            toon.loads("\n".join(lines).encode(), max_bytes=100_000_000)


def test_a_document_that_is_too_long_or_no_text_is_refused() -> None:
    with pytest.raises(toon.ToonError, match="more than 3 bytes"):
        toon.loads(b"abcd", max_bytes=3)
    with pytest.raises(toon.ToonError):
        toon.loads(b"a: \xff", max_bytes=100)


def test_a_decimal_is_written_with_its_own_digits() -> None:
    assert toon.dumps({"price": Decimal("4.20"), "count": Decimal("3")}) == b"price: 4.2\ncount: 3"
