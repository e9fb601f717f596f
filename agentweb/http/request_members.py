"""Reading the members of a request's body by hand, with everything that is wrong with them at once."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from difflib import get_close_matches
from heapq import nsmallest
from typing import Any, Final, TypeVar

from agentweb.wire.errors import MAX_PROBLEMS, InputError
from agentweb.wire.schema.problems import make_problem
from agentweb.wire.strict_json import Json

_T = TypeVar("_T")

Place = tuple[str | int, ...]
Note = Callable[[Place, str, str], None]
"""``note(place, code, message)`` records a problem, at a place below the member or, with ``()``, at itself."""

_LONGEST_NAME: Final = 100
"""Characters of a member's name in a message; the pointer has more of it."""


class Members:
    """The members of a body that has to be an object with these ``names`` and no others; see ``unknown_members``."""

    def __init__(self, sent: Json, names: Sequence[str], *, wrapper: str = "") -> None:
        if not isinstance(sent, dict):
            raise InputError([_problem((), "type", f"The body is an object with {', '.join(names)}.")])
        self._sent = sent
        self._problems = unknown_members(sent, names, wrapper=wrapper)

    def read(self, name: str, reader: Callable[[Json, Note], _T], *, is_required: bool = False) -> _T | None:
        """What ``reader(value, note)`` makes of a member; None when it is not there."""
        if name not in self._sent:
            if is_required:
                self._problems.append(_problem((name,), "required", f"{name} is missing."))
            return None

        def note(place: Place, code: str, message: str) -> None:
            self._problems.append(_problem((name, *place), code, message))

        return reader(self._sent[name], note)

    def refuse_problems(self) -> None:
        """Raise ``invalid_input`` when there were any."""
        if self._problems:
            raise InputError(self._problems)


def unknown_names(sent: dict[str, Json], names: Collection[str]) -> list[str]:
    """The first of the members that may not be there, sorted: as many as are listed, and one to say that there are
    more. A body may have a hundred thousand."""
    return nsmallest(MAX_PROBLEMS + 1, (name for name in sent if name not in names))


def unknown_members(
    sent: dict[str, Json], names: Sequence[str], *, wrapper: str = ""
) -> list[dict[str, Any]]:
    """A problem for each member of a body that may not be there.

    ``wrapper`` is the member that holds what an action or flow takes: whoever leaves it out most likely sent that
    without it.
    """
    is_bare = bool(wrapper) and wrapper not in sent
    return [
        _problem((name,), "unknown_field", no_such_member(name, names, wrapper=wrapper if is_bare else ""))
        | {"allowed": list(names)}
        for name in unknown_names(sent, names)
    ]


def no_such_member(name: str, names: Collection[str], *, wrapper: str = "") -> str:
    """The message for a member that may not be there, with those that may, or the one that it belongs in."""
    shown = name if len(name) <= _LONGEST_NAME else f"{name[:_LONGEST_NAME]}…"
    close = get_close_matches(shown, names, n=1, cutoff=0.8)
    if close:
        advice = f"did you mean '{close[0]}'?"
    elif wrapper:
        advice = f"put it into '{wrapper}': {{\"{wrapper}\": {{…}}}}."
    else:
        advice = f"known here: {', '.join(names)}."
    return f"There is no member '{shown}' here; {advice}"


def _problem(path: Place, code: str, message: str) -> dict[str, Any]:
    found = make_problem(path, code, message) | {"in": "request"}
    return found if path else found | {"field": "body"}
