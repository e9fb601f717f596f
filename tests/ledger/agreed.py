"""An agreement for a caller, and a handler that buys by it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

from agentweb import action
from agentweb.access import site_keys
from agentweb.access.callers import Caller
from agentweb.access.rows import database
from agentweb.catalog.registry import registry
from agentweb.ledger import agreements
from tests.support.calls import SITE, do

PRICE = 80_00


def conclude(
    caller: Caller, terms: dict[str, Any] | None = None, *, price: int = PRICE, minutes: float = 60
) -> dict[str, Any]:
    """What the site signed: by default 80.00 USD for two of sku-1."""
    from django.db import transaction

    with transaction.atomic(using=database()):
        return agreements.conclude(
            caller,
            key=site_keys.ensure_active_key(),
            site=SITE,
            terms={"product_id": "sku-1", "quantity": 2} if terms is None else terms,
            price=price,
            currency="USD",
            lasts=timedelta(minutes=minutes),
        )


@contextmanager
def only(handler: Callable[[Any, Any], Any], *, effect: str = "spend") -> Iterator[None]:
    """``handler`` as the only action, ``till``."""
    with registry.only():
        action("till", effect=effect, scope="shop:pay", description="Take money.", input={"type": "object"})(
            handler
        )
        yield


def buy(handler: Callable[[Any, Any], Any], caller: Caller, key: str, **declared: Any) -> Any:
    with only(handler, **declared):
        return do("till", {}, caller, key=key)
