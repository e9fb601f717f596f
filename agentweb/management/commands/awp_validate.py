"""``manage.py awp_validate``: every problem of a discovery manifest, with line, column and fix."""

from __future__ import annotations

import json
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from django.core.management.base import CommandError, CommandParser

from agentweb.awp import protocol
from agentweb.awp.compliance.excerpts import excerpt
from agentweb.awp.compliance.manifest import Validation, validate
from agentweb.awp.compliance.problems import Problem, Severity, counts
from agentweb.awp.compliance.reading import MAX_BYTES
from agentweb.awp.compliance.site import NotReachedError, own_site
from agentweb.client.transport import Transport
from agentweb.management.commands._awp import require_awp
from agentweb.management.commands._counting import count_own_texts
from agentweb.management.commands._options import add_allow_private, private_hint
from agentweb.management.commands._script_name import add_script_name, mounted
from agentweb.management.commands._texts import TextCommand
from agentweb.wire.errors import ClientError
from agentweb.wire.visible import visible

NOT_READ: Final = 2
STDIN: Final = "-"

_FAILING: Final = {
    "error": {Severity.ERROR},
    "warning": {Severity.ERROR, Severity.WARNING},
    "never": set[Severity](),
}
_WELL_KNOWN: Final = f"/{protocol.WELL_KNOWN}"


class Command(TextCommand):
    help = (
        "Validate a discovery manifest of AWP 1.0 against the specification's schema: every problem with line, column "
        "and fix. Exits with 0 for a valid one, 1 for one with problems, 2 when there is nothing to read."
    )
    requires_system_checks: list[str] = []  # noqa: RUF012 - Django's own name; a file needs no sound site

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "source",
            nargs="?",
            default=None,
            metavar="FILE|URL",
            help="A file, - for standard input, or a URL; this site's own manifest, if left out.",
        )
        parser.add_argument("--json", action="store_true", help="Print one JSON object.")
        parser.add_argument(
            "--fail-level",
            choices=tuple(_FAILING),
            default="error",
            help="From which level on a problem makes the command exit with 1; error unless given.",
        )
        add_allow_private(parser)
        add_script_name(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        name, data = self._read(options)
        found = validate(data)
        if options["json"]:
            self.stdout.write(json.dumps(_as_dict(name, found)))
        else:
            self._tell(name, found)
        said = ", ".join(f"{count} {severity}" for severity, count in counts(found.problems).items())
        if any(problem.severity in _FAILING[options["fail_level"]] for problem in found.problems):
            raise CommandError(f"{name}: {said}.")
        if not options["json"]:
            self.stdout.write(self.style.SUCCESS(f"{name} is a valid discovery manifest of AWP 1.0: {said}."))

    def _read(self, options: dict[str, Any]) -> tuple[str, bytes]:
        source = options["source"]
        if source is None:
            require_awp(NOT_READ)
            with mounted(options["script_name"]):
                count_own_texts()
                return _own()
        if source == STDIN:
            return "<stdin>", sys.stdin.buffer.read(MAX_BYTES + 1)
        if "://" in source:
            return _fetched(source, may_be_private=options["allow_private"])
        try:
            with Path(source).open("rb") as file:
                return visible(source), file.read(MAX_BYTES + 1)
        except OSError as error:
            raise CommandError(
                f"{visible(source)} cannot be read: {error.strerror or error}.", returncode=NOT_READ
            ) from None

    def _tell(self, name: str, found: Validation) -> None:
        for problem in found.problems:
            self.stdout.write(
                f"{name}:{_place(problem)}: {self._painted(problem.severity)}: {problem.message}"
            )
            if problem.spot is not None:
                for line in excerpt(found.reading.text, problem.spot):
                    self.stdout.write(f"    {line}")
            self.stdout.write(f"    Fix: {problem.fix}")
        if found.is_cut:
            self.stdout.write("There is more; what is told here comes first.")

    def _painted(self, severity: Severity) -> str:
        styles = {
            Severity.ERROR: self.style.ERROR,
            Severity.WARNING: self.style.WARNING,
            Severity.NOTE: self.style.NOTICE,
        }
        return str(styles[severity](str(severity)))


def _place(problem: Problem) -> str:
    return "" if problem.spot is None else f"{problem.spot.line}:{problem.spot.column}"


def _as_dict(name: str, found: Validation) -> dict[str, Any]:
    return {
        "source": name,
        "valid": found.is_valid,
        "problems": [problem.as_dict() for problem in found.problems],
        "truncated": found.is_cut,
        "summary": counts(found.problems),
    }


def _own() -> tuple[str, bytes]:
    try:
        reply = own_site().require(_WELL_KNOWN)
    except (ValueError, NotReachedError) as error:
        raise CommandError(f"This site has no manifest: {error}", returncode=NOT_READ) from None
    if reply.status != 200:
        raise CommandError(f"This site has no manifest: {_WELL_KNOWN} {reply.said}.", returncode=NOT_READ)
    return _WELL_KNOWN, reply.body


def _fetched(url: str, *, may_be_private: bool) -> tuple[str, bytes]:
    """The manifest at a URL, or of a site that the URL is the address of."""
    if find_spec("httpx") is None:
        raise CommandError(
            'A URL needs the extra "client": pip install "agentweb-django[client]".', returncode=NOT_READ
        )
    transport = None
    try:
        parts = urlsplit(url)
        if parts.path in {"", "/"} and not parts.query:
            url = f"{parts.scheme}://{parts.netloc}{_WELL_KNOWN}"
        transport = Transport(allowed=[parts.hostname or ""] if may_be_private else [])
        answer = transport.get(transport.wire_url(url), headers={}, max_bytes=MAX_BYTES)
    except (ClientError, ValueError) as error:
        hint = private_hint(error) if isinstance(error, ClientError) else ""
        raise CommandError(f"{visible(url)}: {error}{hint}", returncode=NOT_READ) from None
    finally:
        if transport is not None:
            transport.close()
    if answer.status != 200:
        raise CommandError(f"{visible(url)} answers {answer.status}.", returncode=NOT_READ)
    return visible(url), answer.body
