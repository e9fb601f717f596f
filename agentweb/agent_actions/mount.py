"""The names of the room's own URLs."""

from __future__ import annotations

from typing import Final

MANIFEST: Final = ".well-known/agent-actions.json"
OWN_NAME: Final = "agent-actions"
RECEIPTS: Final = f"{OWN_NAME}/receipts"
REFUNDS: Final = f"{OWN_NAME}/refunds"
PAYMENT_EVENTS: Final = f"{OWN_NAME}/payments/events"
REVOCATIONS: Final = f"{OWN_NAME}/revocations"
FLOWS: Final = f"{OWN_NAME}/flows"
"""Where the site runs flows, with FLOWS_ON_SERVER."""
ENDPOINTS: Final = {"receipts": RECEIPTS, "refunds": REFUNDS, "revocations": REVOCATIONS}
"""What the manifest's ``endpoints`` name, and where it is."""
