"""Kinds of agents, by what they call themselves."""

from __future__ import annotations

import pytest

from agentweb.awp.analytics.families import (
    BROWSER,
    FAMILIES,
    LIBRARY,
    NAMELESS,
    OTHER,
    OWN,
    SIGNED,
    family_of,
)
from agentweb.awp.analytics.models import FAMILY_LENGTH
from agentweb.client.transport import _HEADERS

CHROME = (
    "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36"
)
BOT = "Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; {}; +https://bots.example)"


@pytest.mark.parametrize(
    ("user_agent", "family"),
    [
        (BOT.format("GPTBot/1.3"), "OpenAI"),
        (BOT.format("ChatGPT-User/1.0"), "OpenAI"),
        (BOT.format("OAI-SearchBot/1.3"), "OpenAI"),
        (BOT.format("ClaudeBot/1.0"), "Anthropic"),
        ("claude-code/2.1", "Anthropic"),
        (BOT.format("Claude-User/1.0"), "Anthropic"),
        (BOT.format("PerplexityBot/1.0"), "Perplexity"),
        (BOT.format("bingbot/2.0"), "Microsoft"),
        (BOT.format("Googlebot/2.1"), "Google"),
        ("meta-externalagent/1.1", "Meta"),
        ("CCBot/2.0 (https://commoncrawl.org/faq/)", "Common Crawl"),
        ("langchain/0.3", "Agent frameworks"),
        ("agentweb-client", OWN),
        ("python-httpx/0.28.1", LIBRARY),
        ("curl/8.5.0", LIBRARY),
        ("Go-http-client/2.0", LIBRARY),
        (CHROME, BROWSER),
        ("", NAMELESS),
        ("   ", NAMELESS),
        ("my-own-agent/1.0", OTHER),
        ("🤖" * 1_000, OTHER),
    ],
)
def test_an_agent_is_of_the_kind_that_it_names(user_agent: str, family: str) -> None:
    assert family_of(user_agent, is_signed=False) == family


def test_who_showed_a_signature_and_names_nothing_known_is_a_signed_agent() -> None:
    assert {family_of(name, is_signed=True) for name in ("", CHROME, "python-httpx/0.28.1", "mine/1")} == {
        SIGNED
    }
    assert family_of(BOT.format("GPTBot/1.3"), is_signed=True) == "OpenAI"
    assert family_of("agentweb-client", is_signed=True) == OWN


def test_the_own_client_is_known() -> None:
    assert family_of(_HEADERS["User-Agent"], is_signed=False) == OWN


def test_every_kind_fits_its_column_and_there_are_few() -> None:
    assert len(set(FAMILIES)) == len(FAMILIES) < 40
    assert all(0 < len(name) <= FAMILY_LENGTH for name in FAMILIES)
