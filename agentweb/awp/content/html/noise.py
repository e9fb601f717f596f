"""What is on a page beside its content: what nobody sees, what does something, what leads elsewhere or asks consent."""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import urlsplit

from agentweb.awp.content.characters import in_one_line
from agentweb.awp.content.html.elements import Element, become, classes, contains, drop, is_attached, rename
from agentweb.awp.content.html.hiding import hides_text, is_hidden, shows_text
from agentweb.awp.content.html.styles import Styles

_NO_TEXT: Final = frozenset(
    {
        "script", "style", "template", "noscript", "noframes", "iframe", "frame", "frameset", "object", "embed",
        "applet", "canvas", "svg", "audio", "video", "map", "link", "meta", "base", "title", "source",
        "track", "param", "textarea", "select", "option", "optgroup", "datalist", "button", "dialog", "progress",
        "meter", "menuitem", "portal",
    }
)  # fmt: skip
_NO_SIZE: Final = re.compile(r"[01](?:px)?")
_ROLES: Final = frozenset(
    {
        "navigation", "banner", "contentinfo", "search", "complementary", "dialog", "alertdialog", "menu", "menubar",
        "toolbar", "doc-toc",
    }
)  # fmt: skip
_CLASSES: Final = frozenset(
    {"breadcrumb", "breadcrumbs", "skip-link", "skiplink", "skip-to-content", "skip-nav", "skip-to-main"}
)
_CONSENT: Final = re.compile(
    r"(?:^|[\s_-])(?:(?:cookie|consent|gdpr|ccpa)s?[-_]?(?:\w{1,20}[-_])?(?:banner|bar|notice|consent|popup|modal|dialog"
    r"|overlay|message|wall|law|alert|manager|settings|preferences)|cc[-_](?:window|banner)|cmplz[\w-]*|qc-cmp2?[\w-]*"
    r"|osano-cm[\w-]*|truste[-_][\w-]*)(?:$|[\s_-])"
    r"|onetrust|cookiebot|cookieconsent|usercentrics|didomi-",
    re.IGNORECASE,
)
_SECTIONS: Final = ("article", "main", "section", "blockquote", "figure", "details", "td")


def drop_unseen(root: Element) -> None:
    """Take out what no reader sees, or sees and cannot read: hidden elements, scripts, forms and their controls."""
    styles, around_content = Styles(root), _around(root, "main", "article", "h1")
    for element in list(root.iter()):
        tag = element.tag
        if tag in {"html", "body"} or not is_attached(element):
            continue
        style = styles.of(element) if tag not in _NO_TEXT or tag == "iframe" else {}
        if tag == "iframe" and _has_size(element) and not is_hidden(element, style, has_content=False):
            _link_to(element)
        elif tag in _NO_TEXT or is_hidden(element, style, has_content=element in around_content):
            drop(element)
        elif style and hides_text(style):
            _silence(element, styles)
        elif tag == "head":
            # Where a page has no <body> tag, libxml2 leaves elements that are newer than it here.
            rename(element, "div")
        elif tag == "form":
            # One around the whole page is no form in a page.
            if element in around_content:
                rename(element, "div")
            else:
                drop(element)
        elif tag == "input" and not _is_task(element):
            drop(element)


def drop_surroundings(root: Element, *, is_body: bool) -> None:
    """Take out of the content what is not its own: navigation, consent, and what stands beside an article.

    Of a whole body, its header, footer and asides are not its own either.
    """
    has_article = contains(root, ("article",))
    for element in list(root.iterdescendants()):
        if is_attached(element) and _is_beside(element, is_body=is_body, has_article=has_article):
            drop(element)


def _has_size(frame: Element) -> bool:
    """Whether it shows another page, such as a film or a map, and is not what counts visitors."""
    sizes = (frame.get("width") or "", frame.get("height") or "")
    return not any(_NO_SIZE.fullmatch(each.strip()) for each in sizes)


def _link_to(frame: Element) -> None:
    """What is shown in a frame is not read here; where it is, is."""
    url = (frame.get("src") or frame.get("data-src") or "").strip()
    try:
        parts = urlsplit(url)
    except ValueError:
        drop(frame)
        return
    text = in_one_line(frame.get("title") or "").strip() or parts.netloc
    if not url or parts.scheme not in {"", "http", "https"} or not text:
        drop(frame)
        return
    become(frame, "p")
    link = frame.makeelement("a", href=url)
    link.text = text
    frame.append(link)


def _around(root: Element, *tags: str) -> set[Element]:
    """Elements with any of these names within."""
    found: set[Element] = set()
    for element in root.iter(*tags):
        for above in element.iterancestors():
            if above in found:
                break
            found.add(above)
    return found


def _silence(element: Element, styles: Styles) -> None:
    """Take out its text, and that of what is in it, as far as nothing in it has letters of another size."""
    left = [element]
    while left:
        silent = left.pop()
        silent.text = None
        for child in silent:
            child.tail = None
            style = styles.of(child)
            # What hides its own has its turn.
            if not shows_text(style) and not hides_text(style):
                left.append(child)


def _is_task(element: Element) -> bool:
    """Whether it is the box of a list of tasks."""
    return (element.get("type") or "").lower() == "checkbox" and next(
        element.iterancestors("li"), None
    ) is not None


def _is_beside(element: Element, *, is_body: bool, has_article: bool) -> bool:
    tag = element.tag
    if tag in {"nav", "search"}:
        return True
    if tag in {"header", "footer"} and is_body:
        return next(element.iterancestors(*_SECTIONS), None) is None
    if tag == "aside" and (is_body or has_article) and next(element.iterancestors("article"), None) is None:
        return (element.get("role") or "") not in {"note", "doc-footnote", "doc-tip"}
    if not element.attrib:
        return False
    if (element.get("role") or "").strip().lower() in _ROLES:
        return True
    return any(each in _CLASSES for each in classes(element)) or _asks_consent(element)


def _asks_consent(element: Element) -> bool:
    names = f"{element.get('id') or ''} {element.get('class') or ''}"
    return (
        len(names) > 1 and bool(_CONSENT.search(names)) and not contains(element, ("main", "article", "h1"))
    )
