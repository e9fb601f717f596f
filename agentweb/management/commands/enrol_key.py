"""``manage.py enrol_key``: a person's own key on their account, on staff's word that it is theirs."""

from __future__ import annotations

import json
from typing import Any

from django.contrib.auth import get_user_model
from django.core.management.base import CommandError, CommandParser

from agentweb.access import principals
from agentweb.access.models import PrincipalKey
from agentweb.management.commands._migrated import MigratedCommand
from agentweb.wire.errors import InputError


class Command(MigratedCommand):
    help = (
        "Enrol a person's own public key, so that grants which it signs count here; list their keys, or take one "
        "off. Nobody proves anything to this command: be sure that the person holds the key."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("user", help="User name of the person.")
        parser.add_argument("key", nargs="?", help="Their public key, ed25519:...")
        parser.add_argument(
            "--label", default="", help="The person's name for the key, at most 100 characters."
        )
        parser.add_argument("--json", action="store_true", help="Print one JSON object.")
        what = parser.add_mutually_exclusive_group()
        what.add_argument("--list", action="store_true", help="Show the person's keys.")
        what.add_argument(
            "--remove",
            action="store_true",
            help="Take the key off, for good: every grant that it issued ends at the next request.",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        user, key = _user(options["user"]), options["key"]
        if (key is None) != options["list"]:
            raise CommandError("Name the key, ed25519:..., or --list alone.")
        if options["list"]:
            said = ""
        elif options["remove"]:
            said = _remove(user, key)
        else:
            said = _enrol(user, key, options["label"])
        rows = principals.keys_of(user)
        if options["json"]:
            self.stdout.write(json.dumps({"done": said, "keys": [_as_json(row) for row in rows]}))
            return
        if said:
            self.stdout.write(said)
        for row in rows:
            state = "counts" if row.revoked_at is None else f"revoked {row.revoked_at:%Y-%m-%d %H:%M} UTC"
            self.stdout.write("  ".join(filter(None, (row.public, state, row.label))))
        if not rows:
            self.stdout.write("This person has no key here.")


def _user(name: str) -> Any:
    model = get_user_model()
    try:
        return model._default_manager.get_by_natural_key(name)
    except model.DoesNotExist:
        raise CommandError(f"There is no user {name!r}.") from None


def _enrol(user: Any, key: str, label: str) -> str:
    try:
        principals.enrol(user, key, label)
    except InputError as error:
        lines = "\n".join(f"- {entry['field']}: {entry['message']}" for entry in error.problems or [])
        raise CommandError(f"The key was not enrolled:\n{lines}") from None
    return "The key is enrolled: grants that it signs count from now on."


def _remove(user: Any, key: str) -> str:
    if not PrincipalKey.objects.filter(user=user, public=key).exists():
        raise CommandError("This person has no such key; --list shows theirs.")
    if principals.revoke(key):
        return "The key is revoked, and so is every grant that it issued."
    return "The key was revoked before."


def _as_json(row: PrincipalKey) -> dict[str, Any]:
    return {
        "key": row.public,
        "label": row.label,
        "created_at": int(row.created_at.timestamp()),
        "revoked_at": None if row.revoked_at is None else int(row.revoked_at.timestamp()),
    }
