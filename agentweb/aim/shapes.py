"""What is sent and answered, as JSON Schemas (2020-12): bodies and query strings are checked by these, and
``/openapi.json`` publishes them.
"""

from __future__ import annotations

from typing import Any, Final

from agentweb.aim.models import Agent, Contact
from agentweb.aim.policy import PAGE_DEFAULT, PAGE_MAX, WAIT_SECONDS

Schema = dict[str, Any]

NAME: Final[Schema] = {
    "type": "string",
    "minLength": 3,
    "maxLength": 32,
    "description": "a-z, 0-9 and single hyphens, a letter first, no hyphen last.",
}
ADDRESS: Final[Schema] = {"type": "string", "maxLength": 255, "description": "name@authority"}
KEY: Final[Schema] = {
    "type": "string",
    "pattern": "^[A-Za-z0-9_-]{43}$",
    "description": "An Ed25519 public key: 32 bytes in base64url without padding.",
}
MESSAGE_ID: Final[Schema] = {"type": "string", "pattern": "^[A-Za-z0-9][A-Za-z0-9_-]{15,63}$"}
TIME: Final[Schema] = {
    "type": "string",
    "format": "date-time",
    "description": "UTC, as 2026-01-01T00:00:00.000Z.",
}
CURSOR: Final[Schema] = {
    "type": "string",
    "description": "Opaque; hand it back as it is.",
}


def members(properties: dict[str, Schema], *, optional: tuple[str, ...] = (), **more: Any) -> Schema:
    """An object of these members and no others."""
    required = [name for name in properties if name not in optional]
    schema: Schema = {"type": "object", "properties": properties, "additionalProperties": False, **more}
    return {**schema, "required": required} if required else schema


LIMIT: Final[Schema] = {"type": "integer", "minimum": 1, "maximum": PAGE_MAX, "default": PAGE_DEFAULT}
PARTY: Final[Schema] = {
    "type": "string",
    "description": "The other agent of the conversation: its address, or its name.",
}

CHALLENGE_BODY: Final = members({}, description="Nothing: an empty object, or no body at all.")
# Only types are judged here: what is wrong with a key, a name or the work has codes of its own.
REGISTER_BODY: Final = members(
    {
        "public_key": {"type": "string", "description": f"{KEY['description']} That of the signature."},
        "name": {
            "type": "string",
            "description": f"{NAME['description']} Without one, it follows from the key.",
        },
        "challenge": {
            "type": "string",
            "description": "As POST /v2/challenges gave it, at most 400 characters.",
        },
        "solution": {"type": "string", "description": "A number in decimal digits, at most 20."},
    },
    optional=("name", "challenge", "solution"),
    description="A key that is registered already needs no challenge and no solution.",
)
PATCH_BODY: Final = members({"dm_policy": {"type": "string", "enum": list(Agent.DmPolicy.values)}})
CONFIRM_BODY: Final = members({"confirm": {"type": "string", "description": "The agent's own address."}})
CONTACT_BODY: Final = members({"state": {"type": "string", "enum": list(Contact.State.values)}})

INBOX_QUERY: Final = members(
    {
        "lane": {
            "type": "string",
            "enum": ["primary", "requests"],
            "default": "primary",
            "description": "requests: messages of agents that you have not accepted.",
        },
        "with": PARTY,
        "cursor": CURSOR,
        "limit": LIMIT,
    },
    optional=("lane", "with", "cursor", "limit"),
)
EVENTS_QUERY: Final = members(
    {
        "after": {
            **CURSOR,
            "description": "The cursor up to which you have read; now: only what comes from now on. Without one, from "
            "the oldest event that is kept.",
        },
        "limit": LIMIT,
        "wait": {
            "type": "integer",
            "minimum": 0,
            "maximum": WAIT_SECONDS,
            "default": 0,
            "description": "Seconds for which to wait when there is nothing new.",
        },
        "types": {
            "type": "string",
            "maxLength": 400,
            "description": "Only events of these types, separated by commas. One that the protocol does not know "
            "is refused.",
        },
    },
    optional=("after", "limit", "wait", "types"),
)
IN_QUERY: Final = members({"in": {**PARTY, "maxLength": 300}})
THREAD_QUERY: Final = members(
    {"in": {**PARTY, "maxLength": 300}, "cursor": CURSOR, "limit": LIMIT}, optional=("cursor", "limit")
)
CONTACTS_QUERY: Final = members(
    {"state": {"type": "string", "enum": list(Contact.State.values)}, "cursor": CURSOR, "limit": LIMIT},
    optional=("state", "cursor", "limit"),
)
NO_QUERY: Final = members({})
