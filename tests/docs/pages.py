"""Reading the documentation: its pages, links and code blocks."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
PAGES = (ROOT / "README.md", *sorted(DOCS.rglob("*.md")))

_BLOCK = re.compile(
    r"(?:^(?P<before>[^\n]+)\n\n)?^```(?P<language>\w*)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL
)
_FILE = re.compile(r"`(?P<path>[\w./-]+\.\w+)`:$")
_HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)


@dataclass(frozen=True)
class Block:
    """A fenced block. ``path`` is the file that it is, when the line before it ends with the file's name and a
    colon; ``is_appended`` when that line speaks of the file's end."""

    language: str
    text: str
    path: str | None
    is_appended: bool


def blocks(page: str, language: str | None = None) -> list[Block]:
    """The blocks of ``docs/<page>``, in order."""
    found = []
    for match in _BLOCK.finditer((DOCS / page).read_text(encoding="utf-8")):
        named = _FILE.search(match["before"] or "")
        block = Block(
            language=match["language"],
            text=match["text"],
            path=named["path"] if named else None,
            is_appended="the end of" in (match["before"] or ""),
        )
        if language in {None, block.language}:
            found.append(block)
    return found


def file(page: str, path: str) -> str:
    """The text of the one block of a page that is this file."""
    [found] = [block.text for block in blocks(page) if block.path == path]
    return found


def prose(text: str) -> str:
    """A page without its code."""
    return _BLOCK.sub(lambda block: f"{block['before'] or ''}\n", text)


def links(page: Path) -> list[str]:
    """The targets of a page's links that stay within the repository."""
    targets = re.findall(r"\]\(([^)\s]+)\)", prose(page.read_text(encoding="utf-8")))
    return [target for target in targets if "://" not in target]


def anchors(page: Path) -> set[str]:
    """The fragments that a page's headings answer to, as GitHub makes them."""
    headings = _HEADING.findall(prose(page.read_text(encoding="utf-8")))
    return {re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}
