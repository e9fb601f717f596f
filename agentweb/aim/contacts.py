"""Contacts: whom an agent has accepted and whom it has blocked. Everybody else is a stranger to it.

In which lane a message is shown follows from the contact of today, so accepting somebody moves what waits, and
blocking hides it, without a message being touched. Every change is an event of the same transaction.
"""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime
from typing import Any, Final

from agentweb import conf
from agentweb.access import limits
from agentweb.access.limits import Allowance
from agentweb.aim import log, recipients, statements, transactions
from agentweb.aim.cursors import Kind, page_cursor, parse_name
from agentweb.aim.log import Entry
from agentweb.aim.models import Agent, Contact
from agentweb.aim.policy import per_hour
from agentweb.aim.statements import Call, Outcome, Statement
from agentweb.wire.clock import now_datetime
from agentweb.wire.errors import AgentError, Code, InputError, RequestError
from agentweb.wire.json_writing import dumps

POLICY: Final = "contact-changes"
STATES: Final = tuple(Contact.State.values)

_EVENTS: Final = {
    Contact.State.ACCEPTED: log.CONTACT_ACCEPTED,
    Contact.State.BLOCKED: log.CONTACT_BLOCKED,
}
_SET: Final = Statement(
    "INSERT INTO {contact} (owner_id, other_id, state, changed_at) VALUES (%s, %s, %s, %s) "
    "ON CONFLICT (owner_id, other_id) DO UPDATE SET state = excluded.state, changed_at = excluded.changed_at "
    "WHERE {contact}.state <> excluded.state"
)
_ACCEPT: Final = Statement(
    "INSERT INTO {contact} (owner_id, other_id, state, changed_at) VALUES {rows} ON CONFLICT DO NOTHING{returning}"
)
_REMOVE: Final = Statement("DELETE FROM {contact} WHERE owner_id = %s AND other_id = %s")
_GET: Final = Statement("SELECT state, changed_at FROM {contact} WHERE owner_id = %s AND other_id = %s")
_LIST: Final = Statement(
    "SELECT a.name, a.status, c.state, c.changed_at FROM {contact} c JOIN {agent} a ON a.id = c.other_id "
    "WHERE c.owner_id = %s AND a.name > %s AND c.state IN ({states}) ORDER BY a.name LIMIT %s"
)


def take(agent: Agent) -> Allowance:
    """Count a change that the agent asks for, for each may write an event that stays; raises rate_limited."""
    return limits.take(f"aim-contacts:{agent.pk}", per_hour(conf.get("CONTACT_CHANGES_PER_HOUR")), POLICY)


def set_state(agent: Agent, name: str, state: str, authority: str) -> dict[str, Any]:
    """Accept or block the agent of that name: ``{"contact": {"name", "address", "state", "changed_at"}}``.

    Repeating it changes nothing. Raises invalid_input for another state and for the own name, not_found, and
    agent_deleted for accepting who is gone.
    """
    if state not in STATES:
        problem = {
            "pointer": "/state",
            "field": "state",
            "code": "enum",
            "message": f"state is one of {', '.join(STATES)}.",
        }
        raise InputError([problem])
    if name == agent.name:
        raise RequestError(Code.INVALID_INPUT, "An agent is no contact of its own.", field="name")
    return transactions.run(lambda: _set(agent, name, Contact.State(state), authority))


def _set(agent: Agent, name: str, state: Contact.State, authority: str) -> dict[str, Any]:
    party = recipients.find_one(agent.pk, name)
    if state == Contact.State.ACCEPTED and recipients.is_gone(party):
        raise AgentError(Code.AGENT_DELETED, "This agent has been deleted.", field="name")
    at = now_datetime()
    if _SET.run([agent.pk, party.id, state.value, statements.instant(at)]):
        log.append([entry(agent.pk, name, _EVENTS[state], state.value)], at)
    [(kept, since)] = _GET.fetch([agent.pk, party.id])
    return {"contact": _shown(name, authority, kept, since)}


def remove(agent: Agent, name: str, authority: str) -> bool:
    """Forget the contact, so that the two are strangers to the agent; whether there was one. Raises not_found."""
    return transactions.run(lambda: _removed(agent, name))


def _removed(agent: Agent, name: str) -> bool:
    party = recipients.find_one(agent.pk, name)
    if not _REMOVE.run([agent.pk, party.id]):
        return False
    log.append([entry(agent.pk, name, log.CONTACT_REMOVED)], now_datetime())
    return True


def listed(agent: Agent, state: str | None, authority: str, cursor: str | None, limit: int) -> dict[str, Any]:
    """A page of the contacts by name, those of one state or all.

    ``{"items": [{"name", "address", "state", "changed_at", "status"}], "next_cursor"}``; ``status`` is the other
    agent's. One statement. Raises invalid_cursor and, for another state, invalid_parameter.
    """
    if state is not None and state not in STATES:
        raise RequestError(Code.INVALID_PARAMETER, f"state is one of {', '.join(STATES)}.", field="state")
    after = "" if cursor is None else parse_name(Kind.CONTACTS, cursor)
    states = STATES if state is None else (state,)
    found = _LIST.fetch([agent.pk, after, *states, limit + 1], states=len(states))
    items = [
        {**_shown(name, authority, kept, since), "status": status}
        for name, status, kept, since in found[:limit]
    ]
    more = page_cursor(Kind.CONTACTS, found[limit - 1][0]) if len(found) > limit else None
    return {"items": items, "next_cursor": more}


def accepting(owner: int, others: Collection[int], at: datetime) -> Call:
    """Accepts those who are strangers to ``owner``; whoever is blocked stays blocked. See ``accepted``."""
    when = statements.instant(at)
    values = [
        value for other in sorted(others) for value in (owner, other, Contact.State.ACCEPTED.value, when)
    ]
    returning = " RETURNING other_id" if statements.returns_rows() else ""
    return _ACCEPT.call(values, rows=(len(others), 4), returning=returning)


def accepted(others: Collection[int], outcome: Outcome) -> list[int]:
    """Who was a stranger until then, by primary key."""
    if statements.returns_rows():
        return sorted(row[0] for row in outcome.rows)
    # Such a database has one writer at a time, and we looked since we are that.
    return sorted(others)


def entry(owner: int, name: str, kind: str, state: str | None = None) -> Entry:
    """The event that tells ``owner`` about its contact ``name``; without a state it is a stranger again."""
    return Entry(log.stream_of(owner), kind, data=dumps({"name": name, "state": state}).decode("utf-8"))


def _shown(name: str, authority: str, state: str, since: Any) -> dict[str, Any]:
    return {
        "name": name,
        "address": f"{name}@{authority}",
        "state": state,
        "changed_at": statements.write_instant(statements.read_instant(since)),
    }
