"""Following ``$ref`` in an OpenAPI document: within it, and never out of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import unquote

from agentweb.catalog.drf.openapi import COMPONENTS, assembled, converted

_MOST: Final = 50
_MOST_COMPONENTS: Final = 250
"""More make a schema larger than what agents take of a stranger (``schema.loading.FOREIGN``)."""

_VALUES: Final = frozenset({"enum", "const", "default", "examples", "required"})
_MAPS: Final = frozenset({"properties", "patternProperties", "dependentSchemas", "$defs"})

# ``catalog.drf.openapi`` is written for the schemas of this very site, which are sound: these have not been looked at.
_UNSOUND: Final = (AttributeError, LookupError, TypeError, ValueError, RecursionError)

Schema = dict[str, Any]


class ReferenceProblem(ValueError):
    """A reference leads out of the document, nowhere, or in a circle; the text says which."""


class TooLarge(ReferenceProblem):
    """A schema needs too many others."""


def _unsound() -> ReferenceProblem:
    return ReferenceProblem("a schema has a keyword with a value that it cannot have")


class References:
    """Looks up what the references of one document point at."""

    def __init__(self, document: Mapping[str, Any]) -> None:
        self._document = document
        self._names: dict[str, str] = {}
        self._taken: set[str] = set()
        self._components: dict[tuple[str, str], tuple[Any, list[str]]] = {}

    def follow(self, value: Any) -> Any:
        """What a Reference Object stands for; anything else is itself."""
        for _ in range(_MOST):
            reference = value.get("$ref") if isinstance(value, Mapping) else None
            if not isinstance(reference, str):
                return value
            value = self._target(reference)
        raise ReferenceProblem("references lead from one to another without end")

    def schema(self, schema: Any, *, drop: str) -> Any:
        """A schema of the document as JSON Schema 2020-12 that stands alone. ``drop`` as in ``converted``.

        Raises TooLarge for one that needs so many others that no agent would take it.
        """
        if isinstance(schema, bool):
            return schema
        if not isinstance(schema, Mapping):
            raise ReferenceProblem("a schema is neither an object nor true or false")
        root, waiting = self._converted(schema, drop)
        components: dict[str, Schema] = {}
        while waiting:
            reference = waiting.pop(0)
            name = self._name_of(reference)
            if name in components:
                continue
            if len(components) >= _MOST_COMPONENTS:
                raise TooLarge(f"a schema needs more than {_MOST_COMPONENTS} others")
            known = self._components.get((reference, drop))
            if known is None:
                known = self._components[reference, drop] = self._converted(self._target(reference), drop)
            components[name] = known[0]
            waiting += known[1]
        try:
            found: Schema = assembled(root, components)
        except _UNSOUND:
            raise _unsound() from None
        return found

    def _converted(self, schema: Any, drop: str) -> tuple[Any, list[str]]:
        """(the schema in 2020-12 with its references as those of components, these references)."""
        met: dict[str, None] = {}
        try:
            as_schema = converted(schema, drop=drop) if isinstance(schema, Mapping) else schema
            if isinstance(as_schema, bool):
                as_schema = {} if as_schema else {"not": {}}
            return self._renamed(as_schema, met), list(met)
        except _UNSOUND:
            raise _unsound() from None

    def _renamed(self, value: Any, met: dict[str, None]) -> Any:
        if isinstance(value, list):
            return [self._renamed(each, met) for each in value]
        if not isinstance(value, Mapping):
            return value
        found = {word: self._renamed_word(word, each, met) for word, each in value.items()}
        reference = value.get("$ref")
        if isinstance(reference, str):
            found["$ref"] = COMPONENTS + self._name_of(reference)
            met[reference] = None
        return found

    def _renamed_word(self, word: str, value: Any, met: dict[str, None]) -> Any:
        if word in _VALUES:
            return value
        if word in _MAPS and isinstance(value, Mapping):
            # Whatever the members are called, each is a schema.
            return {name: self._renamed(each, met) for name, each in value.items()}
        return self._renamed(value, met)

    def _name_of(self, reference: str) -> str:
        """What the target is called under ``$defs``: its own name where it has one, else its place with dots."""
        known = self._names.get(reference)
        if known is not None:
            return known
        name = reference.removeprefix(COMPONENTS)
        if name == reference or "/" in name:
            name = reference.removeprefix("#/").replace("~1", ".").replace("~0", "~").replace("/", ".")
        while name in self._taken:
            name += "_"
        self._names[reference] = name
        self._taken.add(name)
        return name

    def _target(self, reference: str) -> Any:
        if not reference.startswith("#"):
            raise ReferenceProblem(
                f"{reference[:200]!r} leads out of the document; write it into the document first"
            )
        if reference != "#" and not reference.startswith("#/"):
            raise ReferenceProblem(f"{reference[:200]!r} is no JSON Pointer")
        value: Any = self._document
        for step in unquote(reference).split("/")[1:]:
            name = step.replace("~1", "/").replace("~0", "~")
            if isinstance(value, Mapping) and name in value:
                value = value[name]
            elif isinstance(value, list) and name.isdecimal() and len(name) < 10 and int(name) < len(value):
                value = value[int(name)]
            else:
                raise ReferenceProblem(f"{reference[:200]!r} points at nothing")
        return value
