"""What a handler may return, and how it is written."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from decimal import Decimal
from enum import Enum
from typing import Any
from uuid import UUID

import pytest
from django.utils.translation import gettext_lazy

from agentweb.invoke.results import ResultError, encode
from agentweb.wire.schema import compile_schema


class Size(Enum):
    LARGE = "L"


@dataclass
class Line:
    name: str
    price: Decimal


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "null"),
        ({"a": (1, 2.5, True)}, '{"a":[1,2.5,true]}'),
        (Line("tea", Decimal("4.50")), '{"name":"tea","price":4.5}'),
        (datetime(2026, 11, 29, 12, 0, tzinfo=UTC), '"2026-11-29T12:00:00Z"'),
        ([date(2026, 11, 29), time(12, 30)], '["2026-11-29","12:30:00"]'),
        ({Size.LARGE: UUID(int=1)}, '{"L":"00000000-0000-0000-0000-000000000001"}'),
        (gettext_lazy("Yes"), '"Yes"'),
        ({"a": -0.0, "b": [0.0]}, '{"a":0.0,"b":[0.0]}'),
        ("größe 😀", '"größe 😀"'),
    ],
)
def test_plain_values_and_their_usual_companions_are_written(value: Any, text: str) -> None:
    assert encode(value, "test").decode() == text


class Row:
    def __repr__(self) -> str:
        return "hunter2"


@pytest.mark.parametrize(
    "value",
    [Row(), {"a": {1: 2}}, {1, 2}, b"bytes", float("nan"), [float("inf")], "\ud800", {"f": lambda: 1}],
)
def test_anything_else_is_refused_with_its_type_and_without_its_value(value: Any) -> None:
    with pytest.raises(ResultError) as caught:
        encode({"deep": [value]}, "test")
    assert "hunter2" not in str(caught.value)


def test_a_value_that_holds_itself_is_refused() -> None:
    loop: list[Any] = []
    loop.append(loop)
    with pytest.raises(ResultError):
        encode(loop, "test")


def test_a_result_over_the_limit_is_refused(settings: Any) -> None:
    settings.AGENTWEB = {**settings.AGENTWEB, "MAX_RESULT_BYTES": 1_024}
    with pytest.raises(ResultError, match="1024"):
        encode("x" * 2_000, "test")


def test_a_result_that_does_not_fit_its_declared_output_is_logged_without_its_values_and_sent(
    caplog: pytest.LogCaptureFixture,
) -> None:
    output = compile_schema(
        {
            "type": "object",
            "properties": {"order": {"type": "string"}, "total": {"type": "number"}},
            "required": ["order", "total"],
        }
    )
    assert encode({"order": "a", "total": Decimal("1.5")}, "look", output)
    assert caplog.records == []
    assert encode({"order": ["a private word"]}, "look", output) == b'{"order":["a private word"]}'
    (record,) = caplog.records
    assert (record.name, record.levelname) == ("agentweb.invoke", "ERROR")
    assert record.getMessage().startswith("The result of look does not fit its declared output: ")
    assert "/order (type)" in record.getMessage()
    assert "/total (required)" in record.getMessage()
    assert "private" not in caplog.text


@pytest.mark.parametrize(
    "name", ["token\nERROR forged", "token\r\n", "token\x1b[1A", "token\u2028"], ids=ascii
)
def test_a_name_or_a_place_in_an_answer_writes_no_line_of_its_own_into_the_log(
    caplog: Any, name: str
) -> None:
    encode({name: "hunter2"}, "test")
    encode({f"a {name[5:]}": 1}, "test", compile_schema({"type": "object", "additionalProperties": False}))
    told = [record.getMessage() for record in caplog.records]
    assert len(told) == 2
    assert all(message.isprintable() for message in told)
    assert "hunter2" not in caplog.text


def test_many_removed_names_make_one_line_of_bounded_length(caplog: Any) -> None:
    encode({f"token_{number}_{'x' * 1_000}": 1 for number in range(1_000)}, "test")
    [told] = [record.getMessage() for record in caplog.records]
    assert len(told) < 5_000
    assert told.endswith(" and 980 more")
