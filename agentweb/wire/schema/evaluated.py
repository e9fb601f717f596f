"""``unevaluatedProperties`` and ``unevaluatedItems``: what no keyword that applies in place has looked at.

JSON Schema core 11.2 and 11.3. jsonschema's own versions search patterns with ``re`` and give one error for
all members together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from referencing.jsonschema import DRAFT202012

from agentweb.wire.schema.descent import descend, is_valid, referenced
from agentweb.wire.schema.failures import Errors
from agentweb.wire.schema.run import current


def unevaluated_properties(validator: Any, subschema: Any, instance: Any, schema: Any) -> Errors:
    if not isinstance(instance, dict) or subschema is True:
        return
    evaluated = _evaluated(validator, instance, schema, _evaluated_names, "unevaluatedProperties")
    for name in instance:
        if name not in evaluated:
            yield from descend(validator, instance[name], subschema, name, code="unknown_field")


def unevaluated_items(validator: Any, subschema: Any, instance: Any, schema: Any) -> Errors:
    if not isinstance(instance, list) or subschema is True:
        return
    evaluated = _evaluated(validator, instance, schema, _evaluated_positions, "unevaluatedItems")
    for position, value in enumerate(instance):
        if position not in evaluated:
            yield from descend(validator, value, subschema, position, code="unevaluatedItems")


def _evaluated_names(validator: Any, instance: dict[str, Any], schema: dict[str, Any]) -> set[Any]:
    """Members that the keywords right here evaluate (core 10.3.2 and 11.3)."""
    if "additionalProperties" in schema or "unevaluatedProperties" in schema:
        return set(instance)
    names = set(schema.get("properties", {})) & set(instance)
    patterns = schema.get("patternProperties", ())
    run = current()
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
            if position not in positions and is_valid(validator, schema["contains"], value)
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
    current().step()
    own = {name: value for name, value in schema.items() if name != but}
    evaluated = here(validator, instance, own)
    for keyword in ("$ref", "$dynamicRef"):
        if keyword in schema:
            target, resolver = referenced(validator, schema[keyword], schema)
            evaluated |= _evaluated(
                validator.evolve(schema=target, _resolver=resolver), instance, target, here
            )
    for subschema in _in_place(validator, instance, schema):
        if is_valid(validator, subschema, instance):
            evaluated |= _evaluated(_enter(validator, subschema), instance, subschema, here)
    return evaluated


def _in_place(validator: Any, instance: Any, schema: dict[str, Any]) -> Iterator[Any]:
    for keyword in ("allOf", "anyOf", "oneOf"):
        yield from schema.get(keyword, ())
    if "if" in schema:
        if is_valid(validator, schema["if"], instance):
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
