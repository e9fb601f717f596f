"""Which of the languages that content is kept in a reader asks for: by name in the address, else by Accept-Language.

Where there are several, every address that we write names the language of what it was written for, so that it leads
there whatever its reader sends along.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final
from urllib.parse import urlencode

from django.utils.translation.trans_real import parse_accept_lang_header

from agentweb.awp.content.languages import of_the_site
from agentweb.http import queries
from agentweb.wire.schema import CompiledSchema, compile_schema

PARAMETER: Final = "lang"
"""Of a query string."""

_MOST: Final = 20
"""Languages of one Accept-Language that are looked at."""


def readable(accept_language: str) -> tuple[str, ...]:
    """The kept languages that an Accept-Language header asks for, best first; then the site's own."""
    site = of_the_site()
    if len(site.kept) < 2 or not accept_language:
        return site.kept[:1]
    try:
        asked = [code for code, _quality in parse_accept_lang_header(accept_language)[:_MOST]]
    except ValueError:
        asked = []
    found = [each for code in asked for each in _like(code, site.kept)]
    return tuple(dict.fromkeys([*found, site.kept[0]]))


def named(asked: list[tuple[str, str]]) -> str:
    """The language that the values of a query string name; empty where they name none.

    Raises invalid_parameter for one that this site does not have.
    """
    found = [(name, value.lower()) for name, value in asked if name == PARAMETER]
    return str(queries.typed(found, _schema(of_the_site().kept))[PARAMETER]) if found else ""


def address(url: str, language: str, **more: int) -> str:
    """The address of what is at ``url`` in this language, which is named where there are several."""
    pairs = [(PARAMETER, language)] if are_several() else []
    query = urlencode([*pairs, *more.items()])
    return f"{url}?{query}" if query else url


@lru_cache(maxsize=8)
def _schema(kept: tuple[str, ...]) -> CompiledSchema:
    return compile_schema({"type": "object", "properties": {PARAMETER: {"type": "string", "enum": [*kept]}}})


def are_several() -> bool:
    """Whether documents differ by language."""
    return len(of_the_site().kept) > 1


def _like(code: str, kept: tuple[str, ...]) -> list[str]:
    """RFC 4647 3.4, and the other way: ``nl-be`` is content with ``nl``, and ``en`` with ``en-gb``."""
    if code == "*" or code in kept:
        return [code] if code in kept else []
    base = code.partition("-")[0]
    return [each for each in kept if each.partition("-")[0] == base]
