"""What a schema says outright of its members, for readers who need no validator."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

_MAX_REFERENCES: Final = 20
_MAX_DIGITS: Final = 9

Schema = Mapping[str, Any]


def resolved(schema: Any, root: Schema) -> Schema:
    """The schema itself, or what its ``$ref`` (``#/…``) leads to; ``{}`` when that is nowhere or a boolean."""
    for _ in range(_MAX_REFERENCES):
        if not isinstance(schema, Mapping):
            return {}
        reference = schema.get("$ref")
        if reference is None:
            return schema
        if not isinstance(reference, str) or not reference.startswith("#"):
            return {}
        schema = _pointed(root, reference[1:])
    return {}


def properties_of(schema: Any, root: Schema) -> Mapping[str, Any]:
    """The declared members of an object schema."""
    members = resolved(schema, root).get("properties", {})
    return members if isinstance(members, Mapping) else {}


def _pointed(root: Schema, pointer: str) -> Any:
    """What an RFC 6901 pointer leads to in the schema, else None."""
    if not pointer:
        return root
    if not pointer.startswith("/"):
        return None
    here: Any = root
    for step in pointer[1:].split("/"):
        name = step.replace("~1", "/").replace("~0", "~")
        if isinstance(here, Mapping) and name in here:
            here = here[name]
        elif (
            isinstance(here, list) and name.isdecimal() and len(name) <= _MAX_DIGITS and int(name) < len(here)
        ):
            here = here[int(name)]
        else:
            return None
    return here
