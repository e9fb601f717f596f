"""``manage.py agentweb_doctor``: is everything that the site advertises there, and sound?"""

from __future__ import annotations

import json
import sys
from typing import Any, Final

from django.core.management.base import CommandError, CommandParser

from agentweb.doctor.examination import Finding, examine, summary
from agentweb.doctor.probes import all_probes
from agentweb.http.probes import Level
from agentweb.management.commands._progress import progress
from agentweb.management.commands._script_name import add_script_name, mounted
from agentweb.management.commands._texts import TextCommand
from agentweb.wire.visible import visible

_FAILING: Final = {
    "error": {Level.ERROR},
    "warning": {Level.ERROR, Level.WARNING},
    "never": set[Level](),
}


class Command(TextCommand):
    help = (
        "Call everything that the site advertises, in process, and look at its settings, database, keys and clock. "
        "One line each: level, id, what was found, what to do. Nothing is changed."
    )
    requires_system_checks: list[str] = []  # noqa: RUF012 - Django's own name; D010 and D011 repeat them

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--json", action="store_true", help="Print one JSON object.")
        parser.add_argument(
            "--fail-level",
            choices=tuple(_FAILING),
            default="error",
            help="From which level on a finding makes the command exit with 1; error unless given.",
        )
        add_script_name(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        probes = all_probes()
        found: list[Finding] = []
        with mounted(options["script_name"]):
            # The lines show how far it is; with --json a bar does.
            for finding in examine(
                progress(probes, len(probes), to=sys.stderr) if options["json"] else probes
            ):
                found.append(finding)
                if not options["json"]:
                    self.stdout.write(self._line(finding))
        counts = summary(found)
        if options["json"]:
            findings = [finding.as_dict() for finding in found]
            self.stdout.write(json.dumps({"findings": findings, "summary": counts}))
        said = ", ".join(f"{count} {level}" for level, count in counts.items())
        if any(finding.level in _FAILING[options["fail_level"]] for finding in found):
            raise CommandError(f"{said}.")
        if not options["json"]:
            self.stdout.write(f"{said}.")

    def _line(self, finding: Finding) -> str:
        styles = {
            Level.OK: self.style.SUCCESS,
            Level.WARNING: self.style.WARNING,
            Level.ERROR: self.style.ERROR,
        }
        texts = [visible(" ".join(text.split())) for text in (finding.text, finding.fix)]
        return "  ".join(
            [styles[finding.level](f"{finding.level:7}"), finding.id, *(text for text in texts if text)]
        )
