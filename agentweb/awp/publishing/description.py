"""What the site is called and says of itself in a few sentences: the settings', else made from what it declares."""

from __future__ import annotations

from typing import Final
from urllib.parse import urlsplit

from agentweb.awp import budgets
from agentweb.awp.budgets import Budget, Fitted
from agentweb.awp.protocol import SUMMARY
from agentweb.awp.publishing.facts import Facts
from agentweb.awp.publishing.wording import counted, one_line
from agentweb.awp.titles import is_generic

_LONGEST_NAME: Final = 100
_NAMED: Final = 8
"""Pages and actions that a made description names."""


def name(facts: Facts) -> str:
    """The site's name: the setting's, else what the titles of its pages end in, else the title of the front page where
    it names the site, else the host."""
    front = "" if facts.front is None or is_generic(facts.front.title) else facts.front.title
    found = facts.name or facts.content.name or front
    return one_line(found)[:_LONGEST_NAME] or urlsplit(facts.place.origin).netloc[:_LONGEST_NAME]


def source(facts: Facts) -> str:
    """The description, of any length."""
    return facts.description if facts.description is not None else _made(facts)


def description(facts: Facts, budget: Budget | int = budgets.DISCOVERY_DESCRIPTION) -> Fitted:
    """The description as it is served. What does not fit stands in the summary, to which it then points."""
    return budgets.fit(source(facts), budget, f"More: {facts.path(SUMMARY)}", facts.measure)


def _made(facts: Facts) -> str:
    front = facts.front
    others = [page.title for page in facts.pages if page.path != "/"]
    found = []
    if front is not None and front.description:
        found.append(f"{name(facts)}: {front.description}")
    else:
        found.append(f"{name(facts)} is a site that agents can read and use")
    if others:
        found.append(f"Its pages: {_some(others)}")
    if facts.content.pages:
        found.append(f"{counted(facts.content.pages, 'page', 'pages')} can be read as Markdown")
    if facts.actions:
        titles = [action.title for action in facts.actions]
        found.append(f"Agents can call {counted(len(titles), 'action', 'actions')}: {_some(titles)}")
    return " ".join(_ended(one_line(each)) for each in found)


def _some(titles: list[str]) -> str:
    rest = len(titles) - _NAMED
    return ", ".join(titles[:_NAMED]) + (f" and {rest:,} more" if rest > 0 else "")


def _ended(sentence: str) -> str:
    return sentence if sentence.endswith((".", "!", "?")) else f"{sentence}."
