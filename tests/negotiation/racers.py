"""What the processes of the negotiation races do; see tests/support/races.py."""

from __future__ import annotations

import time
from typing import Any

from django.conf import settings

from agentweb.access import site_keys
from agentweb.models import Agreement, Negotiation
from agentweb.negotiation import counter, moves
from agentweb.negotiation.negotiator import Context
from agentweb.testing import clock
from agentweb.wire.clock import now, now_datetime
from agentweb.wire.errors import AgentError
from tests.negotiation import negotiators
from tests.support.calls import SITE, caller_with

TERMS = {"product_id": "sku-1"}


def _set() -> None:
    settings.AGENTWEB = {**settings.AGENTWEB, "NEGOTIATOR": "tests.negotiation.negotiators.scripted"}
    negotiators.script[:] = [counter(95)] * 20


def _told(move: Any) -> str:
    for _ in range(200):
        try:
            return str(move()["state"])
        except AgentError as error:
            if error.code == "unavailable":
                time.sleep(0.02)
                continue
            return error.code
    raise AssertionError("never answered")


def begin(chain: list[dict[str, Any]], price: int) -> str:
    _set()
    site_keys.ensure_active_key()
    context = Context(caller_with(chain), "rq_" + "A" * 22)
    return _told(lambda: moves.begin(context, site=SITE, terms=TERMS, price=price, currency="USD", note=""))


def accept(chain: list[dict[str, Any]]) -> str:
    caller, ident = caller_with(chain), Negotiation.objects.get().pk
    return _told(lambda: moves.accept(caller, ident, 1, site=SITE))


def reject(chain: list[dict[str, Any]]) -> str:
    caller, ident = caller_with(chain), Negotiation.objects.get().pk
    return _told(lambda: moves.reject(caller, ident, site=SITE))


def offer(chain: list[dict[str, Any]], price: str) -> str:
    _set()
    context, ident = Context(caller_with(chain), "rq_" + "A" * 22), Negotiation.objects.get().pk
    return _told(lambda: moves.offer(context, ident, site=SITE, price=price, note=""))


def accept_or_expire(role: str, chain: list[dict[str, Any]]) -> str:
    """Accept in time, or find by a clock that is ahead that it is too late."""
    if role == "accept":
        return accept(chain)
    with clock(now() + 3_600):
        return "expired" if moves.expire(Negotiation.objects.all(), now_datetime()) else "nothing"


def account() -> dict[str, Any]:
    rows = list(Negotiation.objects.all())
    return {
        "states": sorted(row.state for row in rows),
        "rounds": [row.round for row in rows],
        "agreements": Agreement.objects.count(),
        "named": [row.agreement for row in rows if row.agreement]
        == [each.pk for each in Agreement.objects.all()],
    }
