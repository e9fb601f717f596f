"""What the processes of the races do; see tests/support/races.py."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from decimal import Decimal
from typing import Any

from django.conf import settings

from agentweb.access import site_keys
from agentweb.invoke import idempotency
from agentweb.wire.errors import AgentError
from tests.site.models import Note, Stock
from tests.support.calls import caller_with, do


def prepare(stock: dict[str, int]) -> None:
    site_keys.ensure_active_key()
    for name, left in stock.items():
        Stock.objects.create(name=name, left=left)


def charge(
    chain: list[dict[str, Any]], racer: int, calls: int, price: str, names: list[str]
) -> dict[str, int]:
    """Pay ``calls`` times, an agent's retries included; counts by outcome."""
    caller = caller_with(chain)
    outcomes: Counter[str] = Counter()
    for number in range(calls):
        name = names[(racer + number) % len(names)]
        for _ in range(20):
            try:
                do(
                    name,
                    {"item": "tea", "price": Decimal(price)},
                    caller,
                    key=f"race-{racer:04d}-{number:08d}",
                )
                outcomes["ok"] += 1
            except AgentError as error:
                if error.retry_after is not None:
                    outcomes["retried"] += 1
                    time.sleep(0.05)
                    continue
                outcomes[error.code] += 1
            break
        else:
            outcomes["gave up"] += 1
    return dict(outcomes)


def same_call(chain: list[dict[str, Any]], name: str, key: str) -> dict[str, Any]:
    """One identical call, repeated while it is in progress."""
    for _ in range(400):
        try:
            outcome = do(name, {"text": "tea"}, caller_with(chain), key=key)
        except AgentError as error:
            if error.code in {"idempotency_in_progress", "unavailable"}:
                time.sleep(0.02)
                continue
            raise
        return {"body": outcome.body.decode(), "replayed": outcome.replayed}
    raise AssertionError("never answered")


def one_time(chain: list[dict[str, Any]], racer: int) -> str:
    for _ in range(200):
        try:
            do("write_note", {"text": "tea"}, caller_with(chain), key=f"one-time-{racer:08d}")
        except AgentError as error:
            if error.retry_after is not None:
                time.sleep(0.02)
                continue
            return error.code
        return "ok"
    raise AssertionError("never answered")


def notes() -> int:
    return Note.objects.count()


def account() -> dict[str, Any]:
    """The books afterwards, and whether the chain of receipts verifies."""
    from agentweb.ledger import receipts
    from agentweb.models import AuditEntry, IdempotencyRecord, Mandate, Receipt
    from agentweb.wire.receipts import verify_chain
    from agentweb.wire.strict_json import loads
    from tests.support.calls import SITE

    documents = [loads(row.document.encode()) for row in Receipt.objects.order_by("seq")]
    return {
        "mandates": {row.grant_id: [row.spent, row.uses] for row in Mandate.objects.all()},
        "receipts": sum(row.amount for row in Receipt.objects.all()),
        "count": len(documents),
        "chain": verify_chain(documents, receipts.signed_head(SITE), keys=site_keys.published_keys()),
        "stock": {row.name: row.left for row in Stock.objects.all()},
        "running": IdempotencyRecord.objects.filter(state="running").count(),
        "audited_ok": AuditEntry.objects.filter(outcome="ok").count(),
    }


LEASE_SECONDS = 1


def owner_or_taker(role: str, chain: list[dict[str, Any]], key: str) -> str:
    """Two processes with the same call, under a short lease: an owner that is paused, and one that comes later."""
    settings.AGENTWEB = {**settings.AGENTWEB, "IDEMPOTENCY_LEASE_SECONDS": LEASE_SECONDS}
    if role == "taker":
        time.sleep(LEASE_SECONDS / 2)
        same_call(chain, "write_note", key)
        return "ok"
    with pause_after(idempotency, "claim", 3 * LEASE_SECONDS):
        try:
            do("write_note", {"text": "tea"}, caller_with(chain), key=key)
        except AgentError as error:
            return error.code
    return "ok"


@contextmanager
def pause_after(module: Any, name: str, seconds: float) -> Iterator[None]:
    """Stop for a while after a function returned, as a process does that is swapped out or paused."""
    function = getattr(module, name)

    def slow(*args: Any, **kwargs: Any) -> Any:
        answer = function(*args, **kwargs)
        time.sleep(seconds)
        return answer

    setattr(module, name, slow)
    try:
        yield
    finally:
        setattr(module, name, function)
