"""``manage.py agentweb_from_openapi spec.json --overlay overlay.json``: the action manifest of an API."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any, Final

from django.core.management.base import CommandError, CommandParser

from agentweb.agent_actions.openapi.importing import manifest_from
from agentweb.agent_actions.openapi.report import Level, Report
from agentweb.management.commands._documents import compared, pretty, written
from agentweb.management.commands._texts import TextCommand
from agentweb.wire.errors import AgentError
from agentweb.wire.strict_json import Json, loads
from agentweb.wire.visible import visible

STDIN: Final = "-"
_MAX_BYTES: Final = 50_000_000


class Command(TextCommand):
    help = (
        "Make an action manifest of an OpenAPI document, 3.0 or 3.1. On standard error it says what gets lost on the "
        "way and what to look at; with an error nothing is written, and it exits with 1."
    )
    requires_system_checks: list[str] = []  # noqa: RUF012 - Django's own name; a file needs no sound site

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("spec", help="The document as JSON; - for standard input.")
        parser.add_argument(
            "--overlay",
            default=None,
            metavar="FILE",
            help="Effects, scopes and costs of operations by their ids, and flows.",
        )
        parser.add_argument(
            "--site", default=None, help="host[:port] of the API; that of its first server unless given."
        )
        parser.add_argument(
            "--out", default=None, metavar="FILE", help="Where to write; standard output else."
        )
        parser.add_argument(
            "--check",
            action="store_true",
            help="Write nothing; with --out exit with 1 and a diff when the file is another one.",
        )
        parser.add_argument(
            "--json", action="store_true", help="Print what there is to say as JSON; needs --out."
        )

    def handle(self, *args: Any, **options: Any) -> None:
        if options["json"] and options["out"] is None and not options["check"]:
            raise CommandError("--json prints the report; name a file for the manifest with --out.")
        overlay = None if options["overlay"] is None else _read(options["overlay"])
        found = manifest_from(_read(options["spec"]), overlay, site=options["site"])
        self._tell(found.report, as_json=options["json"])
        if found.manifest is None:
            count = sum(each.level is Level.ERROR for each in found.report.findings)
            raise CommandError(f"Nothing is written; errors: {count}.")
        text = pretty(found.manifest)
        if options["check"]:
            if options["out"] is not None:
                compared(self, Path(options["out"]), text)
            elif not options["json"]:
                self.stdout.write(f"It makes a manifest of {len(found.manifest['actions'])} actions.")
        elif options["out"] is None:
            self.stdout.write(text, ending="")
        else:
            written(Path(options["out"]), text)

    def _tell(self, report: Report, *, as_json: bool) -> None:
        if as_json:
            self.stdout.write(json.dumps({"findings": [each.as_dict() for each in report.findings]}))
            return
        styles = {
            Level.ERROR: self.style.ERROR,
            Level.LOSS: self.style.WARNING,
            Level.NOTE: self.style.NOTICE,
        }
        for each in report.findings:
            where = f"{visible(each.where)}: " if each.where else ""
            self.stderr.write(f"{styles[each.level](str(each.level))}  {where}{visible(each.message)}")


def _read(source: str) -> Json:
    try:
        content = sys.stdin.buffer.read(_MAX_BYTES + 1) if source == STDIN else Path(source).read_bytes()
    except OSError as error:
        raise CommandError(f"{visible(source)} cannot be read: {error.strerror or error}.") from None
    try:
        return loads(content, max_bytes=_MAX_BYTES)
    except AgentError as error:
        hint = " YAML is not read; convert it to JSON first." if content[:1] not in {b"{", b"["} else ""
        raise CommandError(f"{visible(source)} is no JSON: {error.message}{hint}") from None
