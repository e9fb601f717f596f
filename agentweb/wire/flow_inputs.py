"""The input of a flow, derived from where its steps use it (AGENT_ACTIONS section 9).

A reference that stands where an action takes an input copies that input's schema; used in two places, both must
hold. A member is required unless every use of it ends in ``?``. What is derived is closed. The actions and the flow
may be those of another site, so the work is bounded.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from agentweb.wire.references import Reference, parse_reference
from agentweb.wire.schema.shapes import properties_of, resolved
from agentweb.wire.strict_json import Json

_DEFS: Final = "#/$defs/"
MAX_NODES: Final = 200_000
"""Nodes of schemas that are copied for one flow: a foreign one may use a large schema in very many places."""

_OF_THE_WHOLE: Final = frozenset({"$schema", "$id", "$defs", "$anchor", "$comment"})


def derived_input(calls: Iterable[tuple[str, Mapping[str, Any], Json]]) -> dict[str, Any]:
    """The input schema of a flow. Each call is (action's name, its input schema, the step's ``with``).

    The references have been checked before. Raises ValueError when more than ``MAX_NODES`` would be copied.
    """
    root = _Member()
    defs: dict[str, Any] = {}
    room = _Room(MAX_NODES)
    for name, schema, given in calls:
        copier = _Copier(name, schema, defs, room)
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


@dataclass(slots=True)
class _Room:
    left: int

    def take(self) -> None:
        self.left -= 1
        if self.left < 0:
            raise ValueError(f"The flow's input is made of more than {MAX_NODES} parts of schemas.")


class _Copier:
    """Copies parts of one action's schema; its definitions come along under the action's name."""

    def __init__(self, action: str, root: Mapping[str, Any], defs: dict[str, Any], room: _Room) -> None:
        self.action = action
        self.root = root
        self.defs = defs
        self.room = room
        self._takes: dict[str, bool] = {}

    def copy(self, schema: Any) -> dict[str, Any]:
        if not isinstance(schema, Mapping):
            return {}
        if not all(self.can_take(reference) for reference in _references_of(schema)):
            return {}
        if schema is self.root:
            schema = {keyword: value for keyword, value in schema.items() if keyword not in _OF_THE_WHOLE}
        copied: dict[str, Any] = self.taken(schema)
        return copied

    def can_take(self, reference: str) -> bool:
        """Whether it leads to a definition, and those in it too; other references make no sense elsewhere."""
        if reference not in self._takes:
            self._takes[reference] = all(map(self._is_definition, self._reachable(reference)))
        return self._takes[reference]

    def _is_definition(self, reference: str) -> bool:
        return reference.startswith(_DEFS) and reference.removeprefix(_DEFS) in self.root.get("$defs", {})

    def _reachable(self, reference: str) -> set[str]:
        seen: set[str] = set()
        waiting = [reference]
        while waiting:
            here = waiting.pop()
            if here not in seen:
                seen.add(here)
                if self._is_definition(here):
                    waiting += _references_of(self.root["$defs"][here.removeprefix(_DEFS)])
        return seen

    def taken(self, value: Any) -> Any:
        self.room.take()
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
