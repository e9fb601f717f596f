"""The actions as they are found: in memory, for they are declared in code."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field

from agentweb.catalog.registry import registry
from agentweb.client.ranking import Collection
from agentweb.client.ranking_actions import action_impacts


@dataclass(frozen=True, slots=True)
class _Indexed:
    version: int = -1
    collection: Collection[str] = field(default_factory=Collection)


_kept = _Indexed()


def collection() -> Collection[str]:
    """All actions by their names, whoever may see them: ask for those ``among`` the visible ones."""
    global _kept  # noqa: PLW0603 - one for the process
    version = registry.version
    kept = _kept
    if kept.version != version:
        kept = _kept = _Indexed(version, _build())
    return kept.collection


def _build() -> Collection[str]:
    flows: defaultdict[str, list[str]] = defaultdict(list)
    for flow in registry.flows():
        for name in dict.fromkeys(step.action for step in flow.steps):
            flows[name].append(flow.name)
    found: Collection[str] = Collection()
    for action in registry.actions():
        found.add(
            action.name,
            action_impacts(
                name=action.name,
                title=action.title,
                description=action.description,
                effect=str(action.effect),
                input_schema=action.input_schema,
                flows=flows[action.name],
            ),
        )
    return found
