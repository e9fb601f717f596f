"""``manage.py revoke_grant``: take back a grant, end a session, or take back everything that a key issued or holds."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandError, CommandParser

from agentweb.access import grants, sessions
from agentweb.access.models import Grant, Revocation, Session
from agentweb.management.commands._migrated import MigratedCommand
from agentweb.wire.errors import InputError
from agentweb.wire.grant_shape import GRANT_ID


class Command(MigratedCommand):
    help = "Revoke a grant and all below it, a session, or a key with all its grants. At once, and for good."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("ident", help="gr_..., ss_... or ed25519:...")
        parser.add_argument(
            "--reason", default="", help="For the site's own records, at most 200 characters."
        )
        parser.add_argument(
            "--unknown",
            action="store_true",
            help="Also a grant that this site has not seen: it is listed as revoked for everybody.",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        ident: str = options["ident"]
        if ident.startswith("ss_"):
            if not Session.objects.filter(pk=ident).exists():
                raise CommandError(f"There is no session {ident}.")
            is_new = sessions.revoke(ident, options["reason"])
            self.stdout.write(f"{ident} is ended." if is_new else f"{ident} was ended before.")
            return
        if ident.startswith("gr_") and GRANT_ID.fullmatch(ident) and not options["unknown"]:
            self._check_seen(ident)
        try:
            is_new = grants.revoke(ident, options["reason"])
        except InputError as error:
            raise CommandError(error.message) from None
        self.stdout.write(f"{ident} is revoked." if is_new else f"{ident} was revoked before.")

    def _check_seen(self, ident: str) -> None:
        """A slip in the id would be a public entry about nobody's grant, and the grant that was meant would go on."""
        is_known = (
            Grant.objects.filter(pk=ident).exists() or Revocation.objects.filter(ident=ident, by="").exists()
        )
        if not is_known:
            raise CommandError(
                f"This site has not seen a grant {ident}; nothing was revoked. Look at the id, or add --unknown to "
                "revoke it all the same."
            )
