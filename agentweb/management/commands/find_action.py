"""``manage.py find_action "buy printer paper"``: what the index finds, as ``/agent-index/find`` gives it."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandError, CommandParser

from agentweb.client.manifest import EFFECTS
from agentweb.index.finding import PER_SITE, Wanted, find
from agentweb.management.commands._migrated import MigratedCommand
from agentweb.management.commands._options import amount_of
from agentweb.management.commands._texts import whole
from agentweb.wire.json_writing import dumps
from agentweb.wire.visible import visible

_MOST = 200


class Command(MigratedCommand):
    help = "Find actions and flows of the sites in the index, best first."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("query", help='What is to be done, in a few words: "buy printer paper".')
        parser.add_argument("--effect", choices=EFFECTS, default=None, help="Only those with this effect.")
        parser.add_argument("--site", default=None, help="Only those of this site, host or host:port.")
        parser.add_argument("--currency", default=None, help="Only those that cost something in it.")
        parser.add_argument(
            "--max-cost",
            default=None,
            metavar="AMOUNT",
            help="With --currency: what costs no more, or nothing, or what an input says.",
        )
        parser.add_argument("--limit", default="10", help="Results; 10 unless given.")
        parser.add_argument("--per-site", default=None, help=f"Results of one site; {PER_SITE} unless given.")
        parser.add_argument("--json", action="store_true", help="Print one JSON object.")

    def handle(self, *args: Any, **options: Any) -> None:
        limit, per_site = whole(options["limit"]), whole(options["per_site"] or "0")
        if limit is None or not 1 <= limit <= _MOST or per_site is None or not 0 <= per_site <= _MOST:
            raise CommandError(f"--limit and --per-site are whole numbers from 1 to {_MOST}.")
        wrong: list[str] = []
        cost = amount_of(options["max_cost"], options["currency"], "--max-cost", wrong)
        if wrong:
            raise CommandError(" ".join(wrong))
        site = options["site"]
        found = find(
            Wanted(
                text=options["query"],
                effect=options["effect"],
                site=None if site is None else site.lower(),
                currency=options["currency"],
                max_cost=cost,
                per_site=per_site or (0 if site else PER_SITE),
            ),
            limit=limit,
        )
        if options["json"]:
            self.stdout.write(dumps(found).decode())
            return
        for each in found["results"]:
            self.stdout.write(line_of(each))
        if not found["results"]:
            self.stdout.write("Nothing is found. crawl_manifests takes sites into the index.")


def line_of(result: dict[str, Any]) -> str:
    """A result on one line: its score, site, name and effect, what it costs, and what it says of itself."""
    cost = result["cost"] or {}
    price = f" {cost['currency']} {cost.get('amount', 'by ' + str(cost.get('field')))}" if cost else ""
    old = " (stale)" if result["stale"] else ""
    name = f"{result['site']} {result[result['type']]}"
    said = f"  {result['description'][:100]}" if result["description"] else ""
    return visible(f"{result['score']:8.3f}  {name} [{result['effect']}{price}]{old}{said}")
