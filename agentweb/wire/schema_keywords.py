"""The hardened validator: jsonschema's Draft202012Validator with our own keywords where its are unsafe.

What is replaced, and why:

- ``pattern``, ``patternProperties``, ``additionalProperties``, ``unevaluatedProperties``: ECMA-262 with a
  time limit in place of ``re.search``;
- ``uniqueItems``, ``enum``, ``const``: hashed JSON equality, linear in the size;
- numbers: int, Decimal and float together, exactly;
- ``format``: our assertions;
- every message: a Failure has none. It says which member or branch is meant, and ``schema_problems``
  words it from the keyword and the keyword's value. The instance's values are never formatted.

Every keyword costs a step of the current Run, which bounds the work that a schema and a value can cause
together (``anyOf`` over ``$ref`` is exponential in the depth of the value).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from contextvars import ContextVar
from itertools import islice
from typing import Any, Final

from jsonschema import Draft202012Validator, ValidationError
from jsonschema.validators import extend
from referencing.jsonschema import DRAFT202012

from agentweb.wire import schema_numbers as numbers
from agentweb.wire.schema_equality import Choices, are_equal, first_duplicate
from agentweb.wire.schema_formats import FORMATS
from agentweb.wire.schema_patterns import PATTERN_SECONDS, QUICK_TEXT, compile_pattern

MAX_STEPS: Final = 1_000_000
_CLOCK_EVERY: Final = 256

Errors = Iterator[ValidationError]
Keyword = Callable[[Any, Any, Any, Any], Iterable[ValidationError]]


class LimitExceeded(Exception):
    """The value costs more work than one validation may take."""


class Run:
    """The limits of one validation: steps, seconds in patterns, and for foreign schemas seconds in all."""

    __slots__ = ("deadline", "pattern_seconds", "steps")

    def __init__(self, seconds: float | None = None) -> None:
        self.steps = MAX_STEPS
        self.pattern_seconds = PATTERN_SECONDS * 4
        self.deadline = None if seconds is None else time.monotonic() + seconds

    def step(self) -> None:
        """Count one keyword. Raises LimitExceeded."""
        self.steps -= 1
        if self.steps < 0:
            raise LimitExceeded
        if self.deadline is not None and self.steps % _CLOCK_EVERY == 0 and time.monotonic() > self.deadline:
            raise LimitExceeded

    def matches(self, pattern: str, text: str) -> bool | None:
        """Whether ``text`` fits, or None when the search ran out of time."""
        compiled = compile_pattern(pattern)
        if compiled.quick and len(text) <= QUICK_TEXT:
            return compiled.matches(text)
        started = time.monotonic()
        seconds = min(PATTERN_SECONDS, self.pattern_seconds)
        if self.deadline is not None:
            seconds = min(seconds, self.deadline - started)
        try:
            return compiled.matches(text, seconds)
        except TimeoutError:
            return None
        finally:
            self.pattern_seconds -= time.monotonic() - started


_RUN: ContextVar[Run] = ContextVar("schema_run")


class Failure(ValidationError):
    """One broken keyword, without a message.

    ``member`` is the object member that is missing or unknown; ``branches`` holds, for ``anyOf`` and
    ``oneOf``, the failures of each branch by its position; ``detail`` is a position or count the wording
    needs. ``code`` replaces the keyword as the problem's code.
    """

    def __init__(
        self,
        *,
        member: str | None = None,
        branches: list[list[ValidationError]] | None = None,
        detail: Any = None,
        code: str | None = None,
        path: Iterable[str | int] = (),
    ) -> None:
        super().__init__("", path=path)
        self.member = member
        self.branches = branches
        self.detail = detail
        self.code = code


def _is_type(value: Any, kind: str) -> bool:
    return TYPES[kind](value)


TYPES: Final[dict[str, Callable[[Any], bool]]] = {
    "string": lambda value: isinstance(value, str),
    "integer": numbers.is_integer,
    "number": numbers.is_number,
    "boolean": lambda value: isinstance(value, bool),
    "object": lambda value: isinstance(value, dict),
    "array": lambda value: isinstance(value, list),
    "null": lambda value: value is None,
}
"""Whether a Python value is of a JSON type. A bool is never a number; 2.0 is an integer."""


def _is_valid(validator: Any, schema: Any, instance: Any) -> bool:
    return next(iter(validator.descend(instance, schema)), None) is None


def _type(_validator: Any, kinds: Any, instance: Any, _schema: Any) -> Errors:
    if isinstance(kinds, str):
        kinds = [kinds]
    if not any(_is_type(instance, kind) for kind in kinds):
        yield Failure()


def _enum(_validator: Any, choices: Choices, instance: Any, _schema: Any) -> Errors:
    if not choices.has(instance):
        yield Failure()


def _const(_validator: Any, value: Any, instance: Any, _schema: Any) -> Errors:
    if not are_equal(value, instance):
        yield Failure()


def _minimum(_validator: Any, limit: Any, instance: Any, _schema: Any) -> Errors:
    if numbers.is_number(instance) and numbers.exact(instance) < limit:
        yield Failure()


def _maximum(_validator: Any, limit: Any, instance: Any, _schema: Any) -> Errors:
    if numbers.is_number(instance) and numbers.exact(instance) > limit:
        yield Failure()


def _exclusive_minimum(_validator: Any, limit: Any, instance: Any, _schema: Any) -> Errors:
    if numbers.is_number(instance) and numbers.exact(instance) <= limit:
        yield Failure()


def _exclusive_maximum(_validator: Any, limit: Any, instance: Any, _schema: Any) -> Errors:
    if numbers.is_number(instance) and numbers.exact(instance) >= limit:
        yield Failure()


def _multiple_of(_validator: Any, factor: Any, instance: Any, _schema: Any) -> Errors:
    if numbers.is_number(instance) and not numbers.is_multiple(instance, factor):
        yield Failure()


def _min_length(_validator: Any, limit: int, instance: Any, _schema: Any) -> Errors:
    if isinstance(instance, str) and len(instance) < limit:
        yield Failure(detail=len(instance))


def _max_length(_validator: Any, limit: int, instance: Any, _schema: Any) -> Errors:
    if isinstance(instance, str) and len(instance) > limit:
        yield Failure(detail=len(instance))


def _pattern(_validator: Any, pattern: str, instance: Any, _schema: Any) -> Errors:
    if isinstance(instance, str):
        found = _RUN.get().matches(pattern, instance)
        if not found:
            yield Failure(detail="timeout" if found is None else None)


def _format(_validator: Any, name: str, instance: Any, _schema: Any) -> Errors:
    check = FORMATS.get(name)
    if check is not None and isinstance(instance, str) and not check(instance):
        yield Failure()


def _min_items(_validator: Any, limit: int, instance: Any, _schema: Any) -> Errors:
    if isinstance(instance, list) and len(instance) < limit:
        yield Failure(detail=len(instance))


def _max_items(_validator: Any, limit: int, instance: Any, _schema: Any) -> Errors:
    if isinstance(instance, list) and len(instance) > limit:
        yield Failure(detail=len(instance))


def _unique_items(_validator: Any, unique: bool, instance: Any, _schema: Any) -> Errors:
    if unique and isinstance(instance, list):
        pair = first_duplicate(instance)
        if pair is not None:
            yield Failure(detail=pair)


def _items(validator: Any, subschema: Any, instance: Any, schema: Any) -> Errors:
    if not isinstance(instance, list):
        return
    prefix = len(schema.get("prefixItems", ()))
    if subschema is False:
        if len(instance) > prefix:
            yield Failure(detail=prefix)
        return
    for position in range(prefix, len(instance)):
        yield from validator.descend(instance[position], subschema, path=position)


def _contains(validator: Any, subschema: Any, instance: Any, schema: Any) -> Errors:
    if not isinstance(instance, list):
        return
    least, most = schema.get("minContains", 1), schema.get("maxContains")
    count = sum(1 for each in instance if _is_valid(validator, subschema, each))
    if count < least:
        yield Failure(code="minContains" if "minContains" in schema else "contains", detail=count)
    elif most is not None and count > most:
        yield Failure(code="maxContains", detail=count)


def _required(_validator: Any, names: list[str], instance: Any, _schema: Any) -> Errors:
    if isinstance(instance, dict):
        for name in names:
            if name not in instance:
                yield Failure(member=name)


def _dependent_required(_validator: Any, needs: dict[str, list[str]], instance: Any, _schema: Any) -> Errors:
    if isinstance(instance, dict):
        for name, others in needs.items():
            if name in instance:
                for other in others:
                    if other not in instance:
                        yield Failure(member=other, detail=name)


def _min_properties(_validator: Any, limit: int, instance: Any, _schema: Any) -> Errors:
    if isinstance(instance, dict) and len(instance) < limit:
        yield Failure(detail=len(instance))


def _max_properties(_validator: Any, limit: int, instance: Any, _schema: Any) -> Errors:
    if isinstance(instance, dict) and len(instance) > limit:
        yield Failure(detail=len(instance))


def _property_names(validator: Any, subschema: Any, instance: Any, _schema: Any) -> Errors:
    if isinstance(instance, dict):
        for name in instance:
            broken = list(validator.descend(name, subschema))
            if broken:
                yield Failure(path=[name], branches=[broken])


def _pattern_properties(validator: Any, patterns: dict[str, Any], instance: Any, _schema: Any) -> Errors:
    if not isinstance(instance, dict):
        return
    run = _RUN.get()
    for pattern, subschema in patterns.items():
        for name, value in instance.items():
            found = run.matches(pattern, name)
            if found:
                yield from validator.descend(value, subschema, path=name, schema_path=pattern)
            elif found is None:
                # Nobody knows whether the subschema applies, so the name itself is refused.
                yield Failure(path=[name], code="pattern", detail="timeout")


def _additional_names(instance: dict[str, Any], schema: dict[str, Any]) -> list[str]:
    """Members that neither ``properties`` nor ``patternProperties`` speak of."""
    known = schema.get("properties", {})
    names = [name for name in instance if name not in known]
    patterns = schema.get("patternProperties")
    if patterns:
        run = _RUN.get()
        names = [name for name in names if not any(run.matches(pattern, name) for pattern in patterns)]
    return names


def _additional_properties(validator: Any, subschema: Any, instance: Any, schema: Any) -> Errors:
    if not isinstance(instance, dict) or subschema is True:
        return
    for name in _additional_names(instance, schema):
        if subschema is False:
            yield Failure(member=name, code="unknown_field")
        else:
            yield from validator.descend(instance[name], subschema, path=name)


def _any_of(validator: Any, branches: list[Any], instance: Any, _schema: Any) -> Errors:
    failures = []
    for position, branch in enumerate(branches):
        broken = list(validator.descend(instance, branch, schema_path=position))
        if not broken:
            return
        failures.append(broken)
    yield Failure(branches=failures)


def _one_of(validator: Any, branches: list[Any], instance: Any, _schema: Any) -> Errors:
    failures = []
    fitting = []
    for position, branch in enumerate(branches):
        broken = list(validator.descend(instance, branch, schema_path=position))
        failures.append(broken)
        if not broken:
            fitting.append(position)
    if not fitting:
        yield Failure(branches=failures)
    elif len(fitting) > 1:
        yield Failure(detail=fitting)


def _not(validator: Any, subschema: Any, instance: Any, _schema: Any) -> Errors:
    if _is_valid(validator, subschema, instance):
        yield Failure()


def _if(validator: Any, condition: Any, instance: Any, schema: Any) -> Errors:
    chosen = "then" if _is_valid(validator, condition, instance) else "else"
    if chosen in schema:
        yield from validator.descend(instance, schema[chosen], schema_path=chosen)


def _unevaluated_properties(validator: Any, subschema: Any, instance: Any, schema: Any) -> Errors:
    if not isinstance(instance, dict) or subschema is True:
        return
    evaluated = _evaluated(validator, instance, schema, _evaluated_names, "unevaluatedProperties")
    for name in instance:
        if name not in evaluated:
            if subschema is False:
                yield Failure(member=name, code="unknown_field")
            else:
                yield from validator.descend(instance[name], subschema, path=name)


def _unevaluated_items(validator: Any, subschema: Any, instance: Any, schema: Any) -> Errors:
    if not isinstance(instance, list) or subschema is True:
        return
    evaluated = _evaluated(validator, instance, schema, _evaluated_positions, "unevaluatedItems")
    for position, value in enumerate(instance):
        if position not in evaluated:
            if subschema is False:
                yield Failure(path=[position])
            else:
                yield from validator.descend(value, subschema, path=position)


def _evaluated_names(validator: Any, instance: dict[str, Any], schema: dict[str, Any]) -> set[Any]:
    """Members that the keywords right here evaluate (core 10.3.2 and 11.3)."""
    if "additionalProperties" in schema or "unevaluatedProperties" in schema:
        return set(instance)
    names = set(schema.get("properties", {})) & set(instance)
    patterns = schema.get("patternProperties", ())
    run = _RUN.get()
    names.update(name for name in instance if any(run.matches(pattern, name) for pattern in patterns))
    return names


def _evaluated_positions(validator: Any, instance: list[Any], schema: dict[str, Any]) -> set[Any]:
    """Positions that the keywords right here evaluate (core 10.3.1 and 11.2)."""
    if "items" in schema or "unevaluatedItems" in schema:
        return set(range(len(instance)))
    positions = set(range(min(len(schema.get("prefixItems", ())), len(instance))))
    if "contains" in schema:
        positions.update(
            position
            for position, value in enumerate(instance)
            if position not in positions and _is_valid(validator, schema["contains"], value)
        )
    return positions


def _evaluated(
    validator: Any,
    instance: Any,
    schema: Any,
    here: Callable[[Any, Any, Any], set[Any]],
    but: str | None = None,
) -> set[Any]:
    """What ``schema`` and every subschema that applies in place and holds evaluate; ``but`` is left out."""
    if not isinstance(schema, dict):
        return set()
    _RUN.get().step()
    own = {name: value for name, value in schema.items() if name != but}
    evaluated = here(validator, instance, own)
    for keyword in ("$ref", "$dynamicRef"):
        if keyword in schema:
            # jsonschema's own keywords look references up in the same way; there is no public door to it.
            resolved = validator._resolver.lookup(schema[keyword])
            target = validator.evolve(schema=resolved.contents, _resolver=resolved.resolver)
            evaluated |= _evaluated(target, instance, resolved.contents, here)
    for subschema in _in_place(validator, instance, schema):
        if _is_valid(validator, subschema, instance):
            evaluated |= _evaluated(_enter(validator, subschema), instance, subschema, here)
    return evaluated


def _in_place(validator: Any, instance: Any, schema: dict[str, Any]) -> Iterator[Any]:
    for keyword in ("allOf", "anyOf", "oneOf"):
        yield from schema.get(keyword, ())
    if "if" in schema:
        if _is_valid(validator, schema["if"], instance):
            yield schema["if"]
            yield schema.get("then", True)
        else:
            yield schema.get("else", True)
    if isinstance(instance, dict):
        for name, subschema in schema.get("dependentSchemas", {}).items():
            if name in instance:
                yield subschema


def _enter(validator: Any, schema: Any) -> Any:
    resolver = validator._resolver.in_subresource(DRAFT202012.create_resource(schema))
    return validator.evolve(schema=schema, _resolver=resolver)


def _counted(keyword: Keyword) -> Keyword:
    def counted(validator: Any, value: Any, instance: Any, schema: Any) -> Iterable[ValidationError]:
        _RUN.get().step()
        return keyword(validator, value, instance, schema)

    return counted


_OWN: Final[dict[str, Keyword]] = {
    "type": _type,
    "enum": _enum,
    "const": _const,
    "minimum": _minimum,
    "maximum": _maximum,
    "exclusiveMinimum": _exclusive_minimum,
    "exclusiveMaximum": _exclusive_maximum,
    "multipleOf": _multiple_of,
    "minLength": _min_length,
    "maxLength": _max_length,
    "pattern": _pattern,
    "format": _format,
    "minItems": _min_items,
    "maxItems": _max_items,
    "uniqueItems": _unique_items,
    "items": _items,
    "contains": _contains,
    "required": _required,
    "dependentRequired": _dependent_required,
    "minProperties": _min_properties,
    "maxProperties": _max_properties,
    "propertyNames": _property_names,
    "patternProperties": _pattern_properties,
    "additionalProperties": _additional_properties,
    "anyOf": _any_of,
    "oneOf": _one_of,
    "not": _not,
    "if": _if,
    "unevaluatedProperties": _unevaluated_properties,
    "unevaluatedItems": _unevaluated_items,
}

HardenedValidator: Final[Any] = extend(  # type: ignore[no-untyped-call]
    Draft202012Validator,
    validators={
        name: _counted(keyword) for name, keyword in {**Draft202012Validator.VALIDATORS, **_OWN}.items()
    },
)
"""Draft 2020-12 with the keywords above. Ask it through ``failures_of`` only."""


def failures_of(validator: Any, instance: Any, run: Run, most: int) -> list[ValidationError]:
    """The first ``most`` failures of ``instance`` under the limits of ``run``. Raises LimitExceeded."""
    token = _RUN.set(run)
    try:
        return list(islice(validator.iter_errors(instance), most))
    except RecursionError:
        raise LimitExceeded from None
    finally:
        _RUN.reset(token)
