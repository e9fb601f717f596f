"""What an agent may send: messages at a rate and in a day, and first messages to strangers.

Each limit is a bucket as those of ``access.limits``: a time that runs ahead of the clock by one step for each unit, and
may run ahead by as many steps as the burst. So a limit a day knows no midnight: its units come back evenly, and within
24 hours after a pause the burst and what comes back fit, of ``MESSAGES_PER_DAY`` up to twice as many.

All three are in the sender's row ``Account``. One conditional UPDATE takes the units of a transaction; only when it
refuses, or when strangers are written to, the row is locked and looked at.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from agentweb import conf
from agentweb.access.rows import insert_if_absent
from agentweb.aim import statements
from agentweb.aim.models import Account, Agent
from agentweb.aim.statements import Call, Outcome, Statement
from agentweb.wire import clock
from agentweb.wire.errors import Code, RequestError

NEW_CONTACT_BURST: Final = 5
"""Strangers to whom an agent may write at once."""

_MICROSECONDS: Final = 1_000_000
_DAY: Final = 86_400

_TAKE: Final = Statement(
    "UPDATE {account} SET charged = charged + %s, "
    "rate_tat = CASE WHEN rate_tat > %s THEN rate_tat ELSE %s END + %s, "
    "day_tat = CASE WHEN day_tat > %s THEN day_tat ELSE %s END + %s "
    "WHERE agent_id = %s AND rate_tat <= %s AND day_tat <= %s"
)
_LOCK: Final = Statement(
    "SELECT charged, rate_tat, day_tat, contact_tat FROM {account} WHERE agent_id = %s{for_update}"
)
_WRITE: Final = Statement(
    "UPDATE {account} SET charged = charged + %s, rate_tat = %s, day_tat = %s, contact_tat = %s "
    "WHERE agent_id = %s AND charged = %s AND rate_tat = %s AND day_tat = %s AND contact_tat = %s"
)


@dataclass(slots=True)
class Bucket:
    """``tat`` and ``step`` are in microseconds."""

    tat: int
    step: int
    burst: int
    code: Code
    said: str
    refused: int = 0

    def wait(self, at: int, units: int = 1) -> int:
        """Microseconds until that many units fit; 0 when they fit now."""
        return max(0, max(self.tat, at) + self.step * (units - self.burst) - at)

    def left(self, at: int) -> int:
        """Units that fit now."""
        return max(0, (at + self.step * self.burst - max(self.tat, at)) // self.step)

    def take(self, at: int) -> None:
        self.tat = max(self.tat, at) + self.step


class Purse:
    """A locked account: units are taken one by one in memory, then written at once."""

    def __init__(self, agent: int, row: tuple[int, int, int, int]) -> None:
        self._agent = agent
        self._row = row
        _, rate_tat, day_tat, contact_tat = row
        # Read anew: the row may have been waited for.
        self.at = _now()
        self.rate, self.day, self.contacts = _rate(rate_tat), _day(day_tat), _contacts(contact_tat)
        self.taken = 0

    def take(self, *, is_new_contact: bool) -> RequestError | None:
        """Take one message's units, all or none; the refusal says when to come again.

        Of several that are refused each gets a later time, so that each passes at its own.
        """
        buckets = [self.rate, self.day, *([self.contacts] if is_new_contact else [])]
        full = [bucket for bucket in buckets if bucket.wait(self.at)]
        if not full:
            for bucket in buckets:
                bucket.take(self.at)
            self.taken += 1
            return None
        for bucket in full:
            bucket.refused += 1
        slowest = max(full, key=lambda bucket: bucket.wait(self.at, bucket.refused))
        return RequestError(
            slowest.code,
            f"{slowest.said} Nothing was stored or charged; send the same envelope again after retry_after seconds.",
            retry_after=slowest.wait(self.at, slowest.refused) / _MICROSECONDS,
        )

    def writing(self) -> Call:
        """Writes what was taken, if the row is as it was when it was locked: one row then."""
        return _WRITE.call(
            [self.taken, self.rate.tat, self.day.tat, self.contacts.tat, self._agent, *self._row]
        )


def taking(agent: int, units: int) -> Call | None:
    """Takes that many messages at once if all fit, which changes one row. None where so many never fit."""
    at = _now()
    rate, day = _rate(0), _day(0)
    if units > min(rate.burst, day.burst):
        return None
    return _TAKE.call(
        [
            units,
            *(at, at, units * rate.step),
            *(at, at, units * day.step),
            agent,
            at + (rate.burst - units) * rate.step,
            at + (day.burst - units) * day.step,
        ]
    )


def locking(agent: int) -> Call:
    """Locks the agent's account until the end of the transaction; ``purse`` reads it."""
    return _LOCK.call([agent], for_update=statements.for_update())


def purse(agent: int, outcome: Outcome) -> Purse:
    """The account that was locked. An agent without one gets it."""
    found = outcome.rows
    if not found:
        insert_if_absent([Account(agent_id=agent)])
        [outcome] = statements.together(locking(agent))
        found = outcome.rows
    charged, rate_tat, day_tat, contact_tat = found[0]
    return Purse(agent, (charged, rate_tat, day_tat, contact_tat))


def left(agent: Agent) -> dict[str, int]:
    """What the agent could send now, and what it has: ``{"messages", "messages_today", "new_contacts", "charged",
    "received"}``, of which the last two only grow. One statement."""
    row = Account.objects.filter(agent=agent).first() or Account()
    at = _now()
    rate, day, strangers = _rate(row.rate_tat), _day(row.day_tat), _contacts(row.contact_tat)
    return {
        "messages": min(rate.left(at), day.left(at)),
        "messages_today": day.left(at),
        "new_contacts": strangers.left(at),
        "charged": row.charged,
        "received": row.received,
    }


def _now() -> int:
    return int(clock.now() * _MICROSECONDS)


def _rate(tat: int) -> Bucket:
    steady, burst = conf.get("MESSAGE_RATE")
    return Bucket(
        tat,
        max(1, round(_MICROSECONDS / steady)),
        int(burst),
        Code.RATE_LIMITED,
        f"Too many messages: {burst} at once and then {steady} a second are accepted.",
    )


def _day(tat: int) -> Bucket:
    number = int(conf.get("MESSAGES_PER_DAY"))
    return Bucket(
        tat,
        _step(number),
        number,
        Code.QUOTA_EXCEEDED,
        f"{number} messages of one agent are accepted at once, and then as many a day, evenly.",
    )


def _contacts(tat: int) -> Bucket:
    number = int(conf.get("NEW_CONTACTS_PER_DAY"))
    return Bucket(
        tat,
        _step(number),
        min(number, NEW_CONTACT_BURST),
        Code.QUOTA_EXCEEDED,
        f"An agent may write to {number} strangers a day, to {min(number, NEW_CONTACT_BURST)} at once.",
    )


def _step(a_day: int) -> int:
    return max(1, _DAY * _MICROSECONDS // a_day)
