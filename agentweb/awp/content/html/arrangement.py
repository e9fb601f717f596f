"""Blocks within blocks, so that the converter writes the blank lines and the indents that Markdown needs there."""

from __future__ import annotations

from typing import Final

from agentweb.awp.content.html.elements import (
    BLOCKS,
    HEADINGS,
    Element,
    contains,
    drop,
    has_content,
    rename,
    wrap,
)

# What cannot be a part of a heading.
_LARGE: Final = HEADINGS | {"ul", "ol", "dl", "table", "pre", "blockquote", "hr", "figure", "details"}
_MOST_PARAGRAPHS: Final = 2
_SECTIONS: Final = frozenset(
    {"address", "article", "aside", "body", "center", "dir", "fieldset", "footer", "header", "hgroup", "legend", "main",
     "section"}
)  # fmt: skip
_ATTRIBUTES: Final = {
    "a": ("href",),
    "abbr": ("title",),
    "code": ("class",),
    "img": ("alt", "src"),
    "input": ("checked", "type"),
    "ol": ("start",),
}
# The converter puts no blank line before them after the text of an item.
_AFTER_BLANK: Final = frozenset({"table", "pre", "blockquote"})


def arrange(root: Element) -> None:
    """To be called when nothing is dropped any more."""
    for element in root.iter():
        _plain(element)
    for element in list(root.iter("figure", "details")):
        _open(element)
    for element in list(root.iter(*HEADINGS)):
        if not has_content(element):
            drop(element)
        elif contains(element, _LARGE) or len(list(element.iter("p"))) > _MOST_PARAGRAPHS:
            # One that was never closed has the rest of the page in it.
            _close(element)
    for item in list(root.iter("li")):
        if has_content(item):
            _separate(item)
        else:
            drop(item)
    # Without something around them the converter joins two in a row.
    for element in list(root.iter("table")):
        wrap(element, "div")
    for element in list(root.iter("blockquote")):
        wrap(element, "section")
    for element in reversed(list(root.iter("br"))):
        _tidy_break(element)


def _plain(element: Element) -> None:
    """Leave nothing by which the converter would go beside what it is to know."""
    tag = str(element.tag)
    if tag in _SECTIONS:
        element.tag = "div"
    kept = _ATTRIBUTES.get(tag, ())
    if any(name not in kept for name in element.attrib):
        # All at once: broken markup has names that lxml gives and does not take, such as "{".
        values = [(name, element.get(name)) for name in kept]
        element.attrib.clear()
        for name, value in values:
            if value is not None:
                element.set(name, value)


def _open(element: Element) -> None:
    """A figure is what is in it and a caption, which is emphasised; details are a summary in bold and the rest."""
    rename(element, "div")
    for child in list(element):
        if child.tag in {"figcaption", "summary"}:
            emphasis = "em" if child.tag == "figcaption" else "strong"
            if contains(child, BLOCKS):
                rename(child, "div")
            else:
                rename(child, emphasis)
                wrap(child, "p")


def _close(heading: Element) -> None:
    """The heading is what stands before the first block in it, or else in it."""
    first = next((each for each in heading if each.tag in BLOCKS), None)
    if first is None:
        # Further in.
        rename(heading, "div")
        return
    own = heading.makeelement(str(heading.tag))
    own.text, heading.text = heading.text, None
    own.extend(reversed(list(first.itersiblings(preceding=True))))
    rename(heading, "div")
    if has_content(own):
        heading.insert(0, own)
    elif not contains(first, BLOCKS) and first.tag not in _LARGE:
        first.tag = own.tag


def _separate(item: Element) -> None:
    """The text before a block in an item becomes a paragraph."""
    block = next((each for each in item if each.tag in BLOCKS), None)
    if block is None or block.tag not in _AFTER_BLANK:
        return
    before = list(block.itersiblings(preceding=True))[::-1]
    if not (item.text or "").strip() and not before:
        return
    paragraph = item.makeelement("p")
    paragraph.text, item.text = item.text, None
    paragraph.extend(before)
    item.insert(0, paragraph)


def _tidy_break(element: Element) -> None:
    """A break at the end of a block breaks nothing."""
    if (element.tail or "").strip():
        return
    following, parent = element.getnext(), element.getparent()
    if parent is not None and (parent.tag in BLOCKS if following is None else following.tag in BLOCKS):
        drop(element)
