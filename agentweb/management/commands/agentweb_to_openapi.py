"""``manage.py agentweb_to_openapi``: an OpenAPI 3.1 document of the actions that everybody may see."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser

from agentweb import exports, rooms
from agentweb.access import callers
from agentweb.agent_actions.documents import manifest_for
from agentweb.agent_actions.openapi.exporting import openapi_from
from agentweb.management.commands._documents import counted, delivered, pretty
from agentweb.management.commands._migrated import MigratedCommand
from agentweb.management.commands._script_name import add_script_name, mounted
from agentweb.wire.strict_json import loads

_MAX_BYTES = 100_000_000


class Command(MigratedCommand):
    help = (
        "Write an OpenAPI 3.1 document of the site's actions, with effects, scopes and costs as x-agent-… members. "
        "agentweb_from_openapi makes the manifest of it again."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--out", default=None, metavar="FILE", help="Where to write; standard output else."
        )
        parser.add_argument("--title", default=None, help="What the document is called.")
        parser.add_argument(
            "--check",
            action="store_true",
            help="Write nothing; exit with 1 and a diff when the file of --out is another one.",
        )
        add_script_name(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        if options["check"] and options["out"] is None:
            raise CommandError("--check compares with a file; name it with --out.")
        if "agent_actions" not in rooms.switched_on():
            raise CommandError("The room agent_actions is off, so there are no actions to call.")
        try:
            with mounted(options["script_name"]):
                place = exports.here()
                content = manifest_for(callers.anonymous(""), place).content
        except exports.ExportError as error:
            raise CommandError(str(error)) from None
        manifest: Any = loads(content, max_bytes=_MAX_BYTES)
        text = pretty(openapi_from(manifest, origin=place.origin, title=options["title"]))
        if options["out"] is None:
            self.stdout.write(text, ending="")
        else:
            delivered(self, Path(options["out"]), text, counted(manifest), is_check=options["check"])
