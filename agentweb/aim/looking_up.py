"""Everything that the verdicts about the messages of a request depend on, by one statement."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, Final

from agentweb.aim import messages, statements
from agentweb.aim.messages import Known
from agentweb.aim.models import Contact
from agentweb.aim.recipients import PARTY, PARTY_COLUMNS, Party
from agentweb.aim.statements import Statement

_PARTY_WIDTH: Final = 7

# What was sent is counted for whoever has blocked the viewer too, so that it takes as long.
_LOOK_UP: Final = Statement(
    "SELECT {columns}, CASE WHEN theirs.state = %s OR a.id = %s THEN 0 ELSE {sent} END, m.id, m.sender_id, "
    "m.message_id, m.conversation, m.root, m.digest, m.signed_by, m.state, m.accepted_at, m.seq "
    "FROM {party} LEFT JOIN {message} m ON m.sender_id = a.id AND m.message_id IN ({ids}) WHERE a.name IN ({names})",
    columns=PARTY_COLUMNS,
    party=PARTY,
    recipient="a.id",
    sent=messages.SENT,
)


def look_up(
    viewer: int, names: Collection[str], ids: Collection[str]
) -> tuple[dict[str, Party], dict[int, int], list[Known]]:
    """The agents with these names, as the agent with the primary key ``viewer`` sees them; how many messages it has
    sent (``messages.SENT``) to those of them that have not accepted it, by primary key; and what they, in whatever
    conversation, have sent under these ids."""
    counting = (Contact.State.ACCEPTED.value, viewer, *messages.sent_by(viewer))
    values = [*counting, viewer, viewer, *sorted(ids), *sorted(names)]
    rows = _LOOK_UP.fetch(values, ids=len(ids), names=len(names))
    parties = {row[1]: Party(*row[:_PARTY_WIDTH]) for row in rows}
    sent = {row[0]: row[_PARTY_WIDTH] for row in rows}
    known = [row[_PARTY_WIDTH + 1 :] for row in rows]
    return parties, sent, [_known(row) for row in known if row[0] is not None]


def _known(row: tuple[Any, ...]) -> Known:
    values = [*row[:8], statements.read_instant(row[8]), row[9]]
    return Known(*values)
