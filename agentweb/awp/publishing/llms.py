"""``/llms.txt`` as llmstxt.org has it: a title, a quote that says what the site is, and lists of links."""

from __future__ import annotations

from typing import Final

from agentweb.awp import budgets, protocol
from agentweb.awp.publishing import description
from agentweb.awp.publishing.content_map import Section
from agentweb.awp.publishing.facts import Facts
from agentweb.awp.publishing.wording import counted, link, one_line

_TITLE_TOKENS: Final = 80
"""Of a title, which a name in rare signs may fill the intro with."""


def text(facts: Facts) -> str:
    """The whole file. What comes before the first list is its intro."""
    blocks = [intro(facts)]
    blocks += [_section(section, facts) for section in facts.content.sections]
    if not facts.content.pages and facts.pages:
        pages = [link(page.title, facts.page_url(page), page.description) for page in facts.pages]
        blocks.append("\n".join(["## Pages", "", *pages]))
    if facts.actions:
        number = counted(len(facts.actions), "action", "actions")
        called = link(f"{number.capitalize()} that agents can call", facts.url(protocol.FUNCTIONS))
        blocks.append("\n".join(["## Actions", "", called]))
    more = [
        link("Summary", facts.url(protocol.SUMMARY)),
        link("Instructions for agents", facts.url(protocol.INSTRUCTIONS)),
        link("All pages by section", facts.url(protocol.STRUCTURE)),
    ]
    if facts.content.pages:
        more.append(link("The text of all pages", facts.root_url(protocol.LLMS_FULL)))
    return "\n\n".join([*blocks, "\n".join(["## Optional", "", *more])]) + "\n"


def intro(facts: Facts) -> str:
    """Title and quote, within their budget together."""
    name = budgets.fit(description.name(facts), _TITLE_TOKENS, measure=facts.measure).text
    title = f"# {name}\n\n> "
    room = budgets.LLMS_INTRO.tokens - facts.measure(title) - 1  # a token may be another where the two meet
    return title + one_line(description.description(facts, room).text)


def _section(section: Section, facts: Facts) -> str:
    links = [link(entry.title, facts.entry_url(entry), entry.description) for entry in section.entries]
    if not section.is_whole:
        listed = facts.url(protocol.section_path(section.id))
        links.append(link(f"All {section.pages:,} pages of this section", listed))
    return "\n".join([f"## {one_line(section.title)}", "", *links])
