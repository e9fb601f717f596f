"""Who an agent writes to: looked up by name, with what each thinks of the other."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Final

from agentweb.aim.models import Agent, Contact
from agentweb.aim.statements import Statement
from agentweb.wire.aim.addresses import Address, Board, parse_recipient
from agentweb.wire.aim.names import is_name
from agentweb.wire.errors import AgentError, Code, RequestError


@dataclass(frozen=True, slots=True)
class Party:
    """An agent as another one sees it. ``key`` is its current public key, None when it has none any more.

    ``mine`` is what the one who looks thinks of it (a ``Contact.State``, None for a stranger), ``theirs`` what it
    thinks of the one who looks.
    """

    id: int
    name: str
    status: str
    dm_policy: str
    key: str | None
    mine: str | None
    theirs: str | None

    @property
    def has_accepted(self) -> bool:
        return self.theirs == Contact.State.ACCEPTED


PARTY_COLUMNS: Final = "a.id, a.name, a.status, a.dm_policy, k.public, mine.state, theirs.state"
"""What ``Party`` reads, of ``PARTY``."""
PARTY: Final = (
    "{agent} a LEFT JOIN {agent_key} k ON k.agent_id = a.id AND k.until IS NULL "
    "LEFT JOIN {contact} mine ON mine.owner_id = %s AND mine.other_id = a.id "
    "LEFT JOIN {contact} theirs ON theirs.owner_id = a.id AND theirs.other_id = %s"
)
"""The first two values of a statement with it are the primary key of the one who looks."""

_FIND: Final = Statement(
    "SELECT {columns} FROM {party} WHERE a.name IN ({names})", columns=PARTY_COLUMNS, party=PARTY
)


def find(viewer: int, names: Collection[str]) -> dict[str, Party]:
    """The agents with these names, as the agent with the primary key ``viewer`` sees them. One statement."""
    found = _FIND.fetch([viewer, viewer, *sorted(names)], names=len(names)) if names else []
    return {row[1]: Party(*row) for row in found}


def find_one(viewer: int, name: str) -> Party:
    """Raises not_found."""
    party = find(viewer, [name]).get(name) if is_name(name) else None
    if party is None:
        raise AgentError(Code.NOT_FOUND, "No agent has this name.")
    return party


def conversation_of(one: int, other: int) -> str:
    """What two agents write to each other is one conversation, whoever writes; the arguments are primary keys."""
    return f"dm:{min(one, other)}:{max(one, other)}"


def parse_place(text: str, authority: str, parameter: str) -> str:
    """The name of the other agent of a conversation, of its address or its name.

    Raises invalid_parameter, remote_authority and, as there is none here, unknown_community.
    """
    if is_name(text):
        return text
    try:
        place = parse_recipient(text)
    except ValueError as error:
        raise RequestError(Code.INVALID_PARAMETER, f"{parameter}: {error}", field=parameter) from None
    if isinstance(place, Board):
        raise unknown_community(parameter)
    check_authority(place, authority, parameter)
    return place.name


def check_authority(address: Address, authority: str, field: str) -> None:
    """Raise remote_authority unless the address is here."""
    if address.authority != authority:
        raise RequestError(
            Code.REMOTE_AUTHORITY,
            f"This service has the agents at {authority} only; it passes nothing on to others.",
            field=field,
            details={"authority": authority},
        )


def unknown_community(field: str) -> AgentError:
    return AgentError(Code.UNKNOWN_COMMUNITY, "There is no such community here.", field=field)


def is_gone(party: Party) -> bool:
    return party.status == Agent.Status.DELETED
