"""A quick yes for valid values: plain functions for the common keywords.

``compile_fast`` turns a schema into one function of nested closures, about ten times faster than walking the
schema. Its answer is exact; the validator words the problems. It takes values that ``survey`` found PLAIN or
NUMERIC. Schemas with keywords outside the list, with recursion, or with patterns that need a time limit get
None. References are unfolded and the number of functions is capped, so that no schema multiplies work.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any, Final

from agentweb.wire.schema import numbers
from agentweb.wire.schema.equality import first_duplicate, key_of
from agentweb.wire.schema.formats import FORMATS
from agentweb.wire.schema.keywords import HardenedValidator
from agentweb.wire.schema.loading import Loaded
from agentweb.wire.schema.patterns import QUICK_TEXT, compile_pattern

Check = Callable[[Any], bool]

_MAX_CHECKS: Final = 300

_NUMBERS: Final = frozenset({int, Decimal, float})
# Values are of exact JSON classes here (see Survey), so one class test replaces isinstance and the bool rule.
_TYPES: Final[dict[str, Check]] = {
    "string": lambda value: type(value) is str,
    "integer": lambda value: type(value) is int or numbers.is_integer(value),
    "number": lambda value: type(value) in _NUMBERS,
    "boolean": lambda value: value is True or value is False,
    "object": lambda value: type(value) is dict,
    "array": lambda value: type(value) is list,
    "null": lambda value: value is None,
}


class NotSure(Exception):
    """A text is too long to be matched without a time limit; ask the validator."""


class _NotSimple(Exception):
    """The schema is outside what this module answers for."""


def compile_fast(loaded: Loaded) -> Check | None:
    """A function that says whether a value is valid, or None when the schema is not simple enough.

    The function may raise NotSure.
    """
    try:
        return _Builder(loaded).build(loaded.schema)
    except _NotSimple:
        return None


class _Builder:
    def __init__(self, loaded: Loaded) -> None:
        self.loaded = loaded
        self.open: list[int] = []
        self.made = 0

    def build(self, schema: Any) -> Check:
        self.made += 1
        if self.made > _MAX_CHECKS or id(schema) in self.open:
            raise _NotSimple
        if isinstance(schema, bool):
            return _anything if schema else _nothing
        self.open.append(id(schema))
        checks = [
            make(self, schema[keyword], schema) for keyword, make in _MAKERS.items() if keyword in schema
        ]
        if any(keyword in HardenedValidator.VALIDATORS and keyword not in _KNOWN for keyword in schema):
            raise _NotSimple
        self.open.pop()
        return _all(checks)


def _anything(_value: Any) -> bool:
    return True


def _nothing(_value: Any) -> bool:
    return False


def _all(checks: list[Check]) -> Check:
    match checks:
        case []:
            return _anything
        case [one]:
            return one
        case [one, other]:
            return lambda value: one(value) and other(value)
        case [one, other, third]:
            return lambda value: one(value) and other(value) and third(value)

    def all_checks(value: Any) -> bool:
        for check in checks:  # noqa: SIM110 - a generator for all() costs more than the checks
            if not check(value):
                return False
        return True

    return all_checks


def _any(checks: list[Check]) -> Check:
    def any_check(value: Any) -> bool:
        for check in checks:  # noqa: SIM110
            if check(value):
                return True
        return False

    return any_check


def _type(_builder: _Builder, kinds: Any, _schema: Any) -> Check:
    if isinstance(kinds, str):
        return _TYPES[kinds]
    return _any([_TYPES[kind] for kind in kinds])


def _enum(_builder: _Builder, choices: Any, _schema: Any) -> Check:
    texts = frozenset(choice for choice in choices if isinstance(choice, str))
    if len(texts) == len(choices):
        return lambda value: type(value) is str and value in texts
    keys = choices.keys
    return lambda value: key_of(value) in keys


def _const(_builder: _Builder, constant: Any, _schema: Any) -> Check:
    key = key_of(constant)
    return lambda value: key_of(value) == key


def _minimum(_builder: _Builder, limit: Any, _schema: Any) -> Check:
    return lambda value: type(value) not in _NUMBERS or numbers.exact(value) >= limit


def _maximum(_builder: _Builder, limit: Any, _schema: Any) -> Check:
    return lambda value: type(value) not in _NUMBERS or numbers.exact(value) <= limit


def _exclusive_minimum(_builder: _Builder, limit: Any, _schema: Any) -> Check:
    return lambda value: type(value) not in _NUMBERS or numbers.exact(value) > limit


def _exclusive_maximum(_builder: _Builder, limit: Any, _schema: Any) -> Check:
    return lambda value: type(value) not in _NUMBERS or numbers.exact(value) < limit


def _multiple_of(_builder: _Builder, factor: Any, _schema: Any) -> Check:
    return lambda value: type(value) not in _NUMBERS or numbers.is_multiple(value, factor)


def _min_length(_builder: _Builder, limit: int, _schema: Any) -> Check:
    return lambda value: type(value) is not str or len(value) >= limit


def _max_length(_builder: _Builder, limit: int, _schema: Any) -> Check:
    return lambda value: type(value) is not str or len(value) <= limit


def _pattern(_builder: _Builder, text: str, _schema: Any) -> Check:
    pattern = compile_pattern(text)
    if not pattern.quick:
        raise _NotSimple

    def fits(value: Any) -> bool:
        if type(value) is not str:
            return True
        if len(value) > QUICK_TEXT:
            raise NotSure
        return pattern.matches(value)

    return fits


def _format(_builder: _Builder, name: str, _schema: Any) -> Check:
    check = FORMATS.get(name)
    if check is None:
        return _anything
    return lambda value: type(value) is not str or check(value)


def _items(builder: _Builder, subschema: Any, schema: Any) -> Check:
    check = builder.build(subschema)
    first = len(schema.get("prefixItems", ()))

    def check_items(value: Any) -> bool:
        if type(value) is list:
            for each in value[first:] if first else value:
                if not check(each):
                    return False
        return True

    return check_items


def _prefix_items(builder: _Builder, subschemas: Any, _schema: Any) -> Check:
    checks = [builder.build(each) for each in subschemas]

    def check_prefix(value: Any) -> bool:
        return type(value) is not list or all(check(each) for check, each in zip(checks, value, strict=False))

    return check_prefix


def _min_items(_builder: _Builder, limit: int, _schema: Any) -> Check:
    return lambda value: type(value) is not list or len(value) >= limit


def _max_items(_builder: _Builder, limit: int, _schema: Any) -> Check:
    return lambda value: type(value) is not list or len(value) <= limit


def _unique_items(_builder: _Builder, unique: bool, _schema: Any) -> Check:
    if not unique:
        return _anything
    return lambda value: type(value) is not list or first_duplicate(value) is None


def _properties(builder: _Builder, properties: Any, schema: Any) -> Check:
    """``properties`` and ``additionalProperties`` in one pass over the members."""
    checks = {name: builder.build(child) for name, child in properties.items()}
    rest = builder.build(schema.get("additionalProperties", True))
    known = checks.get

    def check_members(value: Any) -> bool:
        if type(value) is dict:
            for name, member in value.items():
                if not known(name, rest)(member):
                    return False
        return True

    return check_members


def _additional_properties(builder: _Builder, _subschema: Any, schema: Any) -> Check:
    return _anything if "properties" in schema else _properties(builder, {}, schema)


def _required(_builder: _Builder, names: list[str], _schema: Any) -> Check:
    needed = frozenset(names)
    return lambda value: type(value) is not dict or needed <= value.keys()


def _min_properties(_builder: _Builder, limit: int, _schema: Any) -> Check:
    return lambda value: type(value) is not dict or len(value) >= limit


def _max_properties(_builder: _Builder, limit: int, _schema: Any) -> Check:
    return lambda value: type(value) is not dict or len(value) <= limit


def _reference(builder: _Builder, _text: str, schema: Any) -> Check:
    return builder.build(builder.loaded.target(schema))


def _all_of(builder: _Builder, branches: list[Any], _schema: Any) -> Check:
    return _all([builder.build(branch) for branch in branches])


def _any_of(builder: _Builder, branches: list[Any], _schema: Any) -> Check:
    return _any([builder.build(branch) for branch in branches])


def _one_of(builder: _Builder, branches: list[Any], _schema: Any) -> Check:
    checks = [builder.build(branch) for branch in branches]

    def exactly_one(value: Any) -> bool:
        found = False
        for check in checks:
            if check(value):
                if found:
                    return False
                found = True
        return found

    return exactly_one


def _not(builder: _Builder, subschema: Any, _schema: Any) -> Check:
    check = builder.build(subschema)
    return lambda value: not check(value)


def _if(builder: _Builder, condition: Any, schema: Any) -> Check:
    check = builder.build(condition)
    then, otherwise = builder.build(schema.get("then", True)), builder.build(schema.get("else", True))
    return lambda value: then(value) if check(value) else otherwise(value)


_MAKERS: Final[dict[str, Callable[[_Builder, Any, Any], Check]]] = {
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
    "prefixItems": _prefix_items,
    "items": _items,
    "required": _required,
    "minProperties": _min_properties,
    "maxProperties": _max_properties,
    "properties": _properties,
    "additionalProperties": _additional_properties,
    "$ref": _reference,
    "allOf": _all_of,
    "anyOf": _any_of,
    "oneOf": _one_of,
    "not": _not,
    "if": _if,
}
_KNOWN: Final = frozenset(_MAKERS)
