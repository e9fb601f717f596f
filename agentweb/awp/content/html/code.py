"""Code: its text without marks of colour and line numbers, and the name of its language."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from typing import Final

from lxml import etree

from agentweb.awp.content.characters import in_one_line, seen
from agentweb.awp.content.html.elements import Element, become, classes, drop, is_attached

_INLINE: Final = ("code", "tt", "kbd", "samp")
_GUTTERS: Final = frozenset(
    {
        "linenos",
        "lineno",
        "linenumber",
        "line-number",
        "line-numbers",
        "line-numbers-rows",
        "gutter",
        "linenodiv",
    }
)
_LANGUAGE: Final = re.compile(
    r"(?:^|\s)(?:language-|lang-|highlight-source-|highlight-|brush:\s*|src-|sourceCode\s+)([a-z0-9][\w+#.-]{0,30})",
    re.IGNORECASE,
)
# What highlighters call code of which nothing is known, and other words they begin so.
_NO_LANGUAGES: Final = frozenset(
    {"default", "none", "text", "plaintext", "plain", "nohighlight", "notranslate", "txt"}
)
_BREAKS: Final = frozenset({"div", "p", "li", "tr"})


def tidy_code(root: Element) -> None:
    """Leave no elements in code, and tell each block's language as its converter reads it."""
    for table in list(root.iter("table")):
        _open_numbered(table)
    for block in list(root.iter("pre")):
        if is_attached(block):
            _tidy_block(block)
    for element in list(root.iter(*_INLINE)):
        parent = element.getparent()
        if parent is not None and parent.tag != "pre":
            _tidy_inline(element)
    _join_adjacent(root)


def _open_numbered(table: Element) -> None:
    """Code beside its line numbers in a table is code and no table."""
    if not any("gutter" in names or "linenos" in names for names in map(classes, table.iter("td"))):
        return
    for element in list(table.iter("table", "tbody", "tr", "td")):
        if element.tag == "td" and not _GUTTERS.isdisjoint(classes(element)):
            drop(element)
        else:
            element.tag = "div"


def _tidy_block(block: Element) -> None:
    language = _language(block)
    text = seen("".join(_texts(block))).replace("\r\n", "\n").strip("\n").rstrip()
    if not text:
        drop(block)
        return
    become(block, "pre")
    code = etree.SubElement(block, "code")
    if language:
        code.set("class", f"language-{language}")
    code.text = text


def _texts(block: Element) -> Iterator[str]:
    """The code in pieces: a line to each element that is shown as one, and no numbers."""
    for element in list(block.iterdescendants()):
        if is_attached(element) and not _GUTTERS.isdisjoint(classes(element)):
            drop(element)
    is_at_start = True
    for event, element in etree.iterwalk(block, events=("start", "end")):
        if event == "start":
            found = "\n" if element.tag == "br" else element.text or ""
            if element.tag in _BREAKS and not is_at_start:
                found = "\n" + found
        elif element is block:
            return
        else:
            found = element.tail or ""
            if element.tag in _BREAKS and not is_at_start:
                found = "\n" + found
        if found:
            is_at_start = found.endswith("\n")
            yield found


def _language(block: Element) -> str:
    """By the class of the block, of the code in it or of what is around it; empty where none of them says it."""
    places = [*block.iter("code"), block, *islice(block.iterancestors("div", "figure"), 2)]
    for element in places:
        said = element.get("data-lang") or element.get("data-language") or ""
        match = _LANGUAGE.search(f"lang-{said}" if said else element.get("class") or "")
        if match and match[1].lower() not in _NO_LANGUAGES:
            return match[1].lower()
    return ""


def _tidy_inline(element: Element) -> None:
    link = element[0] if len(element) == 1 and element[0].tag == "a" else None
    text = in_one_line("".join(element.itertext()))
    if not text.strip():
        become(element, "span", text)
    elif link is not None and (href := link.get("href")) and not (element.text or link.tail or "").strip():
        # A link to the code, with the code in it.
        become(element, "a")
        element.set("href", href)
        etree.SubElement(element, "code").text = text.strip()
    else:
        become(element, "code", text)


def _join_adjacent(root: Element) -> None:
    """Pieces of code with nothing between them are one: their backticks would be taken for one another's."""
    for element in list(root.iter("code")):
        previous = element.getprevious()
        if previous is not None and previous.tag == "code" and not previous.tail:
            continue
        run = [element]
        while not run[-1].tail and (following := run[-1].getnext()) is not None and following.tag == "code":
            run.append(following)
        if len(run) > 1:
            element.text = "".join(each.text or "" for each in run)
            element.tail = run[-1].tail
            for each in run[1:]:
                each.tail = None
                drop(each)
