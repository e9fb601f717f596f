"""Everything that the verdicts about the messages of a request depend on, by one statement."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, Final

from agentweb.aim import statements
from agentweb.aim.messages import Known
from agentweb.aim.recipients import PARTY, PARTY_COLUMNS, Party
from agentweb.aim.statements import Statement

_PARTY_WIDTH: Final = 7

_LOOK_UP: Final = Statement(
    "SELECT {columns}, m.id, m.sender_id, m.message_id, m.conversation, m.root, m.digest, m.signed_by, m.state, "
    "m.accepted_at, m.seq FROM {party} LEFT JOIN {message} m ON m.sender_id = a.id AND m.message_id IN ({ids}) "
    "WHERE a.name IN ({names})",
    columns=PARTY_COLUMNS,
    party=PARTY,
)


def look_up(
    viewer: int, names: Collection[str], ids: Collection[str]
) -> tuple[dict[str, Party], list[Known]]:
    """The agents with these names, as the agent with the primary key ``viewer`` sees them, and what they, in whatever
    conversation, have sent under these ids."""
    rows = _LOOK_UP.fetch([viewer, viewer, *sorted(ids), *sorted(names)], ids=len(ids), names=len(names))
    parties = {row[1]: Party(*row[:_PARTY_WIDTH]) for row in rows}
    return parties, [_known(row[_PARTY_WIDTH:]) for row in rows if row[_PARTY_WIDTH] is not None]


def _known(row: tuple[Any, ...]) -> Known:
    values = [*row[:8], statements.read_instant(row[8]), row[9]]
    return Known(*values)
