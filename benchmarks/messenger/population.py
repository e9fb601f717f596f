"""Who is there, and what they have written: rows as the messenger writes them, many in one statement."""

from __future__ import annotations

from datetime import timedelta
from typing import Any, Final

from django.db import connection, transaction

from agentweb.aim import log
from agentweb.aim.models import Account, Agent, AgentKey, Contact, Event, LogHead, Message
from agentweb.wire.clock import now_datetime
from benchmarks.messenger.letters import AGENTS, CONTACTS, Writer

FRIENDS_OF_CROWD: Final = 4
FAVOURITE: Final = 5
_ROWS: Final = 2_000


def settle() -> None:
    """The writers, each with its contacts, and the log's head."""
    log.begin()
    at = now_datetime()
    writers = [Writer(number) for number in range(AGENTS)]
    agents = _create(Agent, [Agent(name=writer.name, created_at=at) for writer in writers])
    _create(
        AgentKey,
        [
            AgentKey(public=writer.public, agent=agent, since=at)
            for writer, agent in zip(writers, agents, strict=True)
        ],
    )
    _create(Account, [Account(agent=agent) for agent in agents])
    _befriend(agents, CONTACTS)


def crowd(many: int) -> None:
    """As many other agents, with keys, accounts and contacts among themselves."""
    at = now_datetime()
    agents = _create(Agent, [Agent(name=f"crowd-{at_:06d}", created_at=at) for at_ in range(many)])
    keys = [AgentKey(public=f"crowd{agent.pk:038d}", agent=agent, since=at) for agent in agents]
    _create(AgentKey, keys)
    _create(Account, [Account(agent=agent) for agent in agents])
    _befriend(agents, FRIENDS_OF_CROWD)


def history(many: int, text: str) -> None:
    """``many`` messages among the writers, each an event of both sides, after what is there; the log moves on.

    The first writer is written to by its contacts so often that more than every tenth event is its own. ``text`` stands
    for every envelope.
    """
    first = Agent.objects.order_by("pk").values_list("pk", flat=True)[0]
    last = log.ends().last
    top = Message.objects.order_by("-pk").values_list("pk", flat=True).first() or 0
    at = now_datetime() - timedelta(hours=1)
    tables = {
        name: connection.ops.quote_name(model._meta.db_table)
        for name, model in {"message": Message, "event": Event}.items()
    }
    series = (
        f"SELECT n FROM generate_series(1, {many}) AS n"  # noqa: S608
        if connection.vendor == "postgresql"
        else f"WITH RECURSIVE s(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM s WHERE n < {many}) SELECT n FROM s"  # noqa: S608
    )
    # Every FAVOURITEth goes to the first writer, from one of its contacts; the rest from each to one of those after it.
    turn, is_hers = f"n / {AGENTS} %% {CONTACTS}", f"n %% {FAVOURITE} = 0"
    sender = f"(CASE WHEN {is_hers} THEN 1 + n / {FAVOURITE} %% {CONTACTS} ELSE n %% {AGENTS} END)"
    recipient = f"(CASE WHEN {is_hers} THEN 0 ELSE (n %% {AGENTS} + 1 + {turn}) %% {AGENTS} END)"
    low, high = (
        f"(CASE WHEN {sender} {sign} {recipient} THEN {sender} ELSE {recipient} END + {first})"
        for sign in "<>"
    )
    when = connection.ops.adapt_datetimefield_value(at)
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(
            f"INSERT INTO {tables['message']} (id, sender_id, recipient_id, message_id, conversation, root, digest, "  # noqa: S608
            "signed_by, envelope, type, state, accepted_at, seq) "
            f"SELECT {top} + n, {sender} + {first}, {recipient} + {first}, 'history-' || n || '-of-benchmarks', "
            f"'dm:' || {low} || ':' || {high}, 'history-' || n || '-of-benchmarks', %s, %s, %s, 'message', 'live', "
            f"{_instant()}, {last} + 2 * n FROM ({series}) AS numbers",
            ["0" * 64, Writer(0).public, text, when],
        )
        for offset, party in enumerate([sender, recipient], 1):
            cursor.execute(
                f"INSERT INTO {tables['event']} (seq, stream, type, at, message_key, data) "  # noqa: S608
                f"SELECT {last} + 2 * (n - 1) + {offset}, 'agent:' || ({party} + {first}), 'message', {_instant()}, "
                f"{top} + n, '' FROM ({series}) AS numbers",
                [when],
            )
        LogHead.objects.filter(name=log.NAME).update(last=last + 2 * many)
        if connection.vendor == "postgresql":
            cursor.execute(
                f"SELECT setval(pg_get_serial_sequence('{Message._meta.db_table}', 'id'), {top + many})"
            )
    with connection.cursor() as cursor:
        # As autovacuum does in time.
        cursor.execute("VACUUM ANALYZE" if connection.vendor == "postgresql" else "ANALYZE")


def _instant() -> str:
    return "CAST(%s AS timestamptz)" if connection.vendor == "postgresql" else "%s"


def _befriend(agents: list[Agent], contacts: int) -> None:
    """Each accepts so many after it, and they accept it."""
    pairs = {
        pair
        for at in range(len(agents))
        for step in range(1, contacts + 1)
        for pair in ((at, (at + step) % len(agents)), ((at + step) % len(agents), at))
    }
    when = now_datetime()
    _create(
        Contact,
        [
            Contact(owner=agents[one], other=agents[two], state=Contact.State.ACCEPTED.value, changed_at=when)
            for one, two in sorted(pairs)
        ],
    )


def _create(model: Any, rows: list[Any]) -> list[Any]:
    return list(model.objects.bulk_create(rows, batch_size=_ROWS))
