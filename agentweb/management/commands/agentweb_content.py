"""``manage.py agentweb_content``: look at every page of the site, and store what agents read of it. For cron."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from typing import Any, Final

from django.core.management.base import CommandError, CommandParser

from agentweb.awp.content import running, runs
from agentweb.awp.content.outcomes import IN_WORDS, Failed, LeftOut, Report
from agentweb.awp.content.running import Summary
from agentweb.management.commands._awp import require_awp
from agentweb.management.commands._migrated import MigratedCommand
from agentweb.management.commands._progress import progress
from agentweb.management.commands._script_name import add_script_name, mounted
from agentweb.management.commands._texts import whole
from agentweb.wire.visible import visible

MOST_WORKERS: Final = 64
_WORDS: Final = {"created": "new", "left_out": "left out"}


class Command(MigratedCommand):
    help = (
        "Look at every page of the site as an anonymous visitor, and store its text for agents where it has changed. "
        "Says which pages are left out and why."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--workers", default="1", help="Processes that look at pages; 1 unless given.")
        parser.add_argument("--strict", action="store_true", help="Exit with 1 when a page failed.")
        parser.add_argument("--json", action="store_true", help="Print one JSON object.")
        add_script_name(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        require_awp()
        workers = whole(options["workers"])
        if workers is None or not 1 <= workers <= MOST_WORKERS:
            raise CommandError(
                f"--workers: {options['workers']!r} is no whole number from 1 to {MOST_WORKERS}."
            )
        try:
            with mounted(options["script_name"]), running.begin(workers) as run:
                for _page in progress(run.pages(), run.total, to=sys.stderr):
                    pass
        except running.Nameless:
            raise CommandError(
                "AGENTWEB['ORIGIN'] is not set: without DEBUG nobody knows the host of the site's pages, and nothing "
                "was done. Write AGENTWEB = {'ORIGIN': 'https://shop.example'}."
            ) from None
        except runs.Busy as busy:
            since = f" since {busy.started_at:%Y-%m-%d %H:%M:%S} UTC" if busy.started_at else ""
            until = (
                f" If it was killed, the next one can begin at {busy.until:%H:%M:%S}." if busy.until else ""
            )
            raise CommandError(f"Another run is at work{since}; nothing was done.{until}") from None
        except runs.Superseded:
            raise CommandError(
                f"This run was not heard of for {runs.LEASE_SECONDS:g} seconds, and another one has taken over."
            ) from None
        self._report(run.summary(), as_json=options["json"])
        if options["strict"] and run.counts[running.FAILED]:
            raise CommandError(f"Failed pages: {run.counts[running.FAILED]}.")

    def _report(self, summary: Summary, *, as_json: bool) -> None:
        if as_json:
            told = {
                "is_complete": summary.is_complete,
                "seconds": round(summary.seconds, 1),
                **summary.counts,
                "not_published": [each.as_json() for each in summary.reports],
                "remarks": summary.remarks,
            }
            self.stdout.write(json.dumps(told, ensure_ascii=False))
            return
        for line in _lines(summary.reports):
            self.stderr.write(self.style.WARNING(line))
        for remark in summary.remarks:
            self.stderr.write(self.style.WARNING(f"{remark}."))
        counts = ", ".join(
            f"{number} {_WORDS.get(name, name)}"
            for name, number in summary.counts.items()
            if number or name == "unchanged"
        )
        end = "" if summary.is_complete else " Not every page could be confirmed."
        self.stdout.write(f"Pages: {counts}; {summary.seconds:.1f} seconds.{end}")


def _lines(reports: Sequence[Report]) -> Iterator[str]:
    """One for each page and reason, with the languages in which it is so."""
    languages: dict[tuple[str, LeftOut | Failed], list[str]] = {}
    for report in reports:
        languages.setdefault((report.path, report.why), []).append(report.language)
    for (path, why), found in languages.items():
        what = "failed" if isinstance(why, Failed) else "left out"
        detail = f" ({why.detail})" if why.detail else ""
        named = ", ".join(filter(None, found))
        yield visible(f"{what}  {path}{f' ({named})' if named else ''}: {IN_WORDS[why.reason]}{detail}")
