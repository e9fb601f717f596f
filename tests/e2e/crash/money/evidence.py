"""The shop's database and the provider's books, in processes of their own: ``python -m …money.evidence WHAT``.

``prepare KEY`` migrates, and enrols the public key as a person's; ``settle`` brings to an end what only time would;
``snapshot FILE`` writes what the oracle needs.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any, Final

ROUNDS: Final = 20
_LATER_SECONDS: Final = 4_000


def prepare(public: str) -> None:
    from django.contrib.auth import get_user_model
    from django.core.management import call_command

    from agentweb.access import principals, site_keys
    from agentweb.aim import log
    from tests.e2e.crash import planted

    call_command("migrate", verbosity=0, interactive=False, run_syncdb=True)
    log.begin()
    site_keys.ensure_active_key()
    principals.enrol(get_user_model().objects.create_user("ada"), public)
    planted.prepare()


def settle() -> None:
    """The staff decide what waits for them, and a worker sweeps, later and later, until nothing is left."""
    from django.contrib.auth import get_user_model

    from agentweb.ledger import refunds, settling
    from agentweb.models import Refund
    from agentweb.testing import clock
    from agentweb.wire.errors import AgentError

    ada = get_user_model().objects.get(username="ada")
    for ident in Refund.objects.filter(state=Refund.State.PENDING).values_list("pk", flat=True):
        try:
            refunds.decide(ident, is_given=True, by=ada)
        except AgentError:
            refunds.decide(ident, is_given=False, by=ada)
    with clock() as moved:
        for _ in range(ROUNDS):
            moved.forward(_LATER_SECONDS)
            settling.sweep()
            left = settling.unsettled()
            if not left.payments and not left.refunds:
                return


def snapshot() -> dict[str, Any]:
    from agentweb.access import site_keys
    from agentweb.ledger import receipts
    from agentweb.models import Agreement, IdempotencyRecord, Mandate, Payment, Receipt, Refund
    from agentweb.wire.receipts import verify_chain
    from agentweb.wire.strict_json import loads
    from tests.e2e.crash.money.provider import Slow
    from tests.e2e.crash.money.speaker import SITE
    from tests.site.models import Note

    rows = list(Receipt.objects.order_by("seq"))
    documents = [json.loads(row.document) for row in rows]
    books = Slow()
    return {
        "chain": verify_chain(
            [loads(row.document.encode()) for row in rows],
            receipts.signed_head(SITE),
            keys=site_keys.published_keys(),
        ),
        "receipts": [
            {
                "id": row.pk,
                "kind": row.kind,
                "amount": row.amount,
                "refunded": row.refunded,
                "grants": row.grants,
                "refund_of": row.refund_of,
                "agreement": document["agreement"],
                "intent": row.metadata.get("intent", ""),
            }
            for row, document in zip(rows, documents, strict=True)
        ],
        "taken": [row for row in books.charges() if row["state"] == "captured"],
        "given": [row for row in books.refunds() if row["state"] == "refunded"],
        "payments": [{"id": row.pk, "state": row.state} for row in Payment.objects.all()],
        "refunds": [
            {
                "id": row.pk,
                "state": row.state,
                "reason": row.reason,
                "receipt": row.receipt_id,
                "refund_receipt": row.refund_receipt,
                "amount": row.amount,
                "automatic": row.is_automatic,
            }
            for row in Refund.objects.all()
        ],
        "mandates": [
            {"id": row.grant_id, "total": row.total, "spent": row.spent, "uses": row.uses}
            for row in Mandate.objects.all()
        ],
        "agreements": [{"id": row.pk, "receipt": row.receipt} for row in Agreement.objects.all()],
        "records": [
            {"key": row.key, "state": row.state, "status": row.status, "body": row.body}
            for row in IdempotencyRecord.objects.all()
        ],
        "notes": [text.split() for text in Note.objects.values_list("text", flat=True)],
    }


def main(what: str, *arguments: str) -> None:
    import django

    django.setup()
    if what == "prepare":
        prepare(arguments[0])
    elif what == "settle":
        settle()
    elif what == "snapshot":
        Path(arguments[0]).write_text(json.dumps(snapshot()))
    else:
        raise SystemExit(f"unknown: {what}")


if __name__ == "__main__":
    main(*sys.argv[1:])
