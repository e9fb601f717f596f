"""An agent as others and itself see it: ``{"name", "address", "public_key", "key_id", …}``."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from agentweb.aim.models import Agent, AgentKey
from agentweb.wire.aim.envelope import write_ts
from agentweb.wire.aim.keys import encryption_key, key_id


def address_of(name: str, site: str) -> str:
    return f"{name}@{site}"


def agent_record(agent: Agent, keys: Iterable[AgentKey], site: str) -> dict[str, Any]:
    """What everybody may know of an agent. ``keys`` are all that it ever had, the latest last.

    Without a current key, of one that was deleted, ``public_key``, ``key_id`` and ``encryption_key`` are null.
    """
    current = next((key.public for key in keys if key.until is None), None)
    if agent.status == Agent.Status.DELETED:
        current = None
    return {
        "name": agent.name,
        "address": address_of(agent.name, site),
        "public_key": current,
        "key_id": None if current is None else key_id(current),
        "encryption_key": None if current is None else encryption_key(current),
        "created_at": moment(agent.created_at),
        "status": agent.status,
    }


def key_history(keys: Iterable[AgentKey]) -> list[dict[str, Any]]:
    """``[{"key", "from", "until"}]``, the oldest first: by it old messages are verified."""
    return [
        {
            "key": key.public,
            "from": moment(key.since),
            "until": None if key.until is None else moment(key.until),
        }
        for key in keys
    ]


def moment(at: datetime) -> str:
    """An instant as it is on the wire, ``2026-01-01T00:00:00.000Z``."""
    return write_ts(at.timestamp())
