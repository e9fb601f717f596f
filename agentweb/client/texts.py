"""What has to be a text: the arguments of a call come from a model, too."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from agentweb.wire.errors import InputError

SURROGATE: Final = re.compile(r"[\ud800-\udfff]")
"""Half a character, which stands for a byte that is no UTF-8: nothing can be sent or printed of it."""


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
