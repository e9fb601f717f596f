"""The database before and after a run, in processes of their own: ``python -m tests.e2e.crash.evidence WHAT``.

``prepare N`` migrates and puts N expired events into the log; ``lag`` prints how far the pump is behind;
``snapshot FILE`` writes what the oracle needs.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

from tests.e2e.crash.journal import Line
from tests.e2e.crash.oracle import Event, Evidence, Message


def prepare(old_events: int) -> None:
    from django.core.management import call_command

    from agentweb import conf
    from agentweb.aim import log
    from agentweb.aim.models import Event as EventRow
    from agentweb.aim.models import LogHead
    from agentweb.wire.clock import now_datetime
    from tests.e2e.crash import planted

    call_command("migrate", verbosity=0, interactive=False, run_syncdb=True)
    log.begin()
    at = now_datetime() - timedelta(days=conf.get("EVENTS_DAYS") + 1)
    EventRow.objects.bulk_create(
        [
            EventRow(seq=seq, stream=log.stream_of(0), type=log.CONTACT_ACCEPTED, at=at, data="{}")
            for seq in range(1, old_events + 1)
        ],
        batch_size=500,
    )
    LogHead.objects.update(last=old_events)
    planted.prepare()


def lag() -> int:
    """How many positions of the log the slowest background reader has yet to look at."""
    from agentweb.aim import consumers, log

    return log.ends().last - min(consumers.positions().values())


def snapshot() -> dict[str, Any]:
    from agentweb.aim import cursors
    from agentweb.aim.models import Account, Agent, LogHead
    from agentweb.aim.models import Event as EventRow
    from agentweb.aim.models import Message as MessageRow

    head = LogHead.objects.get()
    names = dict(Agent.objects.values_list("pk", "name"))
    accounts = {names[row.agent_id]: (row.charged, row.received) for row in Account.objects.all()}
    return {
        "last": head.last,
        "floor": head.floor,
        "charged": {name: charged for name, (charged, _received) in accounts.items()},
        "received": {name: received for name, (_charged, received) in accounts.items()},
        "messages": [
            {
                "sender": names[row.sender_id],
                "recipient": names.get(row.recipient_id),
                "ident": row.message_id,
                "digest": hashlib.sha256(row.envelope.encode()).hexdigest(),
                "seq": row.seq,
                "key": row.pk,
            }
            for row in MessageRow.objects.order_by("pk")
        ],
        "events": [
            {
                "seq": row.seq,
                "agent": names.get(int(row.stream.partition(":")[2]), row.stream),
                "type": row.type,
                "message": row.message_key,
            }
            for row in EventRow.objects.order_by("seq")
        ],
        "positions": {cursors.event_cursor(head.epoch, seq): seq for seq in range(head.floor, head.last + 1)},
    }


def load(
    value: Mapping[str, Any],
    *,
    writers: Mapping[str, Sequence[Line]],
    readers: Mapping[str, Sequence[Line]],
    told: Sequence[Line],
    inboxes: Mapping[str, Sequence[Sequence[str]]],
    quota: int | None,
) -> Evidence:
    """The evidence of a snapshot and the journals."""
    return Evidence(
        charged=value["charged"],
        received=value["received"],
        messages=[Message(**row) for row in value["messages"]],
        events=[Event(**row) for row in value["events"]],
        last=value["last"],
        floor=value["floor"],
        positions=value["positions"],
        writers=writers,
        readers=readers,
        told=[(line["from"], line["id"]) for line in told],
        inboxes=inboxes,
        quota=quota,
    )


def main(what: str, *arguments: str) -> None:
    import django

    django.setup()
    if what == "prepare":
        prepare(int(arguments[0]))
    elif what == "lag":
        print(lag())
    elif what == "snapshot":
        Path(arguments[0]).write_text(json.dumps(snapshot()))
    else:
        raise SystemExit(f"unknown: {what}")


if __name__ == "__main__":
    main(*sys.argv[1:])
