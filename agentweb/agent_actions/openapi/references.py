"""Following ``$ref`` in an OpenAPI document: within it, and never out of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import unquote

from agentweb.catalog.drf.openapi import COMPONENTS, assembled, converted

_MOST: Final = 50
_MOST_COMPONENTS: Final = 2_000

_VALUES: Final = frozenset({"enum", "const", "default", "examples", "required"})
_MAPS: Final = frozenset({"properties", "patternProperties", "dependentSchemas", "$defs"})

Schema = dict[str, Any]


class ReferenceProblem(ValueError):
    """A reference leads out of the document, nowhere, or in a circle; the text says which."""


class References:
    """Looks up what the references of one document point at."""

    def __init__(self, document: Mapping[str, Any]) -> None:
        self._document = document
        self._names: dict[str, str] = {}

    def follow(self, value: Any) -> Any:
        """What a Reference Object stands for; anything else is itself."""
        for _ in range(_MOST):
            reference = value.get("$ref") if isinstance(value, Mapping) else None
            if not isinstance(reference, str):
                return value
            value = self._target(reference)
        raise ReferenceProblem("references lead from one to another without end")

    def schema(self, schema: Any, *, drop: str) -> Any:
        """A schema of the document as JSON Schema 2020-12 that stands alone. ``drop`` as in ``converted``."""
        if isinstance(schema, bool):
            return schema
        if not isinstance(schema, Mapping):
            raise ReferenceProblem("a schema is neither an object nor true or false")
        components: dict[str, Schema] = {}
        root = self._renamed(converted(schema, drop=drop), components, drop)
        found: Schema = assembled(root, components)
        return found

    def _renamed(self, value: Any, components: dict[str, Schema], drop: str) -> Any:
        """The value with all of its references as those of components, which are taken along."""
        if isinstance(value, list):
            return [self._renamed(each, components, drop) for each in value]
        if not isinstance(value, Mapping):
            return value
        found = {word: self._renamed_word(word, each, components, drop) for word, each in value.items()}
        reference = value.get("$ref")
        if isinstance(reference, str):
            name = self._name_of(reference)
            found["$ref"] = COMPONENTS + name
            if name not in components:
                if len(components) >= _MOST_COMPONENTS:
                    raise ReferenceProblem(f"a schema needs more than {_MOST_COMPONENTS} others")
                components[name] = {}
                target = self._target(reference)
                as_schema = converted(target, drop=drop) if isinstance(target, Mapping) else target
                if isinstance(as_schema, bool):
                    as_schema = {} if as_schema else {"not": {}}
                components[name] = self._renamed(as_schema, components, drop)
        return found

    def _renamed_word(self, word: str, value: Any, components: dict[str, Schema], drop: str) -> Any:
        if word in _VALUES:
            return value
        if word in _MAPS and isinstance(value, Mapping):
            # Whatever the members are called, each is a schema.
            return {name: self._renamed(each, components, drop) for name, each in value.items()}
        return self._renamed(value, components, drop)

    def _name_of(self, reference: str) -> str:
        """What the target is called under ``$defs``: its own name where it has one, else its place with dots."""
        known = self._names.get(reference)
        if known is not None:
            return known
        name = reference.removeprefix(COMPONENTS)
        if name == reference or "/" in name:
            name = reference.removeprefix("#/").replace("~1", ".").replace("~0", "~").replace("/", ".")
        while name in self._names.values():
            name += "_"
        self._names[reference] = name
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
