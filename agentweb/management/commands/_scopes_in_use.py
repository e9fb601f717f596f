"""The scopes that this site's actions ask for, so that a grant of others does not surprise anybody later."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from typing import Final

from agentweb.awp.analytics.views import SCOPE as ANALYTICS
from agentweb.catalog.registry import registry
from agentweb.wire.scopes import covers

_OF_ROOMS: Final = (ANALYTICS,)
"""What a room asks for itself, for no action."""
_LISTED: Final = 40


def scopes() -> list[str]:
    """Each scope that an action asks for, once, in alphabetical order."""
    return sorted({action.scope for action in registry.actions() if action.scope is not None})


def sentence() -> str:
    """All of them in one sentence for the person at the terminal."""
    known = scopes()
    said = f"The scopes that this site's actions use: {_listed(known)}."
    if not known:
        said = "No action of this site asks for a scope."
    open_to_any = [each.name for each in registry.actions() if each.scope is None and each.effect != "read"]
    if open_to_any:
        said += f" Any grant may call: {_listed(open_to_any)}."
    return said


def warnings(patterns: Iterable[str]) -> list[str]:
    """What to say about patterns that cover the scope of no action; empty when there is nothing to say."""
    known = scopes()
    lines = []
    for pattern in patterns:
        if any(covers(pattern, scope) for scope in (*known, *_OF_ROOMS)):
            continue
        nearest = get_close_matches(pattern, known, n=1, cutoff=0.5)
        hint = f" Did you mean {nearest[0]}?" if nearest else ""
        lines.append(f"Warning: no action of this site uses the scope {pattern}.{hint}")
    return [*lines, sentence()] if lines else []


def _listed(names: list[str]) -> str:
    more = f" and {len(names) - _LISTED} more" if len(names) > _LISTED else ""
    return ", ".join(names[:_LISTED]) + more
