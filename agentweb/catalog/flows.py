"""Flows: ordered calls of actions that a client runs (AGENT_ACTIONS section 9)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from agentweb.catalog.faults import Fault

if TYPE_CHECKING:
    from agentweb.catalog.actions import Action


@dataclass(frozen=True, slots=True)
class Step:
    """One call: the action's name, and its input with references (``$input.x``, ``$steps.0.id``) in it."""

    action: str
    with_: dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Flow:
    """A flow that holds: its actions exist and its references lead somewhere."""

    name: str
    description: str
    input_schema: dict[str, Any]
    steps: tuple[Step, ...]
    output: Any = None

    @property
    def where(self) -> str:
        return f"flow {self.name}"

    def resolve(self, actions: Mapping[str, Action]) -> tuple[Flow | None, list[Fault]]:
        return self, []
