"""``manage.py revoke_grant``: take back a grant, or everything that a key issued or holds."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandError, CommandParser

from agentweb.access import grants
from agentweb.management.commands._migrated import MigratedCommand
from agentweb.wire.errors import InputError


class Command(MigratedCommand):
    help = "Revoke a grant and all below it, or a key with all its grants. At once, and for good."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("ident", help="gr_... or ed25519:...")
        parser.add_argument(
            "--reason", default="", help="For the site's own records, at most 200 characters."
        )

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            is_new = grants.revoke(options["ident"], options["reason"])
        except InputError as error:
            raise CommandError(error.message) from None
        self.stdout.write(
            f"{options['ident']} is revoked." if is_new else f"{options['ident']} was revoked before."
        )
