"""Kinds of agents, by what they call themselves in User-Agent: who runs them, or what they are made with.

Anybody may write anything there, and of what is written only the kind is kept. What calls itself nothing known is told
by whether it showed a signature or a session of this site.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final

SIGNED: Final = "Signed agents"
OWN: Final = "agentweb clients"
LIBRARY: Final = "HTTP libraries"
BROWSER: Final = "Browsers"
NAMELESS: Final = "Without a name"
OTHER: Final = "Others"

_OPERATORS: Final[tuple[tuple[str, tuple[str, ...]], ...]] = (
    ("OpenAI", ("gptbot", "oai-searchbot", "chatgpt", "openai")),
    ("Anthropic", ("claude", "anthropic")),
    ("Google", ("google", "gemini")),
    ("Microsoft", ("bingbot", "copilot", "azureai")),
    ("Perplexity", ("perplexity",)),
    ("Meta", ("meta-external", "facebookexternalhit", "meta-webindexer")),
    ("Amazon", ("amazonbot", "amzn-", "novaact")),
    ("Apple", ("applebot",)),
    ("ByteDance", ("bytespider", "tiktokspider")),
    ("Mistral", ("mistralai",)),
    ("DeepSeek", ("deepseek",)),
    ("xAI", ("grokbot", "xai-")),
    ("Cohere", ("cohere",)),
    ("You.com", ("youbot",)),
    ("DuckDuckGo", ("duckassistbot", "duckduckbot")),
    ("Common Crawl", ("ccbot",)),
    ("Agent frameworks", ("langchain", "llamaindex", "crewai", "autogpt", "smolagents", "browser-use")),
)
"""Parts of names in lower case. The first that fits is the kind."""
_MEANS: Final[tuple[tuple[str, tuple[str, ...]], ...]] = (
    (OWN, ("agentweb",)),
    (
        LIBRARY,
        (
            *(
                "python",
                "httpx",
                "aiohttp",
                "urllib",
                "curl/",
                "wget/",
                "go-http-client",
                "node",
                "undici",
                "axios",
            ),
            *(
                "okhttp",
                "java",
                "libwww",
                "guzzle",
                "ruby",
                "faraday",
                "reqwest",
                "hyper/",
                "postman",
                "insomnia",
            ),
        ),
    ),
    (BROWSER, ("mozilla/",)),
)

FAMILIES: Final = (*(name for name, _parts in _OPERATORS), SIGNED, OWN, LIBRARY, BROWSER, NAMELESS, OTHER)
"""Every kind that there is."""

_LONGEST: Final = 300


def family_of(user_agent: str, *, is_signed: bool) -> str:
    """The kind of agent that calls itself this. ``is_signed``: it was established who calls."""
    name, is_operator = _named(user_agent[:_LONGEST])
    return SIGNED if is_signed and not is_operator and name != OWN else name


@lru_cache(maxsize=1_024)
def _named(user_agent: str) -> tuple[str, bool]:
    text = user_agent.strip().lower()
    if not text:
        return NAMELESS, False
    for name, parts in _OPERATORS:
        if any(part in text for part in parts):
            return name, True
    for name, parts in _MEANS:
        if any(part in text for part in parts):
            return name, False
    return OTHER, False
