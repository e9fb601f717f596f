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
    for link in links:
        note = targets.get(unquote(link.get("href", "")[1:]))
        if note is None or not _is_reference(link, note):
            continue
        if note not in names:
            names[note] = _name(text_of(link), names)
        _refer(link, names[note])
    for note, name in names.items():
        _define(note, name)


def _is_reference(link: Element, note: Element) -> bool:
    if note.tag not in {"li", "p", "div", "aside"} or next(link.iterancestors(note.tag), None) is note:
        return False
    if (link.get("role") or "") == "doc-noteref" or not _REFERENCES.isdisjoint(classes(link)):
        return True
    parent = link.getparent()
    is_raised = parent is not None and parent.tag == "sup"
    return is_raised and note.tag == "li" and any(_leads_back(each) for each in note.iter("a"))


def _leads_back(link: Element) -> bool:
    if (link.get("role") or "") == "doc-backlink" or not _BACK.isdisjoint(classes(link)):
        return True
    return (link.get("href") or "").startswith("#") and bool(_BACK_TEXT.fullmatch(text_of(link)))


def _name(said: str, taken: dict[Element, str]) -> str:
    name = said.strip("[]()* ")
    return name if _NAME.fullmatch(name) and name not in taken.values() else f"n{len(taken) + 1}"


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
