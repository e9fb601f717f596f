"""A log with messages in it, written as the messenger writes them, without the checks of an accepting request."""

from __future__ import annotations

import secrets
from datetime import datetime
from typing import Any

from django.db import transaction

from agentweb.access.database import patiently
from agentweb.aim import log
from agentweb.aim.log import Entry
from agentweb.aim.models import Account, Agent, AgentKey, Message
from agentweb.wire.clock import now_datetime


def agent(name: str, **fields: Any) -> Agent:
    at = now_datetime()
    found = Agent.objects.create(name=name, created_at=at, **fields)
    AgentKey.objects.create(public=secrets.token_urlsafe(32), agent=found, since=at)
    Account.objects.create(agent=found)
    return found


def post(
    sender: Agent, recipient: Agent, count: int = 1, *, at: datetime | None = None, kind: str = log.MESSAGE
) -> list[Message]:
    """``count`` messages in one transaction, with an event for each party."""
    log.begin()
    return patiently(lambda: _post(sender, recipient, count, at or now_datetime(), kind))


def _post(sender: Agent, recipient: Agent, count: int, at: datetime, kind: str) -> list[Message]:
    low, high = sorted([sender.pk, recipient.pk])
    with transaction.atomic():
        rows = Message.objects.bulk_create(
            Message(
                sender=sender,
                recipient=recipient,
                message_id=(ident := secrets.token_hex(12)),
                conversation=f"dm:{low}:{high}",
                root=ident,
                digest=secrets.token_hex(32),
                signed_by="k" * 43,
                envelope=f'{{"body":"secret {ident}"}}',
                type="text",
                accepted_at=at,
            )
            for _ in range(count)
        )
        entries = [
            Entry(log.stream_of(party), log.MESSAGE if party == sender.pk else kind, row.pk)
            for row in rows
            for party in dict.fromkeys([sender.pk, recipient.pk])
        ]
        last, _epoch = log.append(entries, at)
        each = len(entries) // len(rows)
        for number, row in enumerate(rows, 1):
            row.seq = last - len(entries) + number * each
        Message.objects.bulk_update(rows, ["seq"])
    return rows
