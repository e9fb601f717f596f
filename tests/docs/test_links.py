"""Every link of the documentation leads somewhere, and the index leads to every page."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.docs.pages import DOCS, PAGES, ROOT, anchors, links


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_leads_to_a_page_and_to_a_heading_of_it(page: Path) -> None:
    broken = []
    for link in links(page):
        target, _, fragment = link.partition("#")
        found = (page.parent / target).resolve() if target else page
        if not found.exists() or (fragment and fragment not in anchors(found)):
            broken.append(link)
    assert broken == []


def test_the_index_lists_every_page() -> None:
    index = DOCS / "index.md"
    listed = {(DOCS / link.partition("#")[0]).resolve() for link in links(index)}
    assert set(DOCS.rglob("*.md")) - listed == {index}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_a_shell_variable_that_a_page_uses_is_set_on_it(page: Path) -> None:
    """``TOKEN`` is what the command before it printed."""
    text = page.read_text(encoding="utf-8")
    shell = "\n".join(re.findall(r"^```sh\n(.*?)^```$", text, re.MULTILINE | re.DOTALL))
    used, set_there = (
        set(re.findall(pattern, of)) for pattern, of in ((r"\$([A-Z]+)\b", shell), (r"\b([A-Z]+)=", text))
    )
    assert used - set_there <= {"TOKEN"}
