"""Orders to a payment provider, for tests that ask one itself."""

from __future__ import annotations

from agentweb.ledger.providers import ChargeOrder


def charge_order(ident: str = "rc_1", item: str = "tea", amount: int = 1_000) -> ChargeOrder:
    """Of ``amount`` cents in US dollars."""
    return ChargeOrder(
        id=ident,
        amount=amount,
        currency="USD",
        item=item,
        site="shop.example",
        action="buy",
        request_id="rq_x",
        agent="ed25519:x",
        grant="gr_x",
    )
