"""The optional accelerator: jsonschema-rs (``agentweb[fast]``) answers "is it valid?" for plain values.

It is asked only where its answer is certain to be the validator's: keywords that both read alike, schemas
whose numbers are integers, no asserted format and no pattern (those differ in dialect and in time limits),
no recursion (its time is not bounded). The value must be ``Survey.PLAIN``. It only ever says yes; problems
are always worded by the validator, so they are the same with and without it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from agentweb.wire.schema.formats import FORMATS
from agentweb.wire.schema.loading import LIST_OF_SCHEMAS, MAP_OF_SCHEMAS, ONE_SCHEMA, Loaded, subschemas

try:
    import jsonschema_rs
except ImportError:
    jsonschema_rs = None  # type: ignore[assignment]

_ALIKE: Final = frozenset(
    {
        *ONE_SCHEMA,
        *LIST_OF_SCHEMAS,
        *MAP_OF_SCHEMAS,
        *("$ref", "$anchor", "$comment", "type", "enum", "const", "multipleOf"),
        *("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "minLength", "maxLength"),
        *("minItems", "maxItems", "uniqueItems", "minContains", "maxContains"),
        *("required", "dependentRequired", "minProperties", "maxProperties"),
        *("title", "description", "default", "examples", "deprecated", "readOnly", "writeOnly", "format"),
    }
) - {"patternProperties", "contentSchema"}
_MAX_UNFOLDED: Final = 2_000
_SAFE: Final = 2**53


def compile_rust(loaded: Loaded) -> Callable[[Any], bool] | None:
    """A function that is True only for valid plain values; None without jsonschema-rs or outside its reach."""
    if jsonschema_rs is None or not isinstance(loaded.schema, dict) or not _is_reachable(loaded):
        return None
    try:
        ask = jsonschema_rs.Draft202012Validator(loaded.schema, validate_formats=False).is_valid
    except ValueError:
        return None

    def is_valid(value: Any) -> bool:
        try:
            return ask(value)
        except ValueError:
            return False  # a text with half a surrogate pair, which Rust cannot hold

    return is_valid


def _is_reachable(loaded: Loaded) -> bool:
    for _, node in subschemas(loaded.schema):
        if not all(keyword in _ALIKE or keyword.startswith("x-") for keyword in node):
            return False
        if node.get("format") in FORMATS or not _is_plain(node):
            return False
    return _unfolded(loaded, loaded.schema, (), 0) <= _MAX_UNFOLDED


def _is_plain(value: Any) -> bool:
    """Whether all numbers inside are integers that both sides hold exactly."""
    if isinstance(value, dict):
        return all(_is_plain(each) for each in value.values())
    if isinstance(value, list):
        return all(_is_plain(each) for each in value)
    if isinstance(value, (bool, str)) or value is None:
        return True
    return isinstance(value, int) and -_SAFE < value < _SAFE


def _unfolded(loaded: Loaded, schema: Any, above: tuple[int, ...], count: int) -> int:
    """How many schemas there are with every reference unfolded; beyond the limit for a recursive schema."""
    if not isinstance(schema, dict):
        return count
    if id(schema) in above:
        return _MAX_UNFOLDED + 1
    count += 1
    inside = (*above, id(schema))
    children = [loaded.target(schema), *(schema.get(keyword) for keyword in ONE_SCHEMA)]
    for keyword in LIST_OF_SCHEMAS:
        children.extend(schema.get(keyword, ()))
    for keyword in MAP_OF_SCHEMAS:
        children.extend(schema.get(keyword, {}).values())
    for child in children:
        if count > _MAX_UNFOLDED:
            break
        count = _unfolded(loaded, child, inside, count)
    return count
