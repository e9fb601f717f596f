"""The names of the room, and of its own URLs."""

from __future__ import annotations

from typing import Final

PROTOCOL: Final = "agent-actions"
MANIFEST: Final = ".well-known/agent-actions.json"
OWN_NAME: Final = "agent-actions"
RECEIPTS: Final = f"{OWN_NAME}/receipts"
REFUNDS: Final = f"{OWN_NAME}/refunds"
PAYMENT_EVENTS: Final = f"{OWN_NAME}/payments/events"
REVOCATIONS: Final = f"{OWN_NAME}/revocations"
FLOWS: Final = f"{OWN_NAME}/flows"
"""Where the site runs flows, with FLOWS_ON_SERVER."""
NEGOTIATION: Final = f"{OWN_NAME}/negotiations"
GRANTS: Final = f"{OWN_NAME}/grants"
"""Where agents ask people for grants, with GRANT_REQUESTS."""
ENDPOINTS: Final = {"receipts": RECEIPTS, "refunds": REFUNDS, "revocations": REVOCATIONS}
"""What the manifest's ``endpoints`` name, and where it is; see ``documents`` for those that not every site has."""
