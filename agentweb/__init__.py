"""Make a Django site usable by AI agents.

The site author's words: ``action``, ``page``, ``flow`` and ``AgentError``. They are loaded when first used, so that
``import agentweb`` needs neither Django nor its settings.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from agentweb.catalog.flows import flow
    from agentweb.catalog.pages import page
    from agentweb.catalog.words import action
    from agentweb.wire.errors import AgentError

__version__ = "0.1.0.dev0"

__all__ = ["AgentError", "__version__", "action", "flow", "page"]

_HOMES = {
    "AgentError": "agentweb.wire.errors",
    "action": "agentweb.catalog.words",
    "flow": "agentweb.catalog.flows",
    "page": "agentweb.catalog.pages",
}


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    # Kept, so that the next use costs nothing.
    word = globals()[name] = getattr(import_module(home), name)
    return word


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})
