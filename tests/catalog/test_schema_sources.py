"""Where the schema of an action comes from: a dict, a type, the hint of the handler, or nothing."""

from __future__ import annotations

import functools
from collections.abc import Mapping, MutableMapping
from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING, Annotated, Any, Dict, TypedDict  # noqa: UP035

import pytest

from agentweb.catalog.schema_sources import (
    EMPTY_INPUT,
    Source,
    SourceError,
    as_it_is,
    input_source,
    output_schema,
)
from tests.catalog.declarations import declared, published, refused
from tests.catalog.typed import Ge

if TYPE_CHECKING:
    from nowhere import Context, Result  # type: ignore[import-not-found]


@dataclass
class Line:
    sku: str
    on: date
    quantity: int = 1


class Placed(TypedDict):
    order_id: str


LINE = {
    "type": "object",
    "properties": {
        "sku": {"type": "string"},
        "on": {"type": "string", "format": "date", "pattern": "^(?!0000)"},
        "quantity": {"type": "integer", "default": 1},
    },
    "required": ["sku", "on"],
    "additionalProperties": False,
}


def typed(inp: Line, ctx: Context) -> Placed:
    """Place it. The context's type exists for the type checker only."""
    return {"order_id": inp.sku}


def bare(inp, ctx):  # type: ignore[no-untyped-def]
    """Say nothing."""


def test_the_hint_of_the_first_parameter_is_the_input() -> None:
    found = published("order", typed, effect="write", scope="x")
    assert found.input_schema == LINE
    assert found.output_schema == {
        "type": "object",
        "properties": {"order_id": {"type": "string"}},
        "required": ["order_id"],
    }
    value = found.input.prepare({"sku": "a", "on": "2026-01-31"})
    assert found.to_python(value, None) == Line("a", date(2026, 1, 31), 1)


def test_input_given_as_a_type_or_dict_goes_before_the_hint() -> None:
    assert input_source(typed, {"type": "string"}).schema == {"type": "string"}
    assert input_source(typed, Annotated[int, Ge(1)]).schema == {"type": "integer", "minimum": 1}


@pytest.mark.parametrize(
    "hint",
    [
        Any,
        object,
        dict,
        Dict,  # noqa: UP006 - the old spelling is the same hint
        dict[str, Any],
        dict[str, object],
        Mapping,
        Mapping[str, Any],
        MutableMapping[Any, Any],
    ],
)
def test_a_hint_for_type_checkers_says_nothing_and_is_refused(hint: Any) -> None:
    def work(inp: Any, ctx: Any) -> None: ...

    def unused(_inp: Any, ctx: Any) -> None: ...

    work.__annotations__["inp"] = unused.__annotations__["_inp"] = hint
    with pytest.raises(SourceError, match="the hint of 'inp' says nothing about its members"):
        input_source(work, None)
    assert input_source(unused, None) == Source(EMPTY_INPUT, as_it_is)
    found, (fault,) = declared(by=work, description="Work.")
    assert (found, fault.id) == (None, "agentweb.E016")
    assert "None as the hint" in fault.hint
    assert declared(by=work, description="Work.", input={"type": "object"})[1] == []


def test_no_hint_means_no_input() -> None:
    source = input_source(bare, None)
    assert source.unsaid == "inp"
    assert source.schema == {"type": "object", "properties": {}, "additionalProperties": False}
    assert source.schema is not EMPTY_INPUT
    assert source.to_python({}, None) == {}


def test_an_open_object_can_be_asked_for() -> None:
    assert input_source(bare, dict[str, Any]).schema == {"type": "object"}


def test_wrapped_partial_and_callable_handlers_tell_their_hints() -> None:
    @functools.wraps(typed)
    def wrapped(*args: Any) -> Any:
        return typed(*args)

    class Service:
        def method(self, inp: Line, ctx: Any) -> Any: ...

        def __call__(self, inp: Line, ctx: Any) -> Any: ...

    def three(extra: Any, inp: Line, ctx: Any) -> Any: ...

    for handler in (wrapped, Service().method, Service(), functools.partial(three, 1)):
        assert input_source(handler, None).schema == LINE


def test_a_callable_without_signature_says_nothing() -> None:
    assert input_source(dict.fromkeys, None).schema == EMPTY_INPUT
    assert input_source(type, None).schema == EMPTY_INPUT


def test_a_hint_that_cannot_be_read_is_refused() -> None:
    def work(inp: int[str], ctx: Any) -> None: ...  # type: ignore[type-arg]

    with pytest.raises(SourceError, match="the hint of the input cannot be read"):
        input_source(work, None)


def test_a_return_hint_that_cannot_be_described_is_passed_over() -> None:
    def unknown(_inp: Any, ctx: Any) -> Result: ...

    def binary(_inp: Any, ctx: Any) -> bytes: ...

    @dataclass
    class Inner:
        raw: bytes

    def record(_inp: Any, ctx: Any) -> Any: ...

    record.__annotations__["return"] = Inner
    for handler in (unknown, binary, record, bare):
        assert output_schema(handler, None) is None


def test_an_output_may_be_given_as_a_type_or_dict() -> None:
    assert output_schema(bare, list[int]) == {"type": "array", "items": {"type": "integer"}}
    assert output_schema(typed, {"type": "object"}) == {"type": "object"}
    assert refused(output=bytes).id == "agentweb.E016"


def test_a_hint_of_none_means_that_there_is_no_input() -> None:
    def handler(inp: None, ctx: object) -> None: ...

    assert input_source(handler, None).schema == EMPTY_INPUT
