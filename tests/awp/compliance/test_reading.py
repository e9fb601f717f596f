"""JSON with places: refused is exactly what strict JSON refuses, and every value and fault is where it stands."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentweb.awp.compliance.reading import MAX_BYTES, Spot, read
from agentweb.wire import strict_json
from agentweb.wire.errors import RequestError
from tests.wire.test_strict_json import PARSING

FAULTS: list[Any] = [
    ("empty", b"", "malformed_json", Spot(1, 1), "empty"),
    ("blank-lines", b"\n\n  ", "malformed_json", Spot(3, 3), "empty"),
    ("single-quotes", b"{'a': 1}", "malformed_json", Spot(1, 2), "double quotes"),
    ("trailing-comma", b'{"a": 1,\n}', "malformed_json", None, "comma"),
    ("comment", b'{\n// no\n"a": 1}', "malformed_json", Spot(2, 1), "comments"),
    ("no-comma", b'{"a": 1\n "b": 2}', "malformed_json", Spot(2, 2), "Put a comma"),
    ("no-colon", b'{"a" 1}', "malformed_json", Spot(1, 6), "Put a colon"),
    ("no-end", b'{"a": "x', "malformed_json", Spot(1, 7), "Close the text"),
    ("line-end-in-a-text", b'{"a": "x\ny"}', "malformed_json", Spot(1, 9), "\\n"),
    ("bad-escape", b'["\\q"]', "malformed_json", Spot(1, 3), "\\\\"),
    ("two-values", b"{}\n{}", "malformed_json", Spot(2, 1), "what follows"),
    ("nan", b"[1,\n  NaN]", "malformed_json", Spot(2, 3), "finite"),
    ("minus-infinity", b"[-Infinity]", "malformed_json", Spot(1, 2), "finite"),
    ("twice", b'{"a": 1,\n "b": 1,\n "a": 2}', "duplicate_key", Spot(3, 2), "Keep one"),
    ("twice-by-escape", b'{"a": 1, "\\u0061": 2}', "duplicate_key", Spot(1, 10), "Keep one"),
    ("too-large", b"[1e400]", "number_out_of_range", Spot(1, 2), "shorter"),
    ("too-long", b"[" + 41 * b"1" + b"]", "number_out_of_range", Spot(1, 2), "shorter"),
    ("not-even-an-int", b"[" + 5_000 * b"1" + b"]", "number_out_of_range", Spot(1, 2), "shorter"),
    ("half-a-pair", b'["a", "\\ud83d"]', "invalid_unicode", Spot(1, 7), "whole character"),
    ("half-a-pair-in-a-name", b'{"\\ude00": 1}', "invalid_unicode", Spot(1, 2), "whole character"),
    ("nul", b'["\\u0000"]', "invalid_unicode", Spot(1, 2), "Leave it out"),
    ("not-utf-8", '{"ä": "'.encode() + b"\xff", "invalid_unicode", Spot(1, 8), "UTF-8"),
    ("byte-order-mark", b"\xef\xbb\xbf{}", "invalid_unicode", Spot(1, 1), "without one"),
    ("too-deep", b"[\n" * 65 + b"]" * 65, "too_deep", Spot(65, 1), "Flatten"),
    ("far-too-deep", b"[" * 200_000, "too_deep", Spot(1, 65), "Flatten"),
    ("too-many-bytes", b'"' + MAX_BYTES * b"x" + b'"', "payload_too_large", Spot(1, 1), "smaller"),
]


@pytest.mark.parametrize(
    ("data", "code", "spot", "fix"), [each[1:] for each in FAULTS], ids=[each[0] for each in FAULTS]
)
def test_each_fault_is_found_where_it_stands(data: bytes, code: str, spot: Spot | None, fix: str) -> None:
    [fault] = read(data).faults
    assert fault.code == code
    assert spot is None or fault.spot == spot
    assert fix in fault.fix
    with pytest.raises(RequestError) as refused:
        strict_json.loads(data)
    assert refused.value.code == code


def test_all_faults_of_a_document_are_told() -> None:
    data = b'{"a": NaN,\n "a": 1e999,\n "b": ["\\ud800", -Infinity]}'
    assert [(fault.code, fault.spot, fault.pointer) for fault in read(data).faults] == [
        ("malformed_json", Spot(1, 7), "/a"),
        ("number_out_of_range", Spot(2, 7), "/a"),
        ("duplicate_key", Spot(2, 2), "/a"),
        ("invalid_unicode", Spot(3, 8), "/b/0"),
        ("malformed_json", Spot(3, 18), "/b/1"),
    ]


def test_no_number_of_faults_makes_a_list_without_end() -> None:
    assert len(read(b"[" + b",".join([b"NaN"] * 5_000) + b"]").faults) == 100


@pytest.mark.parametrize("name", PARSING)
def test_what_is_refused_is_what_strict_json_refuses(name: str) -> None:
    compare(PARSING[name])


def compare(data: bytes) -> None:
    reading = read(data)
    codes = {fault.code for fault in reading.faults}
    if codes:
        with pytest.raises(RequestError) as refused:
            strict_json.loads(data)
        assert refused.value.code in codes
    else:
        value = strict_json.loads(data)
        assert reading.value == value
        assert repr(reading.value) == repr(value)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text() | st.floats(allow_nan=False, width=16),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


@given(JSON, st.sampled_from([None, 0, 2, 8]), st.booleans())
def test_any_value_is_read_as_strict_json_reads_it(value: Any, indent: int | None, is_ascii: bool) -> None:
    compare(json.dumps(value, indent=indent, ensure_ascii=is_ascii).encode("utf-8", "surrogatepass"))


@given(
    st.binary(max_size=60)
    | st.text('{}[]",:0123456789.eE+-\\u dDaAtrueNfinty\n', max_size=60).map(str.encode)
)
def test_any_bytes_are_read_without_an_exception(data: bytes) -> None:
    compare(data)


@given(JSON, st.sampled_from([None, 2]))
def test_every_value_begins_where_it_is_said_to(value: Any, indent: int | None) -> None:
    text = json.dumps(value, indent=indent, ensure_ascii=False)
    try:
        reading = read(text.encode())
    except UnicodeEncodeError:  # half of a surrogate pair, which no file holds
        return
    if reading.faults:
        return
    lines = text.split("\n")
    for pointer, part in pointers(value):
        spot = reading.spot(pointer)
        rest = "\n".join([lines[spot.line - 1][spot.column - 1 :], *lines[spot.line :]])
        found, _end = json.JSONDecoder().raw_decode(rest)
        assert found == part


def pointers(value: Any, above: str = "") -> Any:
    yield above, value
    parts = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, part in parts:
        yield from pointers(part, f"{above}/{str(name).replace('~', '~0').replace('/', '~1')}")


def test_names_and_missing_members_have_a_place_too() -> None:
    reading = read(b'{\n  "a": {"b": [1,\n 2]}\n}')
    assert reading.spot("/a/b", of_name=True) == Spot(2, 9)
    assert reading.spot("/a/b/1") == Spot(3, 2)
    assert reading.spot("/a/missing") == Spot(2, 8)
    assert reading.spot("/missing/further") == Spot(1, 1)
    assert reading.spot("/a/b/7") == Spot(2, 14)
    assert reading.spot("/a/b/x") == Spot(2, 14)


def test_columns_count_characters_and_lines_end_as_on_every_system() -> None:
    reading = read('{"ä😀": 1,\r\n "b": 2}'.encode())
    assert reading.spot("/ä😀") == Spot(1, 8)
    assert reading.spot("/b") == Spot(2, 7)
    assert reading.text.line(1) == '{"ä😀": 1,'
    assert reading.text.line(3) == ""


def test_numbers_are_exact() -> None:
    assert read(b"[1.10, 12345678901234567890, 1e2]").value == [
        Decimal("1.10"),
        12_345_678_901_234_567_890,
        Decimal("1e2"),
    ]
