"""What the processes of the agreement races do; see tests/support/races.py."""

from __future__ import annotations

import time
from typing import Any

from agentweb.access import site_keys
from agentweb.ledger import receipts
from agentweb.models import Agreement, Mandate, Receipt
from agentweb.wire.errors import AgentError
from agentweb.wire.receipts import verify_chain
from agentweb.wire.strict_json import loads
from tests.ledger import agreed
from tests.support.calls import SITE, caller_with


def prepare(chain: list[dict[str, Any]]) -> str:
    site_keys.ensure_active_key()
    return str(agreed.conclude(caller_with(chain))["id"])


def buy_named(chain: list[dict[str, Any]], racer: int, ident: str) -> str:
    """One purchase under the agreement: ``ok``, or the code of the refusal."""

    def handler(inp: Any, ctx: Any) -> Any:
        return ctx.charge("80.00", "USD", item="sku-1", agreement=ident)

    return _buy(handler, chain, racer)


def buy_found(chain: list[dict[str, Any]], racer: int) -> str:
    """One purchase as the seed writes it; the price that was paid."""
    paid: list[str] = []

    def handler(inp: Any, ctx: Any) -> Any:
        deal = ctx.agreement({"product_id": "sku-1"})
        paid.append(deal["price"] if deal else "99.00")
        return ctx.charge(paid[-1], "USD", item="sku-1")

    outcome = _buy(handler, chain, racer)
    return paid[-1] if outcome == "ok" else outcome


def _buy(handler: Any, chain: list[dict[str, Any]], racer: int) -> str:
    for _ in range(200):
        try:
            agreed.buy(handler, caller_with(chain), f"agreed-{racer:010d}")
        except AgentError as error:
            if error.retry_after is not None:
                time.sleep(0.02)
                continue
            return error.code
        return "ok"
    raise AssertionError("never answered")


def account() -> dict[str, Any]:
    documents = [loads(row.document.encode()) for row in Receipt.objects.order_by("seq")]
    used = Agreement.objects.get().receipt
    return {
        "spent": [row.spent for row in Mandate.objects.all()],
        "agreements": [document["agreement"] for document in documents],  # type: ignore[index, call-overload]
        "is_of_a_receipt": Receipt.objects.filter(pk=used).exists(),
        "chain": verify_chain(documents, receipts.signed_head(SITE), keys=site_keys.published_keys()),
    }
