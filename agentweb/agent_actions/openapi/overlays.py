"""What the owner of a site adds to an OpenAPI document beside it: effects, scopes, costs, names, and flows.

::

    {
        "operations": {
            "createOrder": {
                "effect": "spend",
                "scope": "orders:write",
                "cost": {"field": "price", "currency": "USD"},
            },
            "GET /internal": {"skip": true},
        },
        "flows": [{"name": "buy", "steps": [...]}],
    }

An operation is named by its operationId, or by method and path. What stands here wins over ``x-agent-…`` members.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any, Final

from agentweb.agent_actions.openapi.report import Report

WORDS: Final = frozenset(
    {
        "effect", "scope", "cost", "name", "title", "description", "input", "example", "consequential", "idempotent",
        "confirm", "tags", "skip",
    }
)  # fmt: skip


@dataclass(slots=True)
class Overlay:
    """``used`` are the names of operations that were met."""

    operations: Mapping[str, Mapping[str, Any]]
    flows: list[Any]
    used: set[str] = field(default_factory=set)

    def words_of(self, *names: str) -> dict[str, Any]:
        """What is said of the operation of these names."""
        found: dict[str, Any] = {}
        for name in names:
            if name in self.operations:
                self.used.add(name)
                found |= self.operations[name]
        return found

    def say_unused(self, names: set[str], report: Report) -> None:
        """Errors for what names no operation: a slip would publish it with an effect that nobody meant."""
        for name in sorted(self.operations.keys() - self.used):
            near = get_close_matches(name, names, n=1)
            hint = f" Did you mean {near[0]!r}?" if near else ""
            report.error(
                "", "overlay", f"The overlay speaks of {name!r}, and there is no such operation.{hint}"
            )


def read_overlay(value: Any, report: Report) -> Overlay:
    """The overlay of a document; what is wrong with it is in the report."""
    if not isinstance(value, Mapping):
        report.error("", "overlay", 'An overlay is {"operations": {…}, "flows": […]}.')
        return Overlay({}, [])
    for name in sorted(value.keys() - {"operations", "flows"}):
        report.error("", "overlay", f"The overlay has {name!r}; it has operations and flows.")
    given, flows = value.get("operations", {}), value.get("flows", [])
    if not isinstance(given, Mapping) or not isinstance(flows, list):
        report.error("", "overlay", "operations is an object by operation, and flows a list.")
        return Overlay({}, [])
    operations = {}
    for name, words in given.items():
        unknown = sorted(words.keys() - WORDS) if isinstance(words, Mapping) else None
        if unknown is None:
            report.error("", "overlay", f"What the overlay says of {name!r} is no object.")
        elif unknown:
            report.error("", "overlay", f"The overlay says {', '.join(unknown)} of {name!r}; it may say "
                                        f"{', '.join(sorted(WORDS))}.")  # fmt: skip
        else:
            operations[name] = words
    return Overlay(operations, flows)
