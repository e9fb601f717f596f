"""The last step: every text of a page as the converter may take it over."""

from __future__ import annotations

from lxml.html import HtmlElement

from agentweb.awp.content.characters import MARK, in_one_line, marked


def mark_texts(root: HtmlElement) -> None:
    """Leave no white space but single spaces outside of code, and mark what Markdown would take for more than text."""
    for element in root.iter():
        if element.tag != "code" and element.text:
            element.text = _marked(element.text, element[0] if len(element) else None)
        if element.tail:
            element.tail = _marked(element.tail, element.getnext())


def _marked(text: str, following: HtmlElement | None) -> str:
    found = marked(in_one_line(text))
    if found[-1:] == "!" and following is not None and following.tag == "a":
        # Before a link it would make it an image.
        return f"{found[:-1]}{MARK}!"
    return found
