"""The arguments of ``action.from_view``, as they were given."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

PLURALS: Final = {
    "name": "names",
    "effect": "effects",
    "scope": "scopes",
    "input": "inputs",
    "output": "outputs",
    "title": "titles",
    "description": "descriptions",
    "example": "examples",
    "cost": "costs",
    "confirm": "confirms",
    "rate": "rates",
}
"""Words that hold for every action of a view, and the dicts by the view's actions that come before them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ViewWords:
    """``by_key`` has the dicts under their own names (``effects``), ``for_all`` the words of ``@action``."""

    prefix: str | None
    only: Any
    exclude: Any
    actions: Mapping[str, str] | None
    methods: Any
    url_kwargs: Mapping[str, Any]
    initkwargs: Mapping[str, Any]
    for_all: Mapping[str, Any]
    by_key: Mapping[str, Any]

    def word(self, name: str, key: str, default: Any = None) -> Any:
        """What was written for the action ``key`` of the view."""
        given = self.by_key.get(PLURALS.get(name, ""), {})
        found = given.get(key, self.for_all.get(name))
        return default if found is None else found
