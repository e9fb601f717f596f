"""The last step: every text of a page as the converter may take it over."""

from __future__ import annotations

from typing import Final

from agentweb.awp.content.characters import MARK, in_one_line, marked
from agentweb.awp.content.html.elements import BLOCKS, HEADINGS, Element

_BEGIN: Final = BLOCKS - HEADINGS - {"td", "th"}
"""What Markdown's blocks can begin in."""


def mark_texts(root: Element) -> None:
    """Leave no white space but single spaces outside of code, and mark what Markdown would take for more than text."""
    linked = {element for link in root.iter("a") for element in link.iter()}
    for element in root.iter():
        tag = element.tag
        if element.text and tag != "code" and not _is_its_address(element):
            element.text = marked(
                in_one_line(element.text), is_first=tag in _BEGIN, is_in_link=element in linked
            )
            if tag in BLOCKS and element.text == " ":
                element.text = None
        if element.tail:
            element.tail = marked(
                in_one_line(element.tail),
                is_first=tag == "br" or tag in BLOCKS,
                is_in_link=tag != "a" and element in linked,
            )
            if element.tail == " " and _is_between_blocks(element):
                element.tail = None
    for link in root.iter("a"):
        _mark_before(link)


def _is_between_blocks(element: Element) -> bool:
    following = element.getnext()
    return element.tag in BLOCKS or (following is not None and following.tag in BLOCKS)


def _is_its_address(element: Element) -> bool:
    """Whether it is a link whose text is where it leads, which is written only once."""
    return element.tag == "a" and element.text == element.get("href") and not len(element)


def _mark_before(link: Element) -> None:
    """An exclamation mark before a link would make it an image."""
    place: Element | None = link
    while place is not None:
        previous = place.getprevious()
        while previous is not None and not previous.tail and len(previous):
            # Nothing after it: what is last within it stands before the link.
            previous = previous[-1]
        if previous is not None:
            if previous.tail:
                previous.tail = _ending(previous.tail)
            elif previous.tag != "code" and previous.text:
                previous.text = _ending(previous.text)
            return
        place = place.getparent()
        if place is None or place.tag in BLOCKS or place.text:
            if place is not None and place.text:
                place.text = _ending(place.text)
            return


def _ending(text: str) -> str:
    return f"{text[:-1]}{MARK}!" if text[-1] == "!" else text
