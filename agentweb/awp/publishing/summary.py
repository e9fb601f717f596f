"""``/awp/content/summary.md``: what an agent should know of the site before it reads anything else.

The settings' text, else one made from the registered pages, the content and the actions. A text over its budget is
served in parts, of which each is within it.
"""

from __future__ import annotations

from typing import Final

from agentweb.awp import budgets, protocol
from agentweb.awp.publishing import description
from agentweb.awp.publishing.facts import Facts
from agentweb.awp.publishing.wording import counted, first_sentence, link, one_line

_LENGTHS: Final = (30, 20, 12, 8, 5, 3, 1, 0)
"""How many pages and actions a made summary names; the first number with which it fits."""


def source(facts: Facts) -> str:
    """The summary, of any length. A description that had to be cut elsewhere stands in it as a whole."""
    if facts.summary is None:
        return _made(facts)
    about = description.description(facts)
    if not about.is_cut:
        return facts.summary
    return f"{facts.summary}\n\n## Description\n\n{description.source(facts)}"


def _made(facts: Facts) -> str:
    texts = (_written(facts, most) for most in _LENGTHS)
    most = budgets.SUMMARY.tokens
    return next((text for text in texts if budgets.fits(text, most, facts.measure)), _written(facts, 0))


def _written(facts: Facts, most: int) -> str:
    blocks = [f"# {description.name(facts)}", description.source(facts)]
    pages = [link(page.title, facts.page_url(page), page.description) for page in facts.pages[:most]]
    if facts.content.pages:
        number = counted(facts.content.pages, "page", "pages")
        pages.append(link(f"All {number} as Markdown, by section", facts.url(protocol.STRUCTURE)))
    if pages:
        blocks += ["## Pages", "\n".join(pages)]
    actions = [
        f"- `{action.name}`: {one_line(first_sentence(action.description))}"
        for action in facts.actions[:most]
    ]
    if facts.actions:
        number = counted(len(facts.actions), "action", "actions")
        actions.append(link(f"All {number}, with their parameters", facts.url(protocol.FUNCTIONS)))
        blocks += ["## Actions", "\n".join(actions)]
    return "\n\n".join(blocks) + "\n"
