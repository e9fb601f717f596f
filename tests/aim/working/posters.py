"""What posts and what counts, each in a process of its own (``tests.support.races``)."""

from __future__ import annotations

import os
import random
import time
from typing import Any

from django.db.models import Count, Sum

from agentweb.aim import health, log, wakeups
from agentweb.aim.models import Account, Agent, Event, Message
from tests.aim.filling import agent, post
from tests.aim.working import recording
from tests.site.models import Note

NAMES = ("ann", "bob", "cat", "dan")


def register() -> None:
    log.begin()
    for name in NAMES:
        agent(name)


def post_for(seconds: float, pause: float) -> dict[str, Any]:
    """Post messages among the agents, one after the other, with a hint after each; how many, and the slowest one."""
    if "AGENTWEB_TEST_BROKER" in os.environ:
        from tests.aim.working import celery_site  # noqa: F401 - sends hints from now on
    recording.wake_up_through_redis()
    agents = list(Agent.objects.order_by("pk"))
    count, slowest, until = 0, 0.0, time.monotonic() + seconds
    while time.monotonic() < until:
        sender, recipient = random.choices(agents, k=2)
        began = time.monotonic()
        post(sender, recipient, kind=random.choice([log.MESSAGE, log.REQUEST]))
        wakeups.notify()
        slowest = max(slowest, time.monotonic() - began)
        count += 1
        time.sleep(pause)
    return {"posted": count, "slowest": slowest}


def verdict() -> dict[str, Any]:
    """How the effects compare with the messages."""
    by_recipient = dict(
        Message.objects.order_by()
        .values_list("recipient")
        .annotate(count=Count("pk"))
        .values_list("recipient", "count")
    )
    received = dict(Account.objects.values_list("agent", "received"))
    told = list(Note.objects.values_list("text", flat=True))
    found = health.look()
    return {
        "lag": max(reader.lag for reader in found.readers),
        "heard": sum(reader.heard_seconds is not None for reader in found.readers),
        "messages": Message.objects.count(),
        "events": Event.objects.count(),
        "received": Account.objects.aggregate(Sum("received"))["received__sum"],
        "is_exact": all(received[key] == by_recipient.get(key, 0) for key in received),
        "told": len(told),
        "told_once_at_least": set(told) == set(Message.objects.values_list("message_id", flat=True)),
        "in_order": _in_order(told),
    }


def _in_order(told: list[str]) -> bool:
    """Whether the first time of each is in the order of the log."""
    return list(dict.fromkeys(told)) == list(
        Message.objects.order_by("seq").values_list("message_id", flat=True)
    )
