"""Where an action's schemas come from: a dict that the author wrote, types, or a serializer.

A hand-written schema stays as it is and the handler gets plain JSON values. A schema derived from types is
closed, and ``to_python(value, ctx)`` turns an input that it accepts into the typed value. Of serializers
``agentweb.catalog.drf`` knows; it is imported where one is declared, and Django REST framework with it.
"""

from __future__ import annotations

import copy
import functools
import inspect
import sys
import typing
from collections import abc
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from agentweb.catalog.schema_numbers import with_safe_numbers
from agentweb.catalog.type_schemas import SourceError, derive, is_record
from agentweb.wire.safe_numbers import check_published
from agentweb.wire.schema import compile_schema
from agentweb.wire.strict_json import Json

__all__ = [
    "EMPTY_INPUT",
    "Output",
    "Source",
    "SourceError",
    "as_it_is",
    "input_source",
    "is_serializer",
    "output_schema",
    "output_source",
    "schema_of",
    "serializer_source",
]

EMPTY_INPUT: Final[dict[str, Any]] = {"type": "object", "properties": {}, "additionalProperties": False}
"""The schema of an action that says nothing about its input."""

_ANYTHING: Final = (Any, object)


@dataclass(frozen=True, slots=True)
class Source:
    """A schema, and what makes the handler's value of a prepared input that the schema accepts.

    ``unsaid`` is the name of a first parameter of which nothing says what it is; it may be an oversight.
    ``hint`` is the type that the schema was derived from, None for a hand-written one. ``floats`` are paths of
    members that become floats, where no hint says so.
    """

    schema: dict[str, Any]
    to_python: Callable[[Json, Any], Any]
    unsaid: str | None = None
    hint: Any = None
    floats: frozenset[tuple[str, ...]] = frozenset()


@dataclass(frozen=True, slots=True)
class Output:
    """A schema of what is answered, or None; ``represent(result, ctx)`` makes it of what the handler returns."""

    schema: dict[str, Any] | None
    represent: Callable[[Any, Any], Any] | None = None


def serializer_source(given: Any) -> Source:
    """The source of a serializer of Django REST framework. Raises SourceError for what is none."""
    if not is_serializer(given):
        raise SourceError(f"{given!r} is not a serializer of Django REST framework")
    from agentweb.catalog.drf import serializers  # noqa: PLC0415

    return serializers.serializer_source(given)


def is_serializer(given: Any) -> bool:
    """Whether this is a serializer class or instance. Nothing is imported for the question."""
    known = sys.modules.get("rest_framework.serializers")
    if known is None:
        return False
    base: type = known.BaseSerializer
    return issubclass(given, base) if isinstance(given, type) else isinstance(given, base)


def output_source(handler: Callable[..., Any], given: Any) -> Output:
    """The output as ``output_schema`` finds it, or of a serializer. Raises SourceError or ValueError."""
    if not is_serializer(given):
        return Output(output_schema(handler, given))
    from agentweb.catalog.drf import serializers  # noqa: PLC0415

    return serializers.serializer_output(given)


def input_source(handler: Callable[..., Any], given: Any) -> Source:
    """The input's source: ``given`` (a dict or a type), else the hint of the handler's first parameter, else nothing.

    A first parameter whose name begins with an underscore, or whose hint is None, means that there is no input.
    Raises SourceError, also for a hint like ``dict`` that says nothing about the input's members; or ValueError
    when a dict is not plain JSON or a schema is not valid.
    """
    if isinstance(given, Mapping):
        return Source(_written(given), as_it_is)
    if given is not None:
        return _derived(given)
    first = next(iter(_signature(handler).parameters.values()), None)
    if first is None:
        return _no_input()
    is_unused = first.name.startswith("_")
    if first.annotation is first.empty:
        return _no_input(None if is_unused else first.name)
    hint = _resolved(handler, first.annotation)
    if hint is None or hint is type(None) or (is_unused and _says_nothing(hint)):
        return _no_input()
    if _says_nothing(hint):
        raise SourceError(f"the hint of {first.name!r} says nothing about its members")
    return _derived(hint)


def output_schema(handler: Callable[..., Any], given: Any) -> dict[str, Any] | None:
    """The output's schema: ``given`` (a dict or a type), else of a returned dataclass or TypedDict, else none.

    A return hint is often written for other readers, so one that cannot be described is passed over. Raises
    SourceError or ValueError for what is given.
    """
    if isinstance(given, Mapping):
        return _written(given)
    if given is not None:
        return with_safe_numbers(derive(given, for_output=True).schema)
    try:
        hint = _resolved(handler, _signature(handler).return_annotation)
        return with_safe_numbers(derive(hint, for_output=True).schema) if is_record(hint) else None
    except ValueError:
        return None


def schema_of(given: Any) -> dict[str, Any]:
    """The schema of a dict or a type that describes an input. Raises SourceError or ValueError."""
    return _written(given) if isinstance(given, Mapping) else with_safe_numbers(derive(given).schema)


def as_it_is(value: Json, _ctx: Any = None) -> Any:
    """The conversion of hand-written schemas: none."""
    return value


def _written(schema: Mapping[str, Any]) -> dict[str, Any]:
    """A copy, so that what is published cannot change later."""
    plain = dict(schema)
    check_published(plain)
    return copy.deepcopy(plain)


def _derived(hint: Any) -> Source:
    found = derive(hint)
    convert = found.convert or _same
    schema = with_safe_numbers(found.schema)
    if schema is found.schema:
        to_python = as_it_is if found.convert is None else lambda value, _ctx: convert(value)
        return Source(schema, to_python, hint=hint)
    # Bounds that cannot be published hold all the same.
    whole = compile_schema(found.schema)

    def checked(value: Json, _ctx: Any) -> Any:
        whole.check(value)
        return convert(value)

    return Source(schema, checked, hint=hint)


def _same(value: Any) -> Any:
    return value


def _no_input(unsaid: str | None = None) -> Source:
    return Source(copy.deepcopy(EMPTY_INPUT), as_it_is, unsaid)


def _says_nothing(hint: Any) -> bool:
    """Whether this is a hint that only pleases a type checker: anything, or a dict with any members."""
    if (typing.get_origin(hint) or hint) not in (dict, abc.Mapping, abc.MutableMapping):
        return hint in _ANYTHING
    arguments = typing.get_args(hint)
    return not arguments or arguments[1] in _ANYTHING


def _signature(handler: Callable[..., Any]) -> inspect.Signature:
    try:
        return inspect.signature(handler)
    except (TypeError, ValueError, NameError):
        return inspect.Signature()


def _resolved(handler: Callable[..., Any], annotation: Any) -> Any:
    """An annotation that may be a text (PEP 563), in the handler's module.

    Only this one: the others may name what exists for the type checker alone. Raises SourceError.
    """

    def probe() -> None: ...

    probe.__annotations__ = {"it": annotation}
    try:
        return typing.get_type_hints(probe, globalns=_globals_of(handler), include_extras=True)["it"]
    except NameError as error:
        raise SourceError(
            f"the name {error.name!r} in the hint of the input is not known in its module"
        ) from None
    except Exception as error:  # an annotation is code, and may raise anything
        raise SourceError(f"the hint of the input cannot be read: {str(error).rstrip('.')}") from None


def _globals_of(handler: Any) -> dict[str, Any]:
    while isinstance(handler, functools.partial):
        handler = handler.func
    handler = inspect.unwrap(handler)
    if not hasattr(handler, "__globals__") and not inspect.ismethod(handler):
        handler = type(handler).__call__
    found: dict[str, Any] = getattr(handler, "__globals__", {})
    return found
