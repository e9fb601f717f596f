"""The manifest as bytes, kept in the process: a warm one costs no query.

It is rebuilt when the catalog, the keys, the mount point or the set of actions that the caller may see differ. The
site's keys are read again after MANIFEST_MAX_AGE, the time for which others may keep the document anyway.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from agentweb import conf
from agentweb.access import site_keys
from agentweb.access.callers import Caller
from agentweb.agent_actions.manifest import manifest
from agentweb.catalog.registry import registry
from agentweb.http.headers import Document
from agentweb.http.kept import KeptDocuments
from agentweb.http.visibility import is_visible
from agentweb.wire.clock import now
from agentweb.wire.json_writing import dumps

documents: Final = KeptDocuments()
"""One for each set of actions that some caller may see."""


class _Keys(NamedTuple):
    """The site's keys as they were read at ``at`` (Unix seconds); ``name`` tells two states apart."""

    at: float
    jwks: list[Any]
    name: str


_keys: _Keys | None = None


def document(
    caller: Caller, *, site: str, origin: str, prefix: str, endpoints: Mapping[str, str]
) -> Document:
    """The manifest for this caller; see ``manifest`` for ``site`` and ``prefix``.

    ``endpoints``: name -> path under ``origin``.
    """
    version = registry.version
    hidden = tuple(action.name for action in registry.actions() if not is_visible(action, caller))
    keys = _published_keys()
    key = (version, origin, prefix, tuple(endpoints.items()), keys.name, hidden)
    return documents.get(
        key,
        lambda: Document(
            dumps(
                manifest(
                    actions=[action for action in registry.actions() if action.name not in hidden],
                    flows=registry.flows(),
                    site=site,
                    keys=keys.jwks,
                    endpoints={name: f"{origin}{path}" for name, path in endpoints.items()},
                    prefix=prefix,
                )
            )
        ),
    )


def forget() -> None:
    """Empty the caches: for tests, and after keys were changed in this process."""
    global _keys  # noqa: PLW0603 - one cache for the process is the point
    _keys = None
    documents.forget()


def _published_keys() -> _Keys:
    global _keys  # noqa: PLW0603
    at = now()
    kept = _keys
    if kept is None or not kept.at <= at < kept.at + conf.get("MANIFEST_MAX_AGE"):
        jwks: list[Any] = site_keys.published_keys()
        kept = _keys = _Keys(at, jwks, dumps(jwks).decode())
    return kept
