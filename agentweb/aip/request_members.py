"""Reading the members of a request's body by hand, with everything that is wrong with them at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from agentweb.wire.errors import InputError
from agentweb.wire.strict_json import Json

_T = TypeVar("_T")


class Members:
    """The members of a body that has to be an object with these ``names`` and no others."""

    def __init__(self, sent: Json, names: Sequence[str]) -> None:
        if not isinstance(sent, dict):
            raise InputError([_problem("", "type", f"The body is an object with {', '.join(names)}.")])
        self._sent = sent
        self._problems = [
            _problem(name, "unknown_field", f"There is no member '{name}' here; remove it.")
            for name in sorted(sent)
            if name not in names
        ]

    def read(
        self,
        name: str,
        reader: Callable[[Json, Callable[[str, str, str], None]], _T],
        *,
        is_required: bool = False,
    ) -> _T | None:
        """What ``reader(value, note)`` makes of a member; None when it is not there.

        ``note(place, code, message)`` records a problem, at a dotted place below the member or at itself (``""``).
        """
        if name not in self._sent:
            if is_required:
                self._problems.append(_problem(name, "required", f"{name} is missing."))
            return None

        def note(place: str, code: str, message: str) -> None:
            self._problems.append(_problem(f"{name}.{place}" if place else name, code, message))

        return reader(self._sent[name], note)

    def refuse_problems(self) -> None:
        """Raise ``invalid_input`` when there were any."""
        if self._problems:
            raise InputError(self._problems)


def _problem(field: str, code: str, message: str) -> dict[str, Any]:
    parts = [part.replace("~", "~0").replace("/", "~1") for part in field.split(".")] if field else []
    pointer = "".join(f"/{part}" for part in parts)
    return {"pointer": pointer, "field": field or "body", "code": code, "message": message, "in": "request"}
