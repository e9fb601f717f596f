"""Settings of the shop. AGENTWEB_CRASH_PROVIDER=1 is the server that has a payment provider."""

from __future__ import annotations

import os

from tests.e2e.crash.money.speaker import ORIGIN
from tests.e2e.crash.settings import *  # noqa: F403 - the same site
from tests.e2e.crash.settings import AGENTWEB as _AGENTWEB
from tests.e2e.crash.settings import INSTALLED_APPS as _INSTALLED_APPS

INSTALLED_APPS = [*_INSTALLED_APPS, "tests.e2e.crash.money.apps.ShopConfig"]
AGENTWEB = {
    **_AGENTWEB,
    "ORIGIN": ORIGIN,
    "FLOWS_ON_SERVER": True,
    "NEGOTIATOR": "tests.e2e.crash.money.agents.negotiate",
    "NEGOTIATION_RATE": (1_000_000, 1_000_000),
    "OPEN_NEGOTIATIONS": 1_000,
    "AGREEMENT_MINUTES": 10_000,
    "REFUND_POLICY": "tests.e2e.crash.money.agents.refund_policy",
    "PAYMENT_TIMEOUT_SECONDS": 1,
    "PAYMENT_ABANDONED_MINUTES": 5,
    "IDEMPOTENCY_LEASE_SECONDS": 30,
}
if os.environ.get("AGENTWEB_CRASH_PROVIDER") == "1":
    AGENTWEB["PAYMENTS"] = "tests.e2e.crash.money.provider.Slow"
