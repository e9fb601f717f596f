"""``manage.py agentweb_actions``: what the site has declared for agents, hidden and faulty declarations included."""

from __future__ import annotations

import json
from difflib import get_close_matches
from typing import Any, Final

from django.core.management.base import CommandError, CommandParser

from agentweb.catalog.actions import Action
from agentweb.catalog.inventory import inventory
from agentweb.catalog.registry import registry
from agentweb.client.commands.wording import price
from agentweb.http.mount import mount_prefix
from agentweb.management.commands._texts import TextCommand

_COLUMNS: Final = ("name", "effect", "scope", "cost", "confirm", "method", "path", "visible", "source")


class Command(TextCommand):
    help = (
        "List every action with its effect, scope, cost, whether a person confirms it, its address, who may see it, "
        "and where it is declared."
    )
    requires_system_checks: list[str] = []  # noqa: RUF012 - Django's own name; the faults are listed here

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("name", nargs="*", help="Only these actions.")
        parser.add_argument("--json", action="store_true", help="Print one JSON object.")

    def handle(self, *args: Any, **options: Any) -> None:
        found = inventory(_named(options["name"]), mount_prefix())
        faults = [] if options["name"] else registry.faults()
        if options["json"]:
            listed = [
                {"id": each.id, "message": each.message, "hint": each.hint, "source": each.obj}
                for each in faults
            ]
            self.stdout.write(json.dumps({"actions": found, "faults": listed}))
            return
        told = [{**each, "cost": price(each["cost"])} for each in found]
        rows = [tuple(str(each[column] or "-") for column in _COLUMNS) for each in told]
        widths = [max(map(len, column)) for column in zip(_COLUMNS, *rows, strict=True)]
        for row in (_COLUMNS, *rows) if rows else ():
            cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
            self.stdout.write("  ".join(cells).rstrip())
        if not rows:
            self.stdout.write("No action is declared; `manage.py check` says where they are looked for.")
        for fault in faults:
            self.stderr.write(self.style.WARNING(f"{fault.id}  {fault.obj}: {fault.message}"))
            self.stderr.write(f"    {fault.hint}")


def _named(names: list[str]) -> list[Action]:
    actions = {action.name: action for action in registry.actions()}
    unknown = [name for name in names if name not in actions]
    if unknown:
        near = get_close_matches(unknown[0], actions, n=1)
        hint = f" Did you mean {near[0]}?" if near else ""
        raise CommandError(f"No action is named {', '.join(unknown)}.{hint}")
    return [actions[name] for name in dict.fromkeys(names)] if names else list(actions.values())
