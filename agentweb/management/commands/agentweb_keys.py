"""``manage.py agentweb_keys``: the site's signing keys, from the first one to the change of SECRET_KEY."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

from django.core.management.base import CommandError, CommandParser

from agentweb.access import site_keys
from agentweb.access.models import SiteKey
from agentweb.management.commands._migrated import MigratedCommand
from agentweb.wire.clock import now_datetime


class Command(MigratedCommand):
    help = "List the site's signing keys, make the first one, replace or retire one, or seal them anew."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "what",
            nargs="?",
            default="list",
            choices=("list", "create", "rotate", "retire", "reseal"),
            help=(
                "list (the default); create the first key; rotate: replace it by a new one, the old one still "
                "verifies; retire KID: sign with it no longer; reseal all keys after SECRET_KEY was changed, "
                "with the former one in SECRET_KEY_FALLBACKS."
            ),
        )
        parser.add_argument("kid", nargs="?", help="Which key to retire.")
        parser.add_argument(
            "--now",
            action="store_true",
            help=(
                "With rotate: sign with the new key at once, because the old one is no secret any more; agents whose "
                "manifest is older may refuse a receipt for a few minutes."
            ),
        )
        parser.add_argument("--json", action="store_true", help="Print one JSON object.")

    def handle(self, *args: Any, **options: Any) -> None:
        what, kid, at_once = options["what"], options["kid"], options["now"]
        if at_once and what != "rotate":
            raise CommandError("--now goes with `rotate` only.")
        if (kid is not None) != (what == "retire"):
            raise CommandError("`retire` needs the kid of a key; nothing else takes one.")
        try:
            said = self._do(what, kid, at_once)
        except site_keys.SiteKeyError as error:
            raise CommandError(str(error)) from None
        if options["json"]:
            self.stdout.write(json.dumps({"done": said, "keys": [_as_json(row) for row in _rows()]}))
            return
        if said:
            self.stdout.write(said)
        for row in _rows():
            self.stdout.write(f"{row.kid}  {row.public}  {_state(row)}")
        if not any(row.is_active for row in _rows()):
            self.stdout.write("No key is active: the site cannot sign. `agentweb_keys create` makes one.")

    def _do(self, what: str, kid: str | None, at_once: bool) -> str:
        if what == "create":
            return f"Key {site_keys.create().kid} signs from now on."
        if what == "rotate":
            return _rotate(0 if at_once else site_keys.settling_seconds())
        if what == "retire" and kid is not None:
            return f"Key {kid} is retired." if site_keys.retire(kid) else f"Key {kid} was retired before."
        if what == "reseal":
            return f"{len(site_keys.reseal())} keys are sealed under today's SECRET_KEY."
        return ""


def _rotate(settling: int) -> str:
    row = site_keys.rotate(settling=settling)
    if not settling:
        return f"Key {row.kid} signs from now on; the earlier one still verifies."
    begins = row.created_at + timedelta(seconds=settling)
    return (
        f"Key {row.kid} is published now and signs from {begins:%Y-%m-%d %H:%M:%S} UTC on, when every copy of the "
        "manifest has it. Until then the earlier one signs; afterwards it still verifies."
    )


def _state(row: SiteKey) -> str:
    if row.retired_at is None:
        return "active"
    if row.retired_at > now_datetime():
        return f"signs until {row.retired_at:%Y-%m-%d %H:%M:%S} UTC"
    return f"retired {row.retired_at:%Y-%m-%d %H:%M} UTC"


def _rows() -> list[SiteKey]:
    return list(SiteKey.objects.order_by("-is_active", "-created_at"))


def _as_json(row: SiteKey) -> dict[str, Any]:
    """What is public about a key, never what is sealed."""
    return {
        "kid": row.kid,
        "public": row.public,
        "active": row.is_active,
        "created_at": int(row.created_at.timestamp()),
        "not_after": site_keys.not_after(row.retired_at),
    }
