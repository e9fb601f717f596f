"""What has to be a text: the arguments of a call come from a model, too."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agentweb.wire.errors import InputError


def check_texts(given: Mapping[str, object], optional: Mapping[str, object] | None = None) -> None:
    """Raises InputError, with every problem, for what is no text; ``optional`` may be None too."""
    others = {name: value for name, value in (optional or {}).items() if value is not None}
    problems: list[dict[str, Any]] = [
        {
            "pointer": f"/{name}",
            "field": name,
            "code": "type",
            "message": f"{name} is a text, not {type(value).__name__}.",
        }
        for name, value in {**given, **others}.items()
        if not isinstance(value, str)
    ]
    if problems:
        raise InputError(problems)
