"""The action manifest, ``/.well-known/agent-actions.json``: a pure function of what the site declares.

The members of agent-actions/0.1 stand first and as it names them; ours follow, only where they say something:
``title``, ``output``, ``example``, ``consequential``, ``idempotent``, ``confirm`` and ``tags`` of an action,
``description``, ``input`` and ``output`` of a flow, and ``keys``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from agentweb.catalog.actions import Action
from agentweb.catalog.declaring import humanised
from agentweb.catalog.effects import CONSEQUENTIAL, is_idempotent_by_nature
from agentweb.catalog.flows import Flow

VERSION: Final = "agent-actions/0.1"


def manifest(
    *,
    actions: Iterable[Action],
    flows: Iterable[Flow],
    site: str,
    keys: list[dict[str, Any]],
    endpoints: Mapping[str, str],
    prefix: str = "",
) -> dict[str, Any]:
    """The document for a caller who may see ``actions``.

    ``site`` is the authority, ``host[:port]``; ``keys`` the JWKs that receipts verify with; ``endpoints`` name ->
    absolute URL of what answers; ``prefix`` what stands before every action's path when the site is mounted under
    a path. A flow with a step that is not among ``actions`` is left out: an unseen action is not mentioned.
    """
    listed = list(actions)
    names = {action.name for action in listed}
    document: dict[str, Any] = {
        "version": VERSION,
        "site": site,
        "auth": {"type": "agent-grant"},
        "actions": [action_entry(action, prefix) for action in listed],
        "flows": [flow_entry(flow) for flow in flows if all(step.action in names for step in flow.steps)],
    }
    if endpoints:
        document["endpoints"] = dict(endpoints)
    if keys:
        document["keys"] = keys
    return document


def action_entry(action: Action, prefix: str = "") -> dict[str, Any]:
    """One member of ``actions``."""
    entry: dict[str, Any] = {
        "name": action.name,
        "description": action.description,
        "method": action.method,
        "path": prefix + action.path,
        "effect": str(action.effect),
    }
    if action.scope is not None:
        entry["scope"] = action.scope
    entry["input"] = action.input_schema
    if action.cost is not None:
        entry["cost"] = action.cost.as_manifest()
    if action.title != humanised(action.name):
        entry["title"] = action.title
    if action.output_schema is not None:
        entry["output"] = action.output_schema
    if action.has_example and not _is_made_up(action):
        entry["example"] = action.example
    # The effect implies both; what it implies is not repeated for every action (AGENT_ACTIONS section 11).
    if action.consequential != (action.effect in CONSEQUENTIAL):
        entry["consequential"] = action.consequential
    if action.idempotent != is_idempotent_by_nature(action.effect, action.method):
        entry["idempotent"] = action.idempotent
    if action.confirm is not None:
        entry["confirm"] = action.confirm
    if action.tags:
        entry["tags"] = list(action.tags)
    return entry


def flow_entry(flow: Flow) -> dict[str, Any]:
    """One member of ``flows``."""
    entry: dict[str, Any] = {
        "name": flow.name,
        "steps": [{"action": step.action, "with": step.with_} for step in flow.steps],
    }
    if flow.description:
        entry["description"] = flow.description
    entry["input"] = flow.input_schema
    if flow.output is not None:
        entry["output"] = flow.output
    return entry


def _is_made_up(action: Action) -> bool:
    """Whether the example only repeats the schema: then it tells a reader nothing, and costs tokens."""
    made = action.input.example()
    return type(made) is type(action.example) and made == action.example
