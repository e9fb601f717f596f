"""``manage.py agentweb_restored``: say that the database was restored from a backup."""

from __future__ import annotations

import json
from typing import Any

from django.core.management.base import CommandParser

from agentweb.aim import log
from agentweb.aim.restoring import begin_epoch
from agentweb.management.commands._migrated import MigratedCommand
from agentweb.wire.aim.authorization import MAX_SKEW_SECONDS


class Command(MigratedCommand):
    help = (
        "After the database was restored from a backup, and before the site answers again: cursors of what is lost are "
        "refused, and so is every signature made before, since its nonce may be forgotten."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--json", action="store_true", help="Print one JSON object.")

    def handle(self, *args: Any, **options: Any) -> None:
        begin_epoch()
        ends = log.ends()
        if options["json"]:
            self.stdout.write(
                json.dumps({"epoch": ends.epoch, "since": ends.since.isoformat(), "last": ends.last})
            )
            return
        self.stdout.write(f"The log goes on after position {ends.last} in a new epoch, {ends.epoch}.")
        self.stdout.write(
            "Agents are told that their cursors are not of this log, and read on from its beginning."
        )
        self.stdout.write(
            f"Signed requests are answered with 503 and Retry-After for {MAX_SKEW_SECONDS} seconds, so that none from "
            "before is played again."
        )
