"""``manage.py clear_expired``: delete what has expired. For cron, once an hour or once a day."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

from django.core.management.base import CommandParser

from agentweb import conf, rooms
from agentweb.access import retention
from agentweb.access.rows import delete_in_batches
from agentweb.invoke.models import AuditEntry, IdempotencyRecord
from agentweb.management.commands._migrated import MigratedCommand
from agentweb.wire.clock import now_datetime


class Command(MigratedCommand):
    help = "Delete expired nonces, limits, revocations, idempotency records and audit rows, in short transactions."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--json", action="store_true", help="Print one JSON object.")

    def handle(self, *args: Any, **options: Any) -> None:
        at = now_datetime()
        audited_before = at - timedelta(days=conf.get("AUDIT_DAYS"))
        counts = {
            **retention.clear_expired(at),
            **rooms.clear_expired(at),
            "idempotency_records": delete_in_batches(IdempotencyRecord.objects.filter(expires_at__lt=at)),
            "audit_entries": delete_in_batches(AuditEntry.objects.filter(at__lt=audited_before)),
        }
        if options["json"]:
            self.stdout.write(json.dumps(counts))
            return
        for what, count in counts.items():
            self.stdout.write(f"{what.replace('_', ' ')}: {count}")
