"""Give handlers the Python numbers they expect: int at ``integer``, Decimal at ``number``.

Compiled once for each schema into a function, or None when no position is numeric, so that a schema of texts
costs nothing. Only a valid value may be prepared.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any

from agentweb.wire.schema import numbers
from agentweb.wire.schema.loading import Loaded

Prepare = Callable[[Any], Any]
Fits = Callable[[Any, Any], bool]


def compile_prepare(loaded: Loaded, fits: Fits) -> Prepare | None:
    """The function for a whole schema; ``fits(subschema, value)`` says which branch a value took.

    Followed are ``properties``, ``additionalProperties``, ``items``, ``prefixItems``, ``$ref``, ``allOf``, and
    of ``anyOf`` and ``oneOf`` the first branch that fits. The value that comes in is not changed.
    """
    return _Compiler(loaded, fits).compile(loaded.schema)


class _Compiler:
    def __init__(self, loaded: Loaded, fits: Fits) -> None:
        self.loaded = loaded
        self.fits = fits
        self.made: dict[int, Prepare | None] = {}
        self.open: set[int] = set()

    def compile(self, schema: Any) -> Prepare | None:
        if not isinstance(schema, dict):
            return None
        mark = id(schema)
        if mark in self.open:
            # A recursive schema: look the function up when it is called, it is finished by then.
            return lambda value: self._call(mark, value)
        if mark not in self.made:
            self.open.add(mark)
            self.made[mark] = self._steps(schema)
            self.open.discard(mark)
        return self.made[mark]

    def _call(self, mark: int, value: Any) -> Any:
        made = self.made.get(mark)
        return value if made is None else made(value)

    def _steps(self, schema: dict[str, Any]) -> Prepare | None:
        parts = [self._number(schema), self._object(schema), self._array(schema)]
        parts += [self.compile(each) for each in (self.loaded.target(schema), *schema.get("allOf", ()))]
        parts += [self._branches(schema.get(keyword, ())) for keyword in ("anyOf", "oneOf")]
        steps = [part for part in parts if part is not None]
        if not steps:
            return None
        if len(steps) == 1:
            return steps[0]

        def all_steps(value: Any) -> Any:
            for step in steps:
                value = step(value)
            return value

        return all_steps

    def _number(self, schema: dict[str, Any]) -> Prepare | None:
        kinds = schema.get("type")
        if kinds == "integer" or (isinstance(kinds, list) and "integer" in kinds):
            return _to_integer
        if kinds == "number" or (isinstance(kinds, list) and "number" in kinds):
            return _to_decimal
        return None

    def _object(self, schema: dict[str, Any]) -> Prepare | None:
        members = {name: self.compile(child) for name, child in schema.get("properties", {}).items()}
        known = {name: member for name, member in members.items() if member is not None}
        rest = self.compile(schema.get("additionalProperties"))
        patterns = schema.get("patternProperties")
        if not known and (rest is None or patterns):
            return None

        def prepare_object(value: Any) -> Any:
            if not isinstance(value, dict):
                return value
            prepared = dict(value)
            for name, member in known.items():
                if name in prepared:
                    prepared[name] = member(prepared[name])
            if rest is not None and not patterns:
                for name in prepared.keys() - members.keys():
                    prepared[name] = rest(prepared[name])
            return prepared

        return prepare_object

    def _array(self, schema: dict[str, Any]) -> Prepare | None:
        first = [self.compile(child) for child in schema.get("prefixItems", ())]
        rest = self.compile(schema.get("items"))
        if rest is None and not any(first):
            return None

        def prepare_array(value: Any) -> Any:
            if not isinstance(value, list):
                return value
            prepared = list(value)
            for position, each in enumerate(value):
                step = first[position] if position < len(first) else rest
                if step is not None:
                    prepared[position] = step(each)
            return prepared

        return prepare_array

    def _branches(self, branches: list[Any]) -> Prepare | None:
        steps = [(branch, self.compile(branch)) for branch in branches]
        if all(step is None for _, step in steps):
            return None

        def prepare_branch(value: Any) -> Any:
            for branch, step in steps:
                if self.fits(branch, value):
                    return value if step is None else step(value)
            return value

        return prepare_branch


def _to_integer(value: Any) -> Any:
    """``["integer", "number"]`` too: a fraction stays a Decimal."""
    if isinstance(value, (float, Decimal)):
        return int(value) if numbers.is_integer(value) else numbers.exact(value)
    return value


def _to_decimal(value: Any) -> Any:
    if isinstance(value, Decimal) or not numbers.is_number(value):
        return value
    return Decimal(numbers.exact(value))
