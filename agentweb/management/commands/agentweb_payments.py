"""``manage.py agentweb_payments``: settle what the payment provider had not answered, and show what is open."""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any, Final

from django.core.management.base import CommandParser

from agentweb.ledger import settling
from agentweb.ledger.payment_models import Payment, Refund
from agentweb.management.commands._migrated import MigratedCommand
from agentweb.management.commands._settled import in_words
from agentweb.wire.money import format_amount
from agentweb.wire.visible import visible

_MOST: Final = 100


class Command(MigratedCommand):
    help = (
        "Ask the payment provider about payments and refunds that are not at their end, settle them, and list what is "
        "open still. For cron, every minute; not needed beside agentweb_worker or Celery."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "ids", nargs="*", help="Look at these now, whether it is their time or not: rc_… or rf_…"
        )
        parser.add_argument("--list", action="store_true", help="Ask nobody: only show what is open.")
        parser.add_argument("--json", action="store_true", help="Print one JSON object.")

    def handle(self, *args: Any, **options: Any) -> None:
        ended: dict[str, int] = {}
        if options["ids"]:
            for ident in options["ids"]:
                settling.settle(ident)
        elif not options["list"]:
            ended = settling.sweep().ended
        found = _open()
        if options["json"]:
            self.stdout.write(json.dumps({"ended": ended, "open": found}))
            return
        for line in in_words(ended):
            self.stdout.write(line)
        for each in found:
            self.stdout.write(
                f"{each['id']}  {each['state']}  {each['amount']} {each['currency']}  {_for_people(each['since'])}  "
                f"{visible(each['what'])}"
            )
        self.stdout.write(f"{len(found)} open" if len(found) < _MOST else f"{_MOST} or more open")


def _for_people(at: str) -> str:
    return at.replace("T", " ").replace("+00:00", " UTC")


def _open() -> list[dict[str, str]]:
    """What is not at its end, the oldest first."""
    payments = Payment.objects.filter(state__in=(Payment.State.PENDING, Payment.State.CAPTURED))
    refunds = Refund.objects.filter(state=Refund.State.PROCESSING)
    found: list[tuple[datetime, dict[str, str]]] = [
        *(
            (each.created_at, _told(each, f"{each.action}: {each.item}"))
            for each in payments.order_by("created_at")[:_MOST]
        ),
        *(
            (each.created_at, _told(each, f"of {each.receipt_id}"))
            for each in refunds.order_by("created_at")[:_MOST]
        ),
    ]
    return [told for _, told in sorted(found, key=lambda each: each[0])[:_MOST]]


def _told(row: Payment | Refund, what: str) -> dict[str, str]:
    return {
        "id": row.pk,
        "state": row.state,
        "amount": format_amount(row.amount, row.currency),
        "currency": row.currency,
        "since": row.created_at.isoformat(timespec="seconds"),
        "what": what,
    }
