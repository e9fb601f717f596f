"""``/awp/api/tools/functions.json``: every action that everybody may know of, as a function schema."""

from __future__ import annotations

from typing import Any

from agentweb.awp import budgets, protocol
from agentweb.awp.budgets import Fitted
from agentweb.awp.publishing.facts import ACTIONS_DOOR, Facts
from agentweb.catalog.actions import Action
from agentweb.catalog.effects import Effect


def document(facts: Facts) -> dict[str, Any]:
    """The document; without the room by which actions are called there are none."""
    return {
        "version": protocol.VERSION,
        "functions": [function(action, facts) for action in facts.actions],
    }


def function(action: Action, facts: Facts) -> dict[str, Any]:
    """One member of ``functions``. What a result looks like stays open where the site does not say it."""
    return {
        "name": action.name,
        "description": description(action, facts).text,
        "method": action.method,
        "path": facts.place.prefix + action.path,
        "parameters": action.input_schema,
        "returns": {} if action.output_schema is None else action.output_schema,
        "tags": list(action.tags),
        "auth_required": needs_authentication(action),
    }


def description(action: Action, facts: Facts) -> Fitted:
    """As it is served; what does not fit stands in the manifest of the actions."""
    where = facts.doors.get(ACTIONS_DOOR)
    pointer = "" if where is None else f"More: {where}"
    return budgets.fit(action.description, budgets.FUNCTION_DESCRIPTION, pointer, facts.measure)


def needs_authentication(action: Action) -> bool:
    """A read without a scope is open to everyone (AGENT_ACTIONS 2.4)."""
    return action.effect is not Effect.READ or action.scope is not None
