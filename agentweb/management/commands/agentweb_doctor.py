"""``manage.py agentweb_doctor``: is everything that the site advertises there, and sound?"""

from __future__ import annotations

import json
import sys
from importlib.util import find_spec
from itertools import chain
from typing import Any, Final

from django.core.management.base import CommandError, CommandParser

from agentweb.doctor.calling import over_the_network
from agentweb.doctor.examination import USER_AGENT, Finding, examine, summary
from agentweb.doctor.probes import all_probes
from agentweb.http.calling import Calling
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
        parser.add_argument(
            "--url",
            default=None,
            metavar="https://shop.example",
            help='Call the site there too, over the network, as agents do; needs the extra "client".',
        )
        add_script_name(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        probes = all_probes()
        calling = _calling(options["url"])
        found: list[Finding] = []
        with mounted(options["script_name"]):
            # The lines show how far it is; with --json a bar does.
            findings = examine(progress(probes, len(probes), to=sys.stderr) if options["json"] else probes)
            if calling is not None:
                findings = chain(findings, examine(over_the_network(probes), calling))
            for finding in findings:
                found.append(finding)
                if not options["json"]:
                    self.stdout.write(self._line(finding))
        counts = summary(found)
        if options["json"]:
            told = [finding.as_dict() for finding in found]
            self.stdout.write(json.dumps({"findings": told, "summary": counts}))
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


def _calling(url: str | None) -> Calling | None:
    if url is None:
        return None
    if find_spec("httpx") is None:
        raise CommandError('--url needs the extra "client": pip install "agentweb-django[client]".')
    try:
        return Calling(url, user_agent=USER_AGENT)
    except ValueError as error:
        raise CommandError(f"--url {url!r} cannot be called: {error}.") from None
