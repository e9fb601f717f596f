"""Actions as texts that are found, and the words that people say for what an action does (AGENT_ACTIONS section 13).

The effect of an action is a term of it too, ``=spend``: no word of a text can be one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, Final

from agentweb.client.ranking import THOUSAND, Field, impacts
from agentweb.client.ranking_words import ENGLISH, name_terms, query_terms, stem, terms

NAME: Final = Field(3, 3)
TITLE: Final = Field(2, 4)
DESCRIPTION: Final = Field(2, 16)
INPUTS: Final = Field(1, 24)
FLOWS: Final = Field(1, 4)
SITE: Final = Field(1, 40)
EFFECT: Final = Field(1, 1)

_SAID_VERB: Final = 600
_SAID_ALIKE: Final = 250
"""What a verb of the table counts beside other words, and a word that means about the same as one that was said, in
thousandths: many actions buy or find, and what it is that they buy says which is meant."""

_VERBS: Final = (
    ("buy order purchase get acquire shop pay", "cart basket checkout", "spend"),
    ("find search look lookup browse list show view see read check query", "", "read"),
    ("send write message email contact notify tell reply", "", "send"),
    ("delete remove cancel drop clear unsubscribe", "", "delete"),
    ("add create make new insert register submit", "", "write"),
    ("change update edit modify set rename move", "", "write"),
    ("book reserve schedule", "appointment booking reservation", "write"),
)
"""Words that are said for each other, nouns that go with them, and the effect of such actions."""


def action_impacts(
    *,
    name: str,
    title: str = "",
    description: str = "",
    effect: str = "",
    input_schema: Mapping[str, Any] | None = None,
    flows: Iterable[str] = (),
    site: str = "",
) -> dict[str, int]:
    """The ``impacts`` of an action. ``flows`` are names of flows that call it; ``site`` is what the site says of
    itself: its name and summary."""
    return impacts(
        [
            (NAME, name_terms(name)),
            (TITLE, terms(title)),
            (DESCRIPTION, terms(description)),
            (INPUTS, _input_terms(input_schema or {})),
            (FLOWS, [term for flow in flows for term in name_terms(flow)]),
            (SITE, _site_terms(site)),
            (EFFECT, [f"={effect}"] if effect else []),
        ]
    )


def action_query(text: str, language: str = ENGLISH) -> dict[str, int]:
    """The terms of a query and their weights in thousandths, with those that its verbs stand for."""
    terms_asked = query_terms(text, language)
    is_verbs_only = all(term in _meant_by for term in terms_asked)
    asked = {term: THOUSAND if is_verbs_only or term not in _meant_by else _SAID_VERB for term in terms_asked}
    meant = [term for word in asked for term in _meant_by.get(word, ())]
    return {**dict.fromkeys(meant, _SAID_ALIKE), **asked}


def is_effect(term: str) -> bool:
    """Whether a term stands for an effect, so that only actions have it."""
    return term.startswith("=")


@lru_cache(maxsize=4)
def _site_terms(text: str) -> tuple[str, ...]:
    """The same for all of a site's actions, of which there may be thousands."""
    return tuple(terms(text))


def _input_terms(schema: Mapping[str, Any]) -> list[str]:
    """Names and descriptions of the inputs. What is no schema of an object has none."""
    properties = schema.get("properties")
    if not isinstance(properties, Mapping):
        return []
    found: list[str] = []
    for name, each in properties.items():
        found += name_terms(str(name))
        described = each.get("description") if isinstance(each, Mapping) else None
        if isinstance(described, str):
            found += terms(described)
    return found


def _table() -> dict[str, Sequence[str]]:
    table: dict[str, Sequence[str]] = {}
    for verbs, nouns, effect in _VERBS:
        stems = [stem(word) for word in f"{verbs} {nouns}".split()]
        for verb in verbs.split():
            table[stem(verb)] = [*dict.fromkeys([*stems, f"={effect}"])]
    return table


_meant_by: Final = _table()
