"""The keys of other agents: asked of the service, and held against what it said before.

The service is the register of keys, so it could name a wrong one. It cannot do so unnoticed to whoever knew the agent
before: each key that was ever seen stays in an agent's history. A name that follows from a key proves itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from agentweb.client.errors import SiteError
from agentweb.client.messenger.link import Link
from agentweb.client.messenger.store import MessengerStore
from agentweb.wire.aim.keys import parse_public
from agentweb.wire.aim.names import is_key_name, key_name
from agentweb.wire.errors import ClientError, Code

KEY_CHANGED = "key_changed"


@dataclass(frozen=True, slots=True)
class Record:
    """An agent of the service: ``key`` is that of today, None when it is gone, ``keys`` all that it ever had."""

    name: str
    address: str
    key: str | None
    keys: tuple[str, ...]
    status: str


class Directory:
    """Looks agents up, and remembers them while it lives."""

    def __init__(self, link: Link, store: MessengerStore) -> None:
        self._link = link
        self._store = store
        self._known: dict[str, Record] = {}

    def look_up(self, name: str, *, knows: str | None = None) -> Record:
        """The agent of that name. ``knows`` is a key that must be among its keys: else it is asked again.

        Raises SiteError ``not_found``, ClientError ``key_changed`` when the service no longer names keys that it
        named before, and ``response_invalid`` for a record that is none.
        """
        known = self._known.get(name)
        if known is None or (knows is not None and knows not in known.keys):
            known = self._known[name] = self._ask(name)
        return known

    def forget(self, name: str) -> None:
        """Ask again before the agent is next used."""
        self._known.pop(name, None)

    def _ask(self, name: str) -> Record:
        answer = self._link.call("GET", self._link.service.agent(name), signed=False)
        record = _read(answer, name, self._link.authority)
        pinned = self._store.peer(self._link.authority, name)
        if not set(pinned) <= set(record.keys):
            raise ClientError(
                KEY_CHANGED,
                f"The service names other keys of {record.address} than before, without the old ones: it may be "
                "somebody else. Ask the agent in another way.",
                address=record.address,
                known_keys=pinned,
                keys=list(record.keys),
            )
        if list(record.keys) != pinned:
            self._store.keep_peer(self._link.authority, name, list(record.keys))
        return record


def _read(answer: Any, name: str, authority: str) -> Record:
    try:
        agent = answer["agent"]
        keys = tuple(str(entry["key"]) for entry in agent["keys"])
        current = agent["public_key"]
        for key in keys:
            parse_public(key)
        address = f"{name}@{authority}"
        if agent["address"] != address or (current is not None and current not in keys):
            raise ValueError(name)
        if is_key_name(name) and keys != tuple(key for key in keys if key_name(key) == name):
            raise ValueError(name)
        return Record(name, address, current, keys, str(agent["status"]))
    except (KeyError, TypeError, ValueError):
        raise ClientError(
            Code.RESPONSE_INVALID, f"The service's record of {name} is none, or not that of this name."
        ) from None


def is_unknown(error: Exception) -> bool:
    """Is there no agent of the name, or none that the service would tell of? A limit says nothing of the agent."""
    return isinstance(error, SiteError) and error.status < 500 and error.status != 429
