"""``find``: which sites can do something."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from agentweb.client.agent import AgentClient
from agentweb.client.commands.saying import Add, Said, plain
from agentweb.client.commands.wording import price
from agentweb.client.finding import DEFAULT_LIMIT, MAX_LIMIT
from agentweb.client.found import Found
from agentweb.client.manifest import EFFECTS


def add_commands(add: Add) -> None:
    """Add the command of this module."""
    finding = add(
        "find",
        _find,
        "Find actions among the sites that this agent has met, and those of the index, if one is named.",
    )
    finding.add_argument("words", metavar="WORDS", nargs="+", help='What is to be done: "buy printer paper".')
    finding.add_argument("--effect", choices=EFFECTS, help="Only those with this effect.")
    finding.add_argument("--site", metavar="HOST", help="Only those of this site.")
    finding.add_argument("--currency", metavar="USD", help="Only those that cost something in it.")
    finding.add_argument(
        "--max-cost",
        metavar="AMOUNT",
        help="With --currency: what costs no more, or nothing, or what an input says.",
    )
    finding.add_argument(
        "--limit",
        type=int,
        default=DEFAULT_LIMIT,
        help=f"Results, at most {MAX_LIMIT}; {DEFAULT_LIMIT} unless given.",
    )


def _find(agent: AgentClient, options: argparse.Namespace) -> Said:
    found = agent.find_action(
        " ".join(options.words),
        effect=options.effect,
        site=options.site,
        currency=options.currency,
        max_cost=options.max_cost,
        limit=options.limit,
    )
    document = {"results": [each.as_dict() for each in found.results]}
    if found.index_error is not None:
        document["index_error"] = found.index_error.as_dict()  # type: ignore[assignment]
    return document, _lines(found)


def _lines(found: Found) -> Iterator[str]:
    for each in found.results:
        cost = price(each.cost)
        said = f": {each.description}" if each.description else ""
        old = " (stale)" if each.stale else ""
        yield plain(f"{each.url} {each.name} ({each.kind}, {each.effect}{cost and f' {cost}'}){old}{said}")
    if not found.results:
        yield "Nothing is found. discover a site first, or name an index with --index."
    if found.index_error is not None:
        yield plain(f"(The index did not help: {found.index_error.message})")
