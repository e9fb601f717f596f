"""What the processes of the races about payments do; see tests/support/races.py."""

from __future__ import annotations

import importlib
import json
import os
import signal
import time
import traceback
from collections import Counter
from collections.abc import Callable
from decimal import Decimal
from typing import Any

from django.conf import settings

from agentweb.access import site_keys
from agentweb.ledger import providers, refunds, settling
from agentweb.testing import clock
from agentweb.testing.payments import TestProvider
from agentweb.wire.encoding import random_id
from agentweb.wire.errors import AgentError
from tests.support.calls import SITE, caller_with, do
from tests.support.payments import PATH

RUN_OUT_SECONDS = 600
"""Longer than any lease."""


def switch_on() -> TestProvider:
    """Let this process pay through the provider."""
    settings.AGENTWEB = {**settings.AGENTWEB, "PAYMENTS": PATH, "PAYMENT_TIMEOUT_SECONDS": 60}
    made = providers.named(PATH).provider
    assert isinstance(made, TestProvider)
    return made


def prepare() -> None:
    site_keys.ensure_active_key()


def buy(
    chain: list[dict[str, Any]], item: str, price: str, keys: list[str], name: str = "pay"
) -> dict[str, int]:
    """Buy once under each key, an agent's retries included; counts by outcome."""
    switch_on()
    outcomes: Counter[str] = Counter()
    for key in keys:
        for _ in range(400):
            try:
                do(name, {"item": item, "price": Decimal(price)}, caller_with(chain), key=key)
                outcomes["ok"] += 1
            except AgentError as error:
                if error.retry_after is not None:
                    time.sleep(0.05)
                    continue
                outcomes[error.code] += 1
            break
        else:
            outcomes["gave up"] += 1
    return dict(outcomes)


def give(receipt: str, amount: int, times: int) -> dict[str, int]:
    """Refund as staff do, several times."""
    from django.contrib.auth.models import AnonymousUser

    switch_on()
    outcomes: Counter[str] = Counter()
    for _ in range(times):
        try:
            refund = refunds.give(receipt, amount, reason="Cold.", by=AnonymousUser(), ident=random_id("rf_"))
            outcomes[refund.state] += 1
        except AgentError as error:
            outcomes[error.code] += 1
    return dict(outcomes)


def sweep(seconds: int, times: int) -> dict[str, int]:
    """Sweep, that much later."""
    switch_on()
    ended: Counter[str] = Counter()
    with clock() as moved:
        moved.forward(seconds)
        for _ in range(times):
            ended.update(settling.sweep().ended)
            moved.forward(60)
    return dict(ended)


def sweep_or_retry(number: int, chain: list[dict[str, Any]], key: str, seconds: int) -> Any:
    """Half of the processes sweep, the others come back with the call, all at the same late moment."""
    if number % 2:
        return sweep(seconds, 3)
    with clock() as moved:
        moved.forward(seconds)
        return buy(chain, "lost", "10.00", [key])


def begin(chain: list[dict[str, Any]], item: str, key: str) -> str:
    """One call that is not repeated; its error's code."""
    switch_on()
    try:
        do("pay", {"item": item, "price": Decimal(10)}, caller_with(chain), key=key)
    except AgentError as error:
        return error.code
    return "ok"


def only_receipt() -> str:
    from agentweb.models import Receipt

    return str(Receipt.objects.get().pk)


def account(grant: str = "") -> dict[str, Any]:
    """The books of a grant, or of all, at both ends, and whether the chain of receipts verifies."""
    from agentweb.ledger import receipts
    from agentweb.models import Mandate, Payment, Receipt, Refund
    from agentweb.wire.receipts import verify_chain
    from agentweb.wire.strict_json import loads

    provider = switch_on()
    rows = list(Receipt.objects.order_by("seq"))
    documents = [loads(row.document.encode()) for row in rows]
    mine = [row for row in rows if not grant or row.grant == grant]
    payments = [row for row in Payment.objects.all() if not grant or row.grants[0] == grant]
    ids = {row.pk for row in mine} | {row.pk for row in payments}
    captured = [row for row in provider.charges() if row["id"] in ids and row["state"] == "captured"]
    given = [row for row in provider.refunds() if row["charge"] in ids and row["state"] == "refunded"]
    return {
        "chain": verify_chain(documents, receipts.signed_head(SITE), keys=site_keys.published_keys()),
        "charges": [row.amount for row in mine if row.kind == "charge"],
        "refunds": [row.amount for row in mine if row.kind == "refund"],
        "spent": [row.spent for row in Mandate.objects.all() if not grant or row.grant_id == grant],
        "uses": [row.uses for row in Mandate.objects.all() if not grant or row.grant_id == grant],
        "captured": [row["amount"] for row in captured],
        "given": [row["amount"] for row in given],
        "unsettled": [row.state for row in payments if row.state in {"pending", "captured"}]
        + [row.state for row in Refund.objects.filter(state="processing", receipt__in=ids)],
    }


# -- crashes


def crash(case: str, point: list[str], then: str, chain: list[dict[str, Any]], grant: str) -> dict[str, Any]:
    """Kill a process that buys at a point, see to it that another goes on, and tell the books.

    Each part is done in a process of its own: this one opens no connection.
    """
    key = f"crash-{random_id('')}"
    name, item = {"pays": ("pay", "tea"), "refuses": ("pay_and_refuse", "tea")}[case]
    status = _apart(lambda: _die_at(point, lambda: buy(chain, item, "10.00", [key], name)))[0]
    outcome = _apart(lambda: _go_on(then, lambda: buy(chain, item, "10.00", [key], name)))[1]
    return {
        "killed": status == -signal.SIGKILL,
        "outcome": outcome,
        "books": _apart(lambda: account(grant))[1],
    }


def _go_on(then: str, again: Callable[[], Any]) -> Any:
    """After the leases: the same call, and what a worker does; or what a worker does alone."""
    outcome = None
    with clock() as moved:
        moved.forward(RUN_OUT_SECONDS)
        if then == "retry":
            outcome = again()
    sweep(RUN_OUT_SECONDS if then == "retry" else 3 * 3_600, 4)
    return outcome


def _die_at(point: list[str], work: Callable[[], Any]) -> Any:
    """``point`` is a module (or ``module:Class``), a function in it, and ``before`` or ``after``."""
    where, name, when = point
    module, _, kind = where.partition(":")
    owner: Any = importlib.import_module(module)
    owner = getattr(owner, kind) if kind else owner
    function = getattr(owner, name)

    def deadly(*args: Any, **kwargs: Any) -> Any:
        if when == "after":
            function(*args, **kwargs)
        os.kill(os.getpid(), signal.SIGKILL)

    setattr(owner, name, deadly)
    return work()


def _apart(work: Callable[[], Any]) -> tuple[int, Any]:
    """Do it in a process of its own: its exit code, and what it answered."""
    read, write = os.pipe()
    pid = os.fork()
    if not pid:
        status = 1
        try:
            os.close(read)
            with os.fdopen(write, "w") as answer:
                json.dump(work(), answer)
            status = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(status)
    os.close(write)
    with os.fdopen(read) as answered:
        text = answered.read()
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    if status > 0:
        raise RuntimeError("a part of the crash test failed; its traceback is above")
    return status, json.loads(text) if text else None
