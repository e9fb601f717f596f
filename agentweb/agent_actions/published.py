"""The manifest as bytes, kept in the process: a warm one costs no query.

It is rebuilt when the catalog, the keys, the mount point or the set of actions that the caller may see differ. The
site's keys are read again after MANIFEST_MAX_AGE, the time for which others may keep the document anyway.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import Any, Final

from agentweb import conf
from agentweb.access import site_keys
from agentweb.access.callers import Caller
from agentweb.agent_actions.manifest import manifest
from agentweb.catalog.actions import Action
from agentweb.catalog.registry import registry
from agentweb.http.headers import Document
from agentweb.wire.clock import now
from agentweb.wire.json_writing import dumps

MAX_KEPT: Final = 64
"""Documents kept: one for each set of actions that some caller may see."""

_Key = tuple[Any, ...]
_lock = threading.Lock()
_documents: OrderedDict[_Key, Document] = OrderedDict()
_keys: tuple[float, list[dict[str, Any]]] | None = None


def document(caller: Caller, *, site: str, origin: str, prefix: str, endpoints: dict[str, str]) -> Document:
    """The manifest for this caller; see ``manifest`` for the rest. ``endpoints`` are paths under ``origin``."""
    version = registry.version
    actions = visible_actions(caller)
    keys = _published_keys()
    key: _Key = (
        version,
        origin,
        prefix,
        tuple(endpoints.items()),
        tuple(each["kid"] for each in keys),
        tuple(each.get("not_after") for each in keys),
        tuple(action.name for action in actions),
    )
    kept = _documents.get(key)
    if kept is not None:
        return kept
    built = Document(
        dumps(
            manifest(
                actions=actions,
                flows=registry.flows(),
                site=site,
                keys=keys,
                endpoints={name: f"{origin}{path}" for name, path in endpoints.items()},
                prefix=prefix,
            )
        )
    )
    with _lock:
        _documents[key] = built
        while len(_documents) > MAX_KEPT:
            _documents.popitem(last=False)
    return built


def visible_actions(caller: Caller) -> list[Action]:
    """What this caller may see, sorted by name. A guard sees AnonymousUser when nobody stands behind the caller."""
    # The user is read only for a guard that asks.
    return [action for action in registry.actions() if is_visible(action, caller)]


def is_visible(action: Action, caller: Caller) -> bool:
    return action.visible is None or action.is_visible_to(caller.user)


def forget() -> None:
    """Empty the caches: for tests, and after keys were changed in this process."""
    global _keys  # noqa: PLW0603 - one cache for the process is the point
    with _lock:
        _keys = None
        _documents.clear()


def _published_keys() -> list[dict[str, Any]]:
    global _keys  # noqa: PLW0603
    at = now()
    kept = _keys
    if kept is not None and kept[0] <= at < kept[0] + conf.get("MANIFEST_MAX_AGE"):
        return kept[1]
    keys = site_keys.published_keys()
    _keys = (at, keys)
    return keys
