"""Links and images: whole addresses, and none where there is nothing to follow or to read."""

from __future__ import annotations

from typing import Final

from agentweb.awp.content.characters import in_one_line, marked
from agentweb.awp.content.html.elements import (
    HEADINGS,
    Element,
    become,
    classes,
    drop,
    has_content,
    is_attached,
    rename,
    text_of,
)
from agentweb.awp.content.links import absolute

_ANCHORS: Final = frozenset(
    {
        "headerlink",
        "anchor",
        "anchorjs-link",
        "header-anchor",
        "heading-anchor",
        "anchor-link",
        "hash-link",
        "permalink",
    }
)
_ANCHOR_TEXTS: Final = frozenset({"", "¶", "#", "§", "🔗", "∞", "link", "permalink"})
_SOURCES: Final = ("src", "data-src", "data-original", "data-lazy-src")


def tidy_references(root: Element, base: str) -> None:
    """Make every address of ``root`` a whole one, relative to ``base`` so far."""
    for image in list(root.iter("img")):
        _tidy_image(image, base)
    for link in list(root.iter("a")):
        if is_attached(link):
            _tidy_link(link, base)


def _tidy_image(image: Element, base: str) -> None:
    alt = in_one_line(image.get("alt") or "").strip()
    found = (absolute(image.get(name, ""), base) for name in _SOURCES if (image.get(name) or "").strip())
    url = next((each for each in found if each is not None), None)
    # Without a text it is decoration, or nothing that a model could read.
    if not alt:
        drop(image)
    elif url is None or not url.startswith("http"):
        become(image, "span", alt)
    else:
        rename(image, "img")
        image.set("src", url)
        image.set("alt", marked(alt, is_in_link=True))


def _tidy_link(link: Element, base: str) -> None:
    href = link.get("href")
    if _is_anchor(link):
        drop(link)
        return
    url = None if href is None else absolute(href, base)
    rename(link, "a")
    if url is None or not has_content(link):
        link.tag = "span"
        return
    heading = next(link.iterdescendants(*HEADINGS), None)
    if heading is None:
        link.set("href", url)
        return
    # A link around a heading and more, as around a card: the heading is the link.
    link.tag = "div"
    inner = heading.makeelement("a", href=url)
    inner.text, heading.text = heading.text, None
    inner.extend(list(heading))
    heading.append(inner)


def _is_anchor(link: Element) -> bool:
    """Whether it only gives a heading an address."""
    if not (link.get("href") or "").startswith("#"):
        return False
    text = text_of(link).lower()
    if not _ANCHORS.isdisjoint(classes(link)):
        return text in _ANCHOR_TEXTS
    return text in _ANCHOR_TEXTS and next(link.iterancestors(*HEADINGS, "dt"), None) is not None
