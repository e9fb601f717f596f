"""Which of the languages that content is kept in a reader asks for."""

from __future__ import annotations

from typing import Final

from django.utils.translation.trans_real import parse_accept_lang_header

from agentweb.awp.content import languages

_MOST: Final = 20
"""Languages of one Accept-Language that are looked at."""


def readable(accept_language: str) -> tuple[str, ...]:
    """The kept languages that an Accept-Language header asks for, best first; then the site's own."""
    site = languages.of_the_site()
    if len(site.kept) < 2 or not accept_language:
        return site.kept[:1]
    try:
        asked = [code for code, _quality in parse_accept_lang_header(accept_language)[:_MOST]]
    except ValueError:
        asked = []
    found = [each for code in asked for each in _like(code, site.kept)]
    return tuple(dict.fromkeys([*found, site.kept[0]]))


def are_several() -> bool:
    """Whether documents differ by language."""
    return len(languages.of_the_site().kept) > 1


def _like(code: str, kept: tuple[str, ...]) -> list[str]:
    """RFC 4647 3.4, and the other way: ``nl-be`` is content with ``nl``, and ``en`` with ``en-gb``."""
    if code == "*" or code in kept:
        return [code] if code in kept else []
    base = code.partition("-")[0]
    return [each for each in kept if each.partition("-")[0] == base]
