"""What a page says of itself: in its head, though the head's elements are taken wherever they are."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from agentweb.awp.content.characters import in_one_line
from agentweb.awp.content.html.elements import Element, text_of
from agentweb.awp.content.links import absolute
from agentweb.awp.content.robot_tags import NAMES, forbids_index

_ROBOTS: Final = NAMES | {"x-robots-tag"}
_LANGUAGE: Final = re.compile(r"[A-Za-z]{2,8}(?:-[A-Za-z0-9]{1,8}){0,8}")


@dataclass(frozen=True, slots=True)
class Head:
    """Texts are empty where the page has none. ``base`` is what its links are relative to, ``site_name`` how the page
    says that the site is called. ``asks_password`` is whether the page itself does, and not only what stands around its
    content."""

    title: str
    description: str
    language: str
    canonical: str
    is_noindex: bool
    base: str
    asks_password: bool = False
    site_name: str = ""


def head_of(root: Element, url: str) -> Head:
    """Read the page at ``url``."""
    said: dict[str, str] = {}
    is_noindex = False
    for meta in root.iter("meta"):
        name = (meta.get("name") or meta.get("property") or meta.get("http-equiv") or "").strip().lower()
        content = in_one_line(meta.get("content") or "").strip()
        if name in _ROBOTS:
            is_noindex = is_noindex or forbids_index(content, is_header=name == "x-robots-tag")
        elif name and content:
            said.setdefault(name, content)
    titles = (each for each in root.iter("title") if next(each.iterancestors("svg"), None) is None)
    title = next(titles, None)
    base = _base(root, url)
    return Head(
        title=(text_of(title) if title is not None else "") or said.get("og:title", ""),
        description=said.get("description", "") or said.get("og:description", ""),
        language=_language(root, said),
        canonical=_canonical(root, base),
        is_noindex=is_noindex,
        base=base,
        asks_password=any(map(_asks_password, root.iter("input"))),
        site_name=said.get("og:site_name", ""),
    )


def _asks_password(element: Element) -> bool:
    if (element.get("type") or "").strip().lower() != "password":
        return False
    return next(element.iterancestors("header", "nav", "footer", "aside", "dialog"), None) is None


def _base(root: Element, url: str) -> str:
    for element in root.iter("base"):
        href = element.get("href")
        if href is not None:
            found = absolute(href, url)
            return found if found is not None and found.startswith("http") else url
    return url


def _canonical(root: Element, base: str) -> str:
    for link in root.iter("link"):
        if "canonical" in (link.get("rel") or "").lower().split() and link.get("href"):
            return absolute(link.get("href", ""), base) or ""
    return ""


def _language(root: Element, said: dict[str, str]) -> str:
    for candidate in (root.get("lang"), root.get("xml:lang"), said.get("content-language")):
        match = _LANGUAGE.fullmatch((candidate or "").strip())
        if match:
            return match[0]
    return ""
