"""The hardened validator: jsonschema's Draft202012Validator with our own keywords where its are unsafe.

What is replaced, and why:

- ``pattern``, ``patternProperties``, ``additionalProperties``, ``unevaluatedProperties``: ECMA-262 with a
  time limit in place of ``re.search``;
- ``uniqueItems``, ``enum``, ``const``: hashed JSON equality, linear in the size;
- numbers: int, Decimal and float together, exactly;
- ``format``: our assertions;
- every message: a Failure has none. It says which member or branch is meant, and ``schema_problems``
  words it from the keyword and the keyword's value. The instance's values are never formatted.

Every keyword is a step of the current Run (``schema_run``), which bounds the work.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import islice
from typing import Any, Final

from jsonschema import Draft202012Validator, ValidationError
from jsonschema.validators import extend

from agentweb.wire.schema import numbers
from agentweb.wire.schema.descent import descend, is_valid, referenced
from agentweb.wire.schema.equality import Choices, are_equal, first_duplicate
from agentweb.wire.schema.evaluated import unevaluated_items, unevaluated_properties
from agentweb.wire.schema.failures import Errors, Failure
from agentweb.wire.schema.formats import FORMATS
from agentweb.wire.schema.run import current

Keyword = Callable[[Any, Any, Any, Any], Iterable[ValidationError]]


_TYPES: Final[dict[str, Callable[[Any], bool]]] = {
    "string": lambda value: isinstance(value, str),
    "integer": numbers.is_integer,
    "number": numbers.is_number,
    "boolean": lambda value: isinstance(value, bool),
    "object": lambda value: isinstance(value, dict),
    "array": lambda value: isinstance(value, list),
    "null": lambda value: value is None,
}


def _type(_validator: Any, kinds: Any, instance: Any, _schema: Any) -> Errors:
    if isinstance(kinds, str):
        kinds = [kinds]
    if not any(_TYPES[kind](instance) for kind in kinds):
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
        found = current().matches(pattern, instance)
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


def _properties(validator: Any, properties: dict[str, Any], instance: Any, _schema: Any) -> Errors:
    if isinstance(instance, dict):
        for name, subschema in properties.items():
            if name in instance:
                yield from descend(validator, instance[name], subschema, name, code="unknown_field")


def _prefix_items(validator: Any, subschemas: list[Any], instance: Any, _schema: Any) -> Errors:
    if isinstance(instance, list):
        for position, (value, subschema) in enumerate(zip(instance, subschemas, strict=False)):
            yield from descend(validator, value, subschema, position)


def _all_of(validator: Any, branches: list[Any], instance: Any, _schema: Any) -> Errors:
    for branch in branches:
        yield from descend(validator, instance, branch)


def _dependent_schemas(validator: Any, subschemas: dict[str, Any], instance: Any, _schema: Any) -> Errors:
    if isinstance(instance, dict):
        for name, subschema in subschemas.items():
            if name in instance:
                yield from descend(validator, instance, subschema)


def _items(validator: Any, subschema: Any, instance: Any, schema: Any) -> Errors:
    if not isinstance(instance, list):
        return
    prefix = len(schema.get("prefixItems", ()))
    if subschema is False:
        if len(instance) > prefix:
            yield Failure(detail=prefix)
        return
    for position in range(prefix, len(instance)):
        yield from descend(validator, instance[position], subschema, position)


def _contains(validator: Any, subschema: Any, instance: Any, schema: Any) -> Errors:
    if not isinstance(instance, list):
        return
    least, most = schema.get("minContains", 1), schema.get("maxContains")
    count = sum(1 for each in instance if is_valid(validator, subschema, each))
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
            broken = list(descend(validator, name, subschema))
            if broken:
                yield Failure(path=[name], branches=[broken])


def _pattern_properties(validator: Any, patterns: dict[str, Any], instance: Any, _schema: Any) -> Errors:
    if not isinstance(instance, dict):
        return
    run = current()
    for pattern, subschema in patterns.items():
        for name, value in instance.items():
            found = run.matches(pattern, name)
            if found:
                yield from descend(validator, value, subschema, name, code="unknown_field")
            elif found is None:
                # Nobody knows whether the subschema applies, so the name itself is refused.
                yield Failure(path=[name], code="pattern", detail="timeout")


def _additional_names(instance: dict[str, Any], schema: dict[str, Any]) -> list[str]:
    """Members that neither ``properties`` nor ``patternProperties`` speak of."""
    known = schema.get("properties", {})
    names = [name for name in instance if name not in known]
    patterns = schema.get("patternProperties")
    if patterns:
        run = current()
        names = [name for name in names if not any(run.matches(pattern, name) for pattern in patterns)]
    return names


def _additional_properties(validator: Any, subschema: Any, instance: Any, schema: Any) -> Errors:
    if not isinstance(instance, dict) or subschema is True:
        return
    for name in _additional_names(instance, schema):
        yield from descend(validator, instance[name], subschema, name, code="unknown_field")


def _reference(validator: Any, reference: str, instance: Any, schema: Any) -> Errors:
    target, resolver = referenced(validator, reference, schema)
    if isinstance(target, bool):
        yield from descend(validator, instance, target)
    else:
        yield from validator.descend(instance, target, resolver=resolver)


def _any_of(validator: Any, branches: list[Any], instance: Any, _schema: Any) -> Errors:
    failures = []
    for branch in branches:
        broken = list(descend(validator, instance, branch))
        if not broken:
            return
        failures.append(broken)
    yield Failure(branches=failures)


def _one_of(validator: Any, branches: list[Any], instance: Any, _schema: Any) -> Errors:
    failures = []
    fitting = []
    for position, branch in enumerate(branches):
        broken = list(descend(validator, instance, branch))
        failures.append(broken)
        if not broken:
            fitting.append(position)
    if not fitting:
        yield Failure(branches=failures)
    elif len(fitting) > 1:
        yield Failure(detail=fitting)


def _not(validator: Any, subschema: Any, instance: Any, _schema: Any) -> Errors:
    if is_valid(validator, subschema, instance):
        yield Failure()


def _if(validator: Any, condition: Any, instance: Any, schema: Any) -> Errors:
    chosen = "then" if is_valid(validator, condition, instance) else "else"
    if chosen in schema:
        yield from descend(validator, instance, schema[chosen])


def _counted(keyword: Keyword) -> Keyword:
    def counted(validator: Any, value: Any, instance: Any, schema: Any) -> Iterable[ValidationError]:
        current().step()
        return keyword(validator, value, instance, schema)

    return counted


_OWN: Final[dict[str, Keyword]] = {
    "$ref": _reference,
    "$dynamicRef": _reference,
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
    "properties": _properties,
    "prefixItems": _prefix_items,
    "allOf": _all_of,
    "dependentSchemas": _dependent_schemas,
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
    "unevaluatedProperties": unevaluated_properties,
    "unevaluatedItems": unevaluated_items,
}

HardenedValidator: Final[Any] = extend(  # type: ignore[no-untyped-call]
    Draft202012Validator,
    validators={
        name: _counted(keyword) for name, keyword in {**Draft202012Validator.VALIDATORS, **_OWN}.items()
    },
)
"""Draft 2020-12 with the keywords above. Ask it inside ``limited(run)`` only."""


def failures_of(validator: Any, instance: Any, most: int) -> list[ValidationError]:
    """The first ``most`` failures of ``instance``. Call it inside ``limited``. Raises LimitExceeded."""
    return list(islice(validator.iter_errors(instance), most))
