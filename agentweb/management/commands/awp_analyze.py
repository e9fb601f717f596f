"""``manage.py awp_analyze``: how far does a site keep AWP 1.0? The specification's checklist, measured."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from typing import Any, Final

from django.core.management.base import CommandError, CommandParser

from agentweb.awp.compliance.formats import DOCUMENTS
from agentweb.awp.compliance.formats.text import TextReport, can_show
from agentweb.awp.compliance.items import Line, Outcome
from agentweb.awp.compliance.report import Report, analyze
from agentweb.awp.compliance.site import OVER_THE_NETWORK, NotReachedError, Site, own_site, site_at
from agentweb.awp.content import published
from agentweb.management.commands._awp import require_awp
from agentweb.management.commands._counting import count_own_texts
from agentweb.management.commands._migrated import MigratedCommand
from agentweb.management.commands._options import add_allow_private, private_hint
from agentweb.management.commands._progress import progress
from agentweb.management.commands._script_name import add_script_name, mounted
from agentweb.management.commands._texts import whole

NOT_MEASURED: Final = 2
_FAILING: Final = {
    "error": {Outcome.FAILED},
    "warning": {Outcome.FAILED, Outcome.WARNED},
    "never": set[Outcome](),
}
_MOST: Final = 10_000


class Command(MigratedCommand):
    help = (
        "Measure the checklist of AWP 1.0 on this site, in process, or on the site of a URL: one line for each item, "
        "what was measured, what is wrong and the fix; a score; and how full the token budgets are. Nothing is "
        "changed, except that the tokens of this site's own texts are counted and kept."
    )
    requires_system_checks: list[str] = []  # noqa: RUF012 - Django's own name; what they would say shows itself

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "url",
            nargs="?",
            default=None,
            help="A site to ask over the network; this one in process, if left out.",
        )
        parser.add_argument(
            "--format",
            choices=("text", *DOCUMENTS),
            default="text",
            help="What is printed; text unless given.",
        )
        parser.add_argument(
            "--fail-level",
            choices=tuple(_FAILING),
            default="error",
            help="error: exit with 1 when a required item fails (unless given); warning: also for a recommended one.",
        )
        parser.add_argument(
            "--pages",
            default=None,
            help=f"Content pages that are read; {OVER_THE_NETWORK.pages} of a URL, all in process, unless given.",
        )
        add_allow_private(parser)
        add_script_name(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        pages = _pages(options["pages"])
        if options["url"] is None:
            require_awp(NOT_MEASURED)
        is_text = options["format"] == "text"
        with mounted(options["script_name"]):
            site = self._site(options["url"], pages, may_be_private=options["allow_private"])
            if site.is_own:
                # Without the tables every document would be told to answer 500.
                published.has_pages()
                count_own_texts()
            try:
                report = self._told(site) if is_text else analyze(site)
            except NotReachedError as error:
                hint = private_hint(error.refusal) if error.refusal is not None else ""
                raise CommandError(f"{site.origin}: {error}{hint}", returncode=NOT_MEASURED) from None
        if not is_text:
            self.stdout.write(DOCUMENTS[options["format"]](report))
        unmet = report.with_outcome(*_FAILING[options["fail_level"]])
        if unmet:
            raise CommandError(f"Not met: {', '.join(line.item.id for line in unmet)}.")

    def _site(self, url: str | None, pages: int | None, *, may_be_private: bool) -> Site:
        def track(items: Any, total: int) -> Any:
            return progress(items, total, to=sys.stderr)

        if url is not None and find_spec("httpx") is None:
            raise CommandError(
                'A URL needs the extra "client": pip install "agentweb-django[client]".',
                returncode=NOT_MEASURED,
            )
        try:
            if url is None:
                return own_site(pages=pages, track=track)
            return site_at(url, may_be_private=may_be_private, pages=pages, track=track)
        except ValueError as error:
            what = "AGENTWEB['ORIGIN']" if url is None else repr(url)
            raise CommandError(f"{what} cannot be called: {error}", returncode=NOT_MEASURED) from None

    def _told(self, site: Site) -> Report:
        """Each line as soon as it is measured."""
        encoding = getattr(getattr(self.stdout, "_out", self.stdout), "encoding", None) or "utf-8"
        text = TextReport(is_unicode=can_show(encoding), paint=self._paint)
        self.stdout.write(text.heading(site))
        before: Line | None = None

        def seen(line: Line) -> None:
            nonlocal before
            for written in (*text.section(line, before), *text.line(line)):
                self.stdout.write(written)
            before = line

        report = analyze(site, seen=seen)
        for written in (*text.budgets(report.budgets), "", text.summary(report)):
            self.stdout.write(written)
        return report

    def _paint(self, outcome: Outcome, text: str) -> str:
        styles = {
            Outcome.PASSED: self.style.SUCCESS,
            Outcome.WARNED: self.style.WARNING,
            Outcome.FAILED: self.style.ERROR,
        }
        return str(styles[outcome](text))


def _pages(text: str | None) -> int | None:
    if text is None:
        return None
    number = whole(text)
    if number is None or not 0 <= number <= _MOST:
        raise CommandError(
            f"--pages: {text!r} is not a whole number from 0 to {_MOST}.", returncode=NOT_MEASURED
        )
    return number
