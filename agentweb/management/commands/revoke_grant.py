"""``manage.py revoke_grant``: take back a grant, end a session, or take back everything that a key issued or holds."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandError, CommandParser

from agentweb.access import grants, sessions
from agentweb.access.models import Session
from agentweb.management.commands._migrated import MigratedCommand
from agentweb.wire.errors import InputError


class Command(MigratedCommand):
    help = "Revoke a grant and all below it, a session, or a key with all its grants. At once, and for good."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("ident", help="gr_..., ss_... or ed25519:...")
        parser.add_argument(
            "--reason", default="", help="For the site's own records, at most 200 characters."
        )

    def handle(self, *args: Any, **options: Any) -> None:
        ident: str = options["ident"]
        if ident.startswith("ss_"):
            if not Session.objects.filter(pk=ident).exists():
                raise CommandError(f"There is no session {ident}.")
            is_new = sessions.revoke(ident, options["reason"])
            self.stdout.write(f"{ident} is ended." if is_new else f"{ident} was ended before.")
            return
        try:
            is_new = grants.revoke(ident, options["reason"])
        except InputError as error:
            raise CommandError(error.message) from None
        self.stdout.write(f"{ident} is revoked." if is_new else f"{ident} was revoked before.")
