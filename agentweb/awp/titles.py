"""The titles of pages: what of them is the page's own, and what is the site's name, which templates add to each."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from typing import Final

_SIGNS: Final = r"(?:[|·•–—»~]|-{1,2}|::?)"
_SEPARATOR: Final = re.compile(rf"\s+{_SIGNS}\s+")
_BEGINNING: Final = re.compile(rf"{_SIGNS}\s+")
_FEWEST: Final = 3
"""Of fewer titles nobody can tell what they have in common."""
_NEARLY_ALL: Final = 0.9
_GENERIC: Final = frozenset(
    {
        "front page",
        "frontpage",
        "home",
        "home page",
        "homepage",
        "index",
        "main page",
        "start",
        "start page",
        "welcome",
    }
)


def is_generic(title: str) -> bool:
    """Whether it says which page of a site this is, and not which site."""
    return " ".join(title.lower().split()) in _GENERIC


def own_title(title: str, site_name: str = "") -> str:
    """What of a page's title is its own; empty where it is only the site's name, behind a sign or as the page says it.

    ``site_name`` is empty where the page does not say how the site is called.
    """
    if _BEGINNING.match(title) or title == site_name:
        return ""
    return without(title, site_name)


def without(title: str, ending: str) -> str:
    """The title without the site's name at its end, and the sign before it."""
    if not ending or not title.endswith(ending):
        return title
    rest = title[: -len(ending)]
    found = re.search(rf"\s+{_SIGNS}\s+\Z", rest)
    return title if found is None else rest[: found.start()]


def common_ending(titles: Iterable[str]) -> str:
    """What (nearly) all titles end in behind a sign, ``Tea | Corner Shop``; empty where that is nothing.

    A page that is called that alone, as front pages are, has it too.
    """
    endings: Counter[str] = Counter()
    alone: Counter[str] = Counter()
    total = 0
    for title in titles:
        total += 1
        pieces = _SEPARATOR.split(title)
        (endings if len(pieces) > 1 else alone)[pieces[-1]] += 1
    if total < _FEWEST or not endings:
        return ""
    ending, times = endings.most_common(1)[0]
    return ending if times > 1 and times + alone[ending] >= _NEARLY_ALL * total else ""
