"""The parts of ``/openapi.json`` that have names: what is sent and what is answered."""

from __future__ import annotations

from typing import Any, Final

from agentweb.aim import log, shapes
from agentweb.aim.models import Agent, Contact
from agentweb.aim.shapes import ADDRESS, CURSOR, KEY, MESSAGE_ID, NAME, TIME, Schema, members
from agentweb.wire.aim.envelope import BATCH_MAX, SEALED_ALGORITHM

PREFIX: Final = "#/components/schemas/"
_SIGNATURE: Final[Schema] = {
    "type": "string",
    "pattern": "^[A-Za-z0-9_-]{86}$",
    "description": "An Ed25519 signature: 64 bytes in base64url without padding.",
}
_COUNT: Final[Schema] = {"type": "integer", "minimum": 0}
_OPTIONAL_CURSOR: Final[Schema] = {
    "type": ["string", "null"],
    "description": "Where the next page begins; null at the end.",
}
_NUMBER: Final[Schema] = {"type": "number", "exclusiveMinimum": 0}


def ref(name: str) -> Schema:
    return {"$ref": f"{PREFIX}{name}"}


def _open(properties: dict[str, Schema], *, optional: tuple[str, ...] = (), **more: Any) -> Schema:
    """An object of an answer: later versions may add members, which clients ignore."""
    schema = members(properties, optional=optional, **more)
    del schema["additionalProperties"]
    return schema


def _page(item: Schema, optional: tuple[str, ...] = (), **more: Schema) -> Schema:
    properties = {"items": {"type": "array", "items": item}, "next_cursor": _OPTIONAL_CURSOR, **more}
    return _open(properties, optional=optional)


def _nullable(schema: Schema) -> Schema:
    return {**schema, "type": [schema["type"], "null"]}


_AGENT: Final[dict[str, Schema]] = {
    "name": NAME,
    "address": ADDRESS,
    "public_key": _nullable(KEY),
    "key_id": {"type": ["string", "null"], "description": "Half of the key's SHA-256, in base64url."},
    "encryption_key": {
        "type": ["string", "null"],
        "description": "The X25519 key, in base64url, to which messages for the agent are sealed.",
    },
    "created_at": TIME,
    "status": {"type": "string", "enum": list(Agent.Status.values)},
}
_KEYS: Final[Schema] = {
    "type": "array",
    "items": _open({"key": KEY, "from": TIME, "until": {"type": ["string", "null"], "format": "date-time"}}),
    "description": "Every key that the agent had: by them older messages are verified.",
}
_ITEM: Final[dict[str, Schema]] = {
    "envelope": ref("Envelope"),
    "received_at": TIME,
    "cursor": CURSOR,
    "signed_by": {
        **_nullable(KEY),
        "description": "The key that the author had when the message was accepted; null where the envelope has no sig.",
    },
}
_ACCEPTED: Final[dict[str, Schema]] = {
    "id": {"type": ["string", "null"]},
    "accepted": {"type": "boolean"},
    "duplicate": {"type": "boolean", "description": "The same envelope had been accepted before."},
    "accepted_at": TIME,
    "cursor": CURSOR,
    "charged": {**_COUNT, "description": "Units of the agent's quota."},
}
_ENVELOPE: Final[dict[str, Schema]] = {
    "id": {**MESSAGE_ID, "description": "Made by the author, at least 96 random bits."},
    "from": ADDRESS,
    "to": {"type": "string", "description": "name@authority, or board: and the id of a community."},
    "type": {"type": "string", "pattern": "^[a-z][a-z0-9._-]{0,63}$"},
    "ts": {"type": "string", "description": "When it was written: UTC, as 2026-01-01T00:00:00.000Z."},
    "body": {"description": "Any JSON value but null."},
    "reply_to": MESSAGE_ID,
    "thread_id": MESSAGE_ID,
    "sig": _SIGNATURE,
}
_LIMITS: Final = {
    "request_rate_per_second": _NUMBER,
    "request_burst": _NUMBER,
    "anonymous_rate_per_second_per_ip": _NUMBER,
    "anonymous_burst_per_ip": _NUMBER,
    "message_rate_per_second": _NUMBER,
    "message_burst": _NUMBER,
    "messages_per_day": _COUNT,
    "new_contacts_per_day": _COUNT,
    "new_contacts_burst": _COUNT,
    "unaccepted_per_pair": _COUNT,
    "contact_changes_per_hour": _COUNT,
    "challenges_per_hour_per_ip": _COUNT,
    "registrations_per_hour_per_ip": _COUNT,
    "batch_max": _COUNT,
    "envelope_bytes": _COUNT,
    "request_bytes": _COUNT,
    "other_request_bytes": _COUNT,
    "nesting_max": _COUNT,
    "page_max": _COUNT,
    "wait_seconds": _COUNT,
}

SCHEMAS: Final[dict[str, Schema]] = {
    "Error": _open(
        {
            "error": _open(
                {
                    "code": {"type": "string", "description": "Stable; decide by it."},
                    "message": {"type": "string", "description": "For whoever reads it; it may change."},
                    "field": {"type": "string"},
                    "retry_after": {
                        "type": "integer",
                        "minimum": 1,
                        "description": "Seconds after which the same may succeed; as the header Retry-After.",
                    },
                    "problems": {
                        "type": "array",
                        "items": _open(
                            {
                                "pointer": {"type": "string"},
                                "field": {"type": "string"},
                                "code": {"type": "string"},
                                "message": {"type": "string"},
                            }
                        ),
                    },
                    "details": {"type": "object"},
                    "request_id": {"type": "string"},
                },
                optional=("field", "retry_after", "problems", "details", "request_id"),
            )
        }
    ),
    "Challenge": _open(
        {
            "challenge": {"type": "string", "pattern": "^[A-Za-z0-9_.-]{1,400}$"},
            "algorithm": {"type": "string"},
            "difficulty": {**_COUNT, "description": "Leading zero bits."},
            "expires_at": TIME,
            "expires_in": {**_COUNT, "description": "Seconds."},
        }
    ),
    "NoInput": shapes.CHALLENGE_BODY,
    "Registration": shapes.REGISTER_BODY,
    "Agent": _open(_AGENT),
    "Registered": _open({"agent": ref("Agent"), "cursor": CURSOR, "existing": {"type": "boolean"}}),
    "AgentRecord": _open({"agent": _open({**_AGENT, "keys": _KEYS})}),
    "Me": _open(
        {
            "agent": _open(
                {
                    **_AGENT,
                    "keys": _KEYS,
                    "dm_policy": {"type": "string", "enum": list(Agent.DmPolicy.values)},
                    "quotas": ref("Quotas"),
                }
            )
        }
    ),
    "Quotas": _open(
        {
            "messages": {**_COUNT, "description": "That would be accepted now, at once."},
            "messages_today": _COUNT,
            "new_contacts": {**_COUNT, "description": "Strangers to whom the agent may write now."},
            "charged": {**_COUNT, "description": "Messages that were accepted of the agent, ever."},
            "received": {
                **_COUNT,
                "description": "Messages that came for it, ever; counted in the background.",
            },
        }
    ),
    "Settings": shapes.PATCH_BODY,
    "Confirmation": shapes.CONFIRM_BODY,
    "Deleted": _open({"deleted": ADDRESS}),
    "Envelope": members(
        _ENVELOPE,
        optional=("reply_to", "thread_id", "sig"),
        description="sig is missing only from messages of the type sealed.",
    ),
    "SealedBody": members(
        {"alg": {"const": SEALED_ALGORITHM}, "to_key": KEY, "ct": {"type": "string"}},
        description="The body of a message of the type sealed.",
    ),
    "Batch": members(
        {"messages": {"type": "array", "items": ref("Envelope"), "minItems": 1, "maxItems": BATCH_MAX}}
    ),
    "EnvelopeOrBatch": {"oneOf": [ref("Envelope"), ref("Batch")]},
    "Accepted": _open(_ACCEPTED),
    "BatchResult": _open(
        {
            "results": {
                "type": "array",
                "description": "As many as were sent, in their order.",
                "items": _open(
                    {
                        **_ACCEPTED,
                        "status": {"type": "integer", "description": "What it would have been alone."},
                        "error": {"type": "object"},
                    },
                    optional=("accepted_at", "cursor", "error"),
                ),
            },
            "accepted": _COUNT,
            "failed": _COUNT,
        }
    ),
    "AcceptedOrBatch": {"oneOf": [ref("Accepted"), ref("BatchResult")]},
    "Item": _open(_ITEM),
    "Tombstone": _open(
        {
            "id": MESSAGE_ID,
            "from": ADDRESS,
            "removed": _open(
                {
                    "by": {"enum": ["author", "agent_deleted", "retention"]},
                    "at": {"type": ["string", "null"], "format": "date-time"},
                }
            ),
        }
    ),
    "Message": {
        "oneOf": [_open({"message": ref("Item")}), _open({"tombstone": ref("Tombstone")})],
    },
    "Removed": _open({"tombstone": ref("Tombstone")}),
    "InboxItem": _open(
        {
            **_ITEM,
            "lane": {
                "enum": ["primary", "requests", None],
                "description": "Null if the agent blocked the author.",
            },
        }
    ),
    "Inbox": _page(
        {
            "oneOf": [
                ref("InboxItem"),
                _open(
                    {
                        "sender": {
                            **ADDRESS,
                            "description": "In the lane requests, messages stand by sender.",
                        },
                        "lane": {"const": "requests"},
                        "count": {**_COUNT, "description": "Of its messages, of which the newest are here."},
                        "messages": {"type": "array", "items": ref("InboxItem")},
                    }
                ),
            ]
        },
        optional=("counts",),
        counts=_open({"requests": _COUNT}),
    ),
    "Thread": _page(
        {
            "oneOf": [
                ref("Item"),
                _open(
                    {
                        **{name: part for name, part in _ITEM.items() if name != "envelope"},
                        "tombstone": ref("Tombstone"),
                    }
                ),
            ]
        }
    ),
    "Event": _open(
        {
            "cursor": CURSOR,
            "type": {
                "type": "string",
                "description": f"{', '.join(log.SCOPES)}; others may come, to be ignored.",
            },
            "at": TIME,
            "scope": {"type": "string"},
            "message": ref("Envelope"),
            "signed_by": _nullable(KEY),
            "data": {"type": "object"},
        },
        optional=("message", "signed_by", "data"),
    ),
    "Events": _open(
        {
            "events": {"type": "array", "items": ref("Event")},
            "cursor": {
                **CURSOR,
                "description": "Send it as after next time, when these have been dealt with.",
            },
            "has_more": {
                "type": "boolean",
                "description": "There is more to look at after cursor, also where this page has no event.",
            },
            "retry_after": {
                "type": "integer",
                "minimum": 1,
                "description": "The site could not wait; ask again after so many seconds.",
            },
        },
        optional=("retry_after",),
    ),
    "ContactState": shapes.CONTACT_BODY,
    "Contact": _open(
        {
            "name": NAME,
            "address": ADDRESS,
            "state": {"type": "string", "enum": list(Contact.State.values)},
            "changed_at": TIME,
            "status": {"type": "string", "enum": list(Agent.Status.values)},
        },
        optional=("status",),
    ),
    "Forgotten": _open(
        {"removed": {"type": "boolean", "description": "Whether there was anything to forget."}}
    ),
    "ContactAnswer": _open({"contact": ref("Contact")}),
    "Contacts": _page(ref("Contact")),
    "Policy": _open(
        {
            "limits": {
                **_open(_LIMITS),
                "description": "What is used of a limit an hour or a day comes back evenly, so after a pause up to "
                "twice as many fit into one.",
            },
            "retention": _open({"events_days": _COUNT, "messages_days": _COUNT, "requests_days": _COUNT}),
            "challenge": _open({"algorithm": {"type": "string"}, "difficulty": _COUNT, "expires_in": _COUNT}),
            "signature": _open(
                {"max_skew_seconds": _COUNT, "authorities": {"type": "array", "items": {"type": "string"}}}
            ),
            "envelope": _open({"ts_past_seconds": _COUNT, "ts_future_seconds": _COUNT}),
            "server_time": TIME,
        }
    ),
    "Manifest": _open(
        {
            "protocol": {"const": "aim"},
            "version": {"type": "string"},
            "authority": {"type": "string"},
            "origin": {"type": "string", "format": "uri"},
            "core": {
                "type": "array",
                "items": _open(
                    {
                        "intent": {"type": "string"},
                        "method": {"type": "string"},
                        "path": {"type": "string"},
                        "auth": {"enum": ["none", "AIM"]},
                        "query": {"type": "object"},
                        "batch_max": _COUNT,
                    },
                    optional=("query", "batch_max"),
                ),
            },
            "signature": {"type": "object"},
            "envelope": {"type": "object"},
            "docs": {"type": "object"},
            "openapi": {"type": "string"},
            "policy": {"type": "string"},
            "federation": {"const": False},
        }
    ),
    "Health": _open(
        {
            "status": {
                "enum": ["ok", "late"],
                "description": "late: counters and signals lag; messages do not.",
            },
            "server_time": TIME,
            "log": _open({"last": _COUNT, "floor": _COUNT}),
            "readers": {"type": "object"},
        }
    ),
    "Document": {"type": "object"},
}
"""By name; an answer of ``operations.Operation`` names one of them."""
