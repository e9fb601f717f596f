"""Problems of members of a body that no action's schema describes."""

from __future__ import annotations

from typing import Any


def problem(name: str, code: str, message: str) -> dict[str, Any]:
    """One entry of ``problems``; ``name`` is that of the member, "" for the body itself."""
    pointer = f"/{name.replace('~', '~0').replace('/', '~1')}" if name else ""
    return {"pointer": pointer, "field": name or "body", "code": code, "message": message, "in": "request"}
