"""``manage.py crawl_manifests``: take sites into the index, and ask those anew that are due."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from django.core.management.base import CommandError, CommandParser

from agentweb.client.transport import Transport
from agentweb.index import crawl, store
from agentweb.index.crawl import Looked
from agentweb.index.models import IndexedEntry, IndexedSite
from agentweb.management.commands._migrated import MigratedCommand
from agentweb.management.commands._options import add_allow_private, private_hint
from agentweb.management.commands._progress import progress
from agentweb.wire.clock import now_datetime
from agentweb.wire.errors import ClientError
from agentweb.wire.visible import visible

STDIN: Final = "-"
MOST: Final = 100_000
_MAX_FILE: Final = 50_000_000


class Command(MigratedCommand):
    help = (
        "Read the action manifests of these sites under the guard for strangers, and put their actions and flows into "
        "the index. A site that is known is asked by its ETag. Exits with 1 when a site was refused."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("urls", nargs="*", metavar="URL", help="Any URL of a site, https://shop.example.")
        parser.add_argument(
            "--from",
            dest="from",
            default=None,
            metavar="FILE",
            help="A file with a URL a line, - for standard input; lines that begin with # are left out.",
        )
        parser.add_argument("--due", action="store_true", help="Every site of the index that is due.")
        parser.add_argument(
            "--again", action="store_true", help="Read them whole, whatever is known of them."
        )
        parser.add_argument("--json", action="store_true", help="Print a JSON object for each site.")
        add_allow_private(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        urls = [*options["urls"], *_listed(options["from"])]
        if not urls and not options["due"]:
            raise CommandError("Name sites, a file of them with --from, or --due.")
        allowed = set(filter(None, map(_host_of, urls))) if options["allow_private"] else set[str]()
        asking = crawl.transport(allowed)
        total = len(urls) + (IndexedSite.objects.count() if options["due"] else 0)
        failed = 0
        try:
            rows = self._rows(urls, is_due=options["due"])
            for url, found in progress(rows, total, to=sys.stderr):
                failed += not self._look(url, found, asking, options)
        finally:
            asking.close()
        store.clear_terms()
        if failed:
            raise CommandError(f"Refused: {failed} of {total}." if total != failed else f"Refused: {failed}.")

    def _rows(self, urls: list[str], *, is_due: bool) -> Iterator[tuple[str, IndexedSite | ClientError]]:
        for url in urls:
            try:
                yield url, crawl.row_for(url)
            except ClientError as error:
                yield url, error
        if is_due:
            for row in crawl.due(now_datetime(), limit=MOST):
                yield row.url, row

    def _look(
        self, url: str, found: IndexedSite | ClientError, asking: Transport, options: dict[str, Any]
    ) -> bool:
        """Whether all is well with the site; says how it is."""
        if isinstance(found, ClientError):
            return self._tell(url, "refused", error=found, as_json=options["json"])
        looked = crawl.look(found, asking, is_forced=options["again"])
        if looked is None:
            is_out = found.state == IndexedSite.State.BLOCKED
            return self._tell(found.site, "shut out" if is_out else "busy", as_json=options["json"])
        if looked.error is not None:
            return self._tell(found.site, "refused", error=looked.error, as_json=options["json"])
        state = "read" if looked.is_new else "unchanged"
        return self._tell(found.site, state, looked, as_json=options["json"])

    def _tell(
        self,
        site: str,
        state: str,
        looked: Looked | None = None,
        *,
        error: ClientError | None = None,
        as_json: bool,
    ) -> bool:
        count = IndexedEntry.objects.filter(site=looked.row.pk).count() if looked is not None else 0
        unusable = list(looked.unusable) if looked is not None else []
        if as_json:
            told: dict[str, Any] = {"site": site, "state": state}
            if looked is not None:
                told |= {"entries": count, "sha256": looked.row.sha256, "unusable": unusable}
            if error is not None:
                told["error"] = error.as_dict()
            self.stdout.write(json.dumps(told, ensure_ascii=False))
            return error is None
        if error is not None:
            code = " ".join(str(each) for each in (error.code, error.extra.get("reason")) if each)
            said = f"{visible(error.message)}{private_hint(error)}"
            self.stderr.write(self.style.WARNING(f"refused  {visible(site)} ({code}): {said}"))
            return False
        self.stdout.write(f"{state}  {visible(site)}" + (f": {count} entries" if looked is not None else ""))
        for each in unusable:
            self.stderr.write(f"  left out {visible(each['field'])}: {visible(each['message'])}")
        return True


def _host_of(url: str) -> str | None:
    try:
        return urlsplit(url).hostname
    except ValueError:  # said when the site is looked at
        return None


def _listed(source: str | None) -> list[str]:
    if source is None:
        return []
    try:
        if source == STDIN:
            text = sys.stdin.read(_MAX_FILE)
        else:
            with Path(source).open(encoding="utf-8") as file:
                text = file.read(_MAX_FILE)
    except (OSError, UnicodeDecodeError) as error:
        raise CommandError(f"{visible(source)} cannot be read: {error}") from None
    lines = (line.strip() for line in text.splitlines())
    return [line for line in lines if line and not line.startswith("#")]
