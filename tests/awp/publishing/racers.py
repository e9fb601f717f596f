"""What processes do with the counts of texts, each fresh and with its own connection: see ``tests.support.races``."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.core.management import call_command
from django.test import Client, override_settings

from agentweb.awp import budgets, protocol
from agentweb.awp.content import published, running
from agentweb.awp.publishing import counted, counting
from agentweb.awp.publishing.models import CountedText
from agentweb.catalog.registry import registry
from agentweb.catalog.words import action
from agentweb.wire import tokens
from agentweb.wire.clock import now_datetime
from tests.awp.content import site

ORIGIN = "https://shop.example"
DOCUMENTS = (
    f"/{protocol.WELL_KNOWN}",
    "/awp/manifest.json",
    "/awp/content/summary.md",
    "/awp/content/structure.json",
    "/awp/content/sections/articles.json",
    "/awp/content/articles/red.md",
    "/awp/content/articles/blue.md",
    "/awp/instructions.md",
    "/awp/api/tools/functions.json",
    "/awp/validate?manifest=own",
    "/llms.txt",
    "/llms-full.txt",
    "/openapi.json",
)
LONG = "Tea is made of leaves, which are dried and taken to the shop by whoever has time. "
LEAVES = "Blätter werden getrocknet — 茶は葉から作られます。 "


def _texts() -> dict[str, str]:
    """Over their budgets, and such that a bound says more than the tokenizer."""
    return {
        "NAME": "Teeladen der fünf Blätter",
        "DESCRIPTION": (LONG + LEAVES) * 9,
        "SUMMARY": "# Tea\n\n" + (LONG + LEAVES + "\n\n") * 20,
        "INSTRUCTIONS": "# How\n\n" + (LEAVES + "\n\n") * 30,
    }


@contextmanager
def shop(**texts: str) -> Iterator[None]:
    """A site with two articles and an action, which says of itself what ``texts`` are."""
    site.PAGES = {"red": "A red shoe. " * 2_000, "blue": "A blue shoe."}
    site.sitemaps = {"articles": site.Articles}
    awp = {"SITEMAPS": "tests.awp.content.site.sitemaps", **texts}
    settings = override_settings(
        ROOT_URLCONF="tests.awp.content.site", AGENTWEB={"ORIGIN": ORIGIN, "AWP": awp}
    )
    with settings, registry.only():

        @action(description=(LONG + LEAVES) * 7 if texts else "Buy tea.")
        def buy_tea(inp: None, ctx: Any) -> Any:
            return {}

        yield


def is_loaded() -> bool:
    return bool(tokens._encoding.cache_info().currsize)


def fill() -> bool:
    """A content run; whether it kept counts."""
    with shop(**_texts()):
        assert running.run() is not None
    return CountedText.objects.exists()


def served() -> dict[str, Any]:
    """The documents as everybody gets them, and whether that took the tokenizer; then the ``texts`` in them that have a
    budget, by its name, with their ``tokens``, and those that the tokenizer fits, ``exact``."""
    with shop(**_texts()):
        has_pages = published.has_pages()
        addresses = [each for each in DOCUMENTS if has_pages or "/articles" not in each]
        client = Client(headers={"host": "shop.example"})
        texts = _fitted({address: _got(client, address) for address in addresses})
        was_loaded = is_loaded()
        tokens_of = {name: [budgets.count(each) for each in found] for name, found in texts.items()}
        counting.count_texts()
        exact = _fitted({address: _got(client, address) for address in addresses})
    return {"loaded": was_loaded, "texts": texts, "tokens": tokens_of, "exact": exact}


def checked(is_usual: bool) -> dict[str, Any]:
    """What ``manage.py check`` says of budgets, of usual texts or of long ones."""
    said = io.StringIO()
    with shop(**({} if is_usual else _texts())):
        call_command("check", stdout=said, stderr=said)
    return {"loaded": is_loaded(), "over": said.getvalue().count("agentweb.W090")}


def _got(client: Client, address: str) -> list[str]:
    """All parts of it."""
    parts = []
    while address:
        response = client.get(address, secure=True)
        assert response.status_code == 200, (address, response.status_code, response.content)
        parts.append(response.content.decode())
        links = response.headers.get("Link", "")
        following = [each for each in links.split(", ") if each.endswith('rel="next"')]
        address = following[0][1:].partition(">")[0] if following else ""
    return parts


def _fitted(found: dict[str, list[str]]) -> dict[str, list[str]]:
    """The texts that have a budget, by its name."""
    functions = json.loads(found["/awp/api/tools/functions.json"][0])["functions"]
    texts = {
        "discovery_description": [json.loads(found[f"/{protocol.WELL_KNOWN}"][0])["description"]],
        "summary": found["/awp/content/summary.md"],
        "instructions": found["/awp/instructions.md"],
        "function_description": [each["description"] for each in functions],
        "llms_intro": [found["/llms.txt"][0].partition("\n\n## ")[0]],
        "page": [
            part
            for address, parts in found.items()
            if address.startswith("/awp/content/articles/")
            for part in parts
        ],
    }
    return {name: each for name, each in texts.items() if each}


def count_at_once(place: int, rounds: int) -> int:
    """Count the texts of a site again and again, some of which others count too, while counts of old are deleted."""
    for turn in range(rounds):
        old = now_datetime() - 2 * counted.KEPT
        CountedText.objects.filter(pk__in=range(turn * 3, turn * 3 + 5)).update(seen_at=old)
        instructions = f"# How {place % 2} {turn}\n\n" + (LEAVES + "\n\n") * 30
        with shop(**{**_texts(), "INSTRUCTIONS": instructions}):
            counting.count_texts()
    return rounds
