"""JSON with texts in it that are written as they are."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agentweb.aim.splicing import Raw, dumps
from agentweb.wire import json_writing


@pytest.mark.parametrize(
    "value",
    [{"a": [1, {"b": None}], "é": "ü\n\0"}, [], {}, "text", 1.5, None, [[], [{}]]],
    ids=ascii,
)
def test_without_raw_texts_it_is_the_usual_json(value: Any) -> None:
    assert dumps(value) == json_writing.dumps(value)


def test_a_raw_text_stands_as_it_is_however_deep() -> None:
    text = '{"z": 1.0,"a":"\\u00e9"}'
    value = {"items": [{"envelope": Raw(text), "n": [1, {"x": (Raw("2"), "é")}]}], "next": None}
    assert dumps(value) == (
        b'{"items":[{"envelope":' + text.encode() + b',"n":[1,{"x":[2,"\xc3\xa9"]}]}],"next":null}'
    )
    assert json.loads(dumps({"a": Raw("[1]"), 'quoted"name': Raw("{}")})) == {"a": [1], 'quoted"name': {}}


def test_a_raw_text_alone_is_a_document() -> None:
    assert dumps(Raw("[true]")) == b"[true]"


def test_a_value_that_is_no_json_is_refused_beside_raw_texts_too() -> None:
    with pytest.raises(ValueError, match="JSON"):
        dumps({"a": Raw("1"), "b": float("nan")})
