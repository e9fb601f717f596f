"""What type hint stands where a path of member names leads to."""

from __future__ import annotations

import types
import typing
from collections.abc import Sequence
from typing import Any, Final

from agentweb.catalog.type_schemas import is_record

_ALIAS: Final = getattr(typing, "TypeAliasType", ())
_UNIONS: Final = (typing.Union, types.UnionType)


def is_float(hint: Any, path: Sequence[str]) -> bool:
    """Whether the value at ``path`` (names of members of dataclasses and TypedDicts) may become a float.

    The hint is one of which a schema could be derived.
    """
    hint = _bare(hint)
    if typing.get_origin(hint) in _UNIONS:
        return any(is_float(member, path) for member in typing.get_args(hint))
    if not path:
        return hint is float
    if not is_record(hint):
        return False
    members = typing.get_type_hints(hint)  # without Annotated, Required and NotRequired
    return path[0] in members and is_float(members[path[0]], path[1:])


def _bare(hint: Any) -> Any:
    """The type behind an Annotated, a NewType or an alias."""
    while True:
        if typing.get_origin(hint) is typing.Annotated:
            hint = hint.__origin__
        elif isinstance(hint, typing.NewType):
            hint = hint.__supertype__
        elif isinstance(hint, _ALIAS):
            hint = hint.__value__
        else:
            return hint
