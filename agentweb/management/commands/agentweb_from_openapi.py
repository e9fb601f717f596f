"""``manage.py agentweb_from_openapi spec.json --overlay overlay.json``: the action manifest of an API."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any, Final

from django.core.management.base import CommandError, CommandParser

from agentweb.agent_actions.openapi.importing import Imported, manifest_from
from agentweb.agent_actions.openapi.report import Level, Report
from agentweb.agent_actions.openapi.yaml_reading import read_yaml
from agentweb.management.commands._documents import FileError, compared, counted, delivered, pretty, written
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
        parser.add_argument("spec", help="The document as JSON or YAML; - for standard input.")
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
        if options["json"]:
            self._as_json(options)
            return
        found = _imported(options)
        self._tell(found.report)
        manifest = _sound(found)
        text = pretty(manifest)
        if options["out"] is not None:
            delivered(self, Path(options["out"]), text, counted(manifest), is_check=options["check"])
        elif options["check"]:
            self.stdout.write(f"It makes a manifest: {counted(manifest)}.")
        else:
            self.stdout.write(text, ending="")

    def _as_json(self, options: dict[str, Any]) -> None:
        """One object, whatever becomes of it: with ``error`` the command exits with 1."""
        told: dict[str, Any] = {"findings": []}
        try:
            found = _imported(options)
            told["findings"] = [each.as_dict() for each in found.report.findings]
            manifest = _sound(found)
            told |= {"actions": len(manifest["actions"]), "flows": len(manifest["flows"])}
            if options["out"] is not None:
                deliver = compared if options["check"] else written
                deliver(Path(options["out"]), pretty(manifest))
        except FileError as error:
            told["error"] = error.as_dict()
            raise
        finally:
            self.stdout.write(json.dumps(told))

    def _tell(self, report: Report) -> None:
        styles = {
            Level.ERROR: self.style.ERROR,
            Level.LOSS: self.style.WARNING,
            Level.NOTE: self.style.NOTICE,
        }
        for each in report.findings:
            where = f"{visible(each.where)}: " if each.where else ""
            self.stderr.write(f"{styles[each.level](str(each.level))}  {where}{visible(each.message)}")


def _imported(options: dict[str, Any]) -> Imported:
    overlay = None if options["overlay"] is None else _read(options["overlay"])
    return manifest_from(_read(options["spec"]), overlay, site=options["site"])


def _sound(found: Imported) -> dict[str, Any]:
    """The manifest. Raises FileError ``faulty`` where there is none."""
    if found.manifest is None:
        count = sum(each.level is Level.ERROR for each in found.report.findings)
        raise FileError("faulty", f"Nothing is written; errors: {count}.")
    return found.manifest


def _read(source: str) -> Json:
    """What stands in a file of JSON or YAML. Raises FileError ``unreadable``."""
    name = visible(source)
    try:
        content = sys.stdin.buffer.read(_MAX_BYTES + 1) if source == STDIN else Path(source).read_bytes()
    except OSError as error:
        raise FileError("unreadable", f"{name} cannot be read: {error.strerror or error}.") from None
    is_json = content.lstrip()[:1] in {b"{", b"["} or source.lower().endswith(".json")
    try:
        if is_json:
            return loads(content, max_bytes=_MAX_BYTES)
        return read_yaml(content, max_bytes=_MAX_BYTES)
    except AgentError as error:
        kind = "JSON" if is_json else "YAML that says what JSON can"
        raise FileError("unreadable", f"{name} is no {kind}: {error.message}") from None
    except ValueError as error:
        raise FileError(
            "unreadable", f"{name} is neither JSON nor YAML that says what JSON can: {error}."
        ) from None
