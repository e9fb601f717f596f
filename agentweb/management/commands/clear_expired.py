"""``manage.py clear_expired``: delete what has expired. For cron, once an hour or once a day."""

from __future__ import annotations

import json
from typing import Any

from django.core.management.base import CommandParser

from agentweb import upkeep
from agentweb.management.commands._migrated import MigratedCommand


class Command(MigratedCommand):
    help = "Delete expired nonces, limits, revocations, idempotency records and audit rows, in short transactions."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--json", action="store_true", help="Print one JSON object.")

    def handle(self, *args: Any, **options: Any) -> None:
        counts = upkeep.clear_expired()
        if options["json"]:
            self.stdout.write(json.dumps(counts))
            return
        for what, count in counts.items():
            self.stdout.write(f"{what.replace('_', ' ')}: {count}")
