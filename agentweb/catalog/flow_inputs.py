"""The input of a flow, derived from where its steps use it (AGENT_ACTIONS section 9).

A reference that stands where an action takes an input copies that input's schema; used in two places, both must
hold. A member is required unless every use of it ends in ``?``. What is derived is closed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from agentweb.catalog.schema_shapes import properties_of, resolved
from agentweb.wire.references import Reference, parse_reference
from agentweb.wire.strict_json import Json

_DEFS: Final = "#/$defs/"
_OF_THE_WHOLE: Final = frozenset({"$schema", "$id", "$defs", "$anchor", "$comment"})


def derived_input(calls: Iterable[tuple[str, Mapping[str, Any], Json]]) -> dict[str, Any]:
    """The input schema of a flow. Each call is (action's name, its input schema, the step's ``with``).

    The references have been checked before.
    """
    root = _Member()
    defs: dict[str, Any] = {}
    for name, schema, given in calls:
        copier = _Copier(name, schema, defs)
        for reference, target in _uses(given, schema, schema):
            root.use(reference, copier.copy(target))
    found = root.schema() if root.asked else root.object_schema(is_closed=True)
    if "type" not in found:
        found = {"type": "object", **found}
    return {**found, "$defs": defs} if defs else found


def _uses(given: Json, schema: Any, root: Mapping[str, Any]) -> Iterator[tuple[Reference, Any]]:
    """Every reference to the flow's input in ``given``, with the schema of the place where it stands."""
    if isinstance(given, str):
        reference = parse_reference(given)
        if reference is not None and reference.step is None:
            yield reference, schema
    elif isinstance(given, dict):
        members = properties_of(schema, root)
        rest = resolved(schema, root).get("additionalProperties", {})
        for name, value in given.items():
            yield from _uses(value, members.get(name, rest), root)
    elif isinstance(given, list):
        found = resolved(schema, root)
        first = found.get("prefixItems", ())
        for place, value in enumerate(given):
            yield from _uses(value, first[place] if place < len(first) else found.get("items", {}), root)


@dataclass(slots=True)
class _Member:
    """One member of the input: what is asked of its value, and of the members in it."""

    asked: list[dict[str, Any]] = field(default_factory=list)
    members: dict[str, _Member] = field(default_factory=dict)
    is_required: bool = False

    def use(self, reference: Reference, schema: dict[str, Any]) -> None:
        here = self
        for segment in reference.path:
            if segment.is_index:
                # A list's place or a member named by digits: nobody can say, so nothing is asked.
                schema = {}
                break
            here = here.members.setdefault(segment.name, _Member())
            here.is_required = here.is_required or not reference.optional
        if schema and schema not in here.asked:
            here.asked.append(schema)

    def schema(self) -> dict[str, Any]:
        parts = list(self.asked)
        if self.members:
            parts.append(self.object_schema(is_closed=not parts))
        if len(parts) == 1:
            return parts[0]
        return {"allOf": parts} if parts else {}

    def object_schema(self, *, is_closed: bool) -> dict[str, Any]:
        found: dict[str, Any] = {"type": "object"}
        found["properties"] = {name: member.schema() for name, member in self.members.items()}
        required = [name for name, member in self.members.items() if member.is_required]
        if required:
            found["required"] = required
        if is_closed:
            found["additionalProperties"] = False
        return found


class _Copier:
    """Copies parts of one action's schema; its definitions come along under the action's name."""

    def __init__(self, action: str, root: Mapping[str, Any], defs: dict[str, Any]) -> None:
        self.action = action
        self.root = root
        self.defs = defs

    def copy(self, schema: Any) -> dict[str, Any]:
        if not isinstance(schema, Mapping):
            return {}
        if not all(self.can_take(reference) for reference in _references_of(schema)):
            return {}
        if schema is self.root:
            schema = {keyword: value for keyword, value in schema.items() if keyword not in _OF_THE_WHOLE}
        copied: dict[str, Any] = self.taken(schema)
        return copied

    def can_take(self, reference: str, seen: frozenset[str] = frozenset()) -> bool:
        """Whether it leads to a definition, and those in it too; other references make no sense elsewhere."""
        name = reference.removeprefix(_DEFS)
        definitions = self.root.get("$defs", {})
        if not reference.startswith(_DEFS) or name not in definitions:
            return False
        return reference in seen or all(
            self.can_take(each, seen | {reference}) for each in _references_of(definitions[name])
        )

    def taken(self, value: Any) -> Any:
        if isinstance(value, Mapping):
            return {
                keyword: self.renamed(part)
                if keyword == "$ref" and isinstance(part, str)
                else self.taken(part)
                for keyword, part in value.items()
            }
        return [self.taken(part) for part in value] if isinstance(value, list) else value

    def renamed(self, reference: str) -> str:
        name = reference.removeprefix(_DEFS)
        new = f"{self.action}.{name}"
        if new not in self.defs:
            self.defs[new] = {}  # taken, should it contain itself
            self.defs[new] = self.taken(self.root["$defs"][name])
        return f"{_DEFS}{new}"


def _references_of(value: Any) -> Iterator[str]:
    if isinstance(value, Mapping):
        for keyword, part in value.items():
            if keyword in {"$ref", "$dynamicRef"} and isinstance(part, str):
                yield part if keyword == "$ref" else ""
            else:
                yield from _references_of(part)
    elif isinstance(value, list):
        for part in value:
            yield from _references_of(part)
