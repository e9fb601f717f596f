"""Footnotes as Markdown has them: ``[^1]`` in the text, ``[^1]: …`` where the notes are.

They are known by what tools write: links with the role ``doc-noteref`` or a class of footnotes, or a link in ``<sup>``
to an item of a list that links back.
"""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import unquote

from agentweb.awp.content.characters import PLAIN_BRACKET, PLAIN_CLOSING
from agentweb.awp.content.html.elements import Element, become, classes, drop, rename, text_of

_REFERENCES: Final = frozenset(
    {"footnote-ref", "footnote-reference", "footnote", "footnoteref", "fn-ref", "fnref", "noteref"}
)
_BACK: Final = frozenset(
    {"footnote-backref", "footnote-back", "reversefootnote", "fn-backref", "backref", "fn-backlink"}
)
_BACK_TEXT: Final = re.compile(r"[\s↩↵⏎↑^⤴\ufe0e\ufe0f\[\]()a-z0-9]{0,4}")
_NAME: Final = re.compile(r"\w{1,20}")


def tidy_footnotes(root: Element) -> None:
    """To be called while links are still as the page has them."""
    links = [each for each in root.iter("a") if (each.get("href") or "").startswith("#")]
    if not links:
        return
    targets = {each.get("id"): each for each in root.iter() if each.get("id")}
    names: dict[Element, str] = {}
    naming = _Names()
    leading_back: dict[Element, bool] = {}
    """By note: a page may refer to one with a thousand links a thousand times."""
    for link in links:
        note = targets.get(unquote(link.get("href", "")[1:]))
        if note is None or not _is_reference(link, note, leading_back):
            continue
        if note not in names:
            names[note] = naming.name(text_of(link))
        _refer(link, names[note])
    for note, name in names.items():
        _define(note, name)


def _is_reference(link: Element, note: Element, leading_back: dict[Element, bool]) -> bool:
    if note.tag not in {"li", "p", "div", "aside"} or next(link.iterancestors(note.tag), None) is note:
        return False
    if (link.get("role") or "") == "doc-noteref" or not _REFERENCES.isdisjoint(classes(link)):
        return True
    parent = link.getparent()
    if parent is None or parent.tag != "sup" or note.tag != "li":
        return False
    if note not in leading_back:
        leading_back[note] = any(_leads_back(each) for each in note.iter("a"))
    return leading_back[note]


def _leads_back(link: Element) -> bool:
    if (link.get("role") or "") == "doc-backlink" or not _BACK.isdisjoint(classes(link)):
        return True
    return (link.get("href") or "").startswith("#") and bool(_BACK_TEXT.fullmatch(text_of(link)))


class _Names:
    """Names of notes, each given once."""

    def __init__(self) -> None:
        self._given: set[str] = set()
        self._number = 0

    def name(self, said: str) -> str:
        """What the page has for it, or else one of ours."""
        name = said.strip("[]()* ")
        if not _NAME.fullmatch(name) or name in self._given:
            # Only on: what was looked at is not looked at again.
            self._number = max(self._number, len(self._given)) + 1
            while f"n{self._number}" in self._given:
                self._number += 1
            name = f"n{self._number}"
        self._given.add(name)
        return name


def _refer(link: Element, name: str) -> None:
    parent = link.getparent()
    if parent is not None and parent.tag == "sup":
        parent.tag = "span"
        parent.text, link.tail = None, None
    become(link, "span", f"{PLAIN_BRACKET}^{name}{PLAIN_CLOSING}")


def _define(note: Element, name: str) -> None:
    for link in list(note.iter("a")):
        if _leads_back(link):
            drop(link)
    around = note.getparent()
    if note.tag == "li" and around is not None and around.tag in {"ol", "ul"}:
        # Items between notes would be none of the list any more, so all of them are taken out of it.
        rename(around, "div")
        for each in around:
            if each.tag == "li":
                rename(each, "div")
    if note.tag == "li":
        rename(note, "div")
    first = next((each for each in note if each.tag == "p"), None)
    begin = note if first is None or (note.text or "").strip() else first
    begin.text = f"{PLAIN_BRACKET}^{name}{PLAIN_CLOSING}: {(begin.text or '').lstrip()}"
