"""Tasks for Celery, found by its ``autodiscover_tasks()``; nothing else imports this module.

They are shells over functions that the command ``agentweb_worker`` calls too. A task that gets lost, runs twice or dies
in between changes nothing but when something is done. ``agentweb.beat`` says how often.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from celery import shared_task

from agentweb import rooms, upkeep
from agentweb.aim.sweep import sweep as sweep_log
from agentweb.awp.content import running as content
from agentweb.beat import BACKGROUND, CONTENT, PAYMENTS, RETENTION, SWEEP
from agentweb.ledger import settling


@shared_task(name=SWEEP, ignore_result=True)
def sweep() -> dict[str, int]:
    """Look at the messenger's log and do what is not done yet."""
    return asdict(sweep_log())


@shared_task(name=RETENTION, ignore_result=True)
def retention() -> dict[str, int]:
    """Delete what is over, as ``clear_expired`` does."""
    return upkeep.clear_expired()


@shared_task(name=BACKGROUND, ignore_result=True)
def background() -> dict[str, int]:
    """What the rooms do once in a while, and is due: asking the sites of the index anew."""
    return rooms.background(lambda: False)


@shared_task(name=PAYMENTS, ignore_result=True)
def payments() -> dict[str, Any]:
    """Look at the payments and refunds that are not at their end, as ``agentweb_payments`` does."""
    return asdict(settling.sweep())


@shared_task(name=CONTENT, ignore_result=True)
def content_run() -> dict[str, int] | None:
    """Look at every page of the site, as ``agentweb_content`` does; pages by what became of them. None while another
    run is at work, and where AWP is switched off."""
    summary = content.run() if "awp" in rooms.switched_on() else None
    return None if summary is None else summary.counts
