"""The languages in which content is kept, and those that a reader asks for."""

from __future__ import annotations

from typing import Final

from django.conf import settings
from django.utils.translation.trans_real import parse_accept_lang_header

from agentweb import conf
from agentweb.http.mount import is_language_read

_MOST: Final = 20
"""Languages of one Accept-Language that are looked at."""


def kept() -> tuple[str, ...]:
    """The languages in which content is kept, LANGUAGE_CODE first where it is among them.

    Without the setting they are those that the site itself sets in LANGUAGES, if its requests have one of them each.
    Django's own LANGUAGES are all that it was ever translated into, and say nothing of the site.
    """
    own = settings.LANGUAGE_CODE
    wanted = conf.get_in("AWP", "LANGUAGES")
    if wanted is None:
        is_chosen = settings.USE_I18N and settings.is_overridden("LANGUAGES")
        is_read = is_language_read(tuple(settings.MIDDLEWARE))
        wanted = [code for code, _name in settings.LANGUAGES] if is_chosen and is_read else [own]
    return tuple(sorted(dict.fromkeys(wanted), key=lambda code: code.lower() != own.lower()))


def readable(accept_language: str) -> tuple[str, ...]:
    """The languages among ``kept()`` that an Accept-Language header asks for, best first; then the site's own."""
    there = kept()
    if len(there) == 1 or not accept_language:
        return there[:1]
    try:
        asked = [code for code, _quality in parse_accept_lang_header(accept_language)[:_MOST]]
    except ValueError:
        asked = []
    found = [each for code in asked for each in _like(code, there)]
    return tuple(dict.fromkeys([*found, there[0]]))


def _like(code: str, there: tuple[str, ...]) -> list[str]:
    """RFC 4647 3.4, and the other way: ``nl-be`` is content with ``nl``, and ``en`` with ``en-gb``."""
    exact = [each for each in there if each.lower() == code]
    if exact or code == "*":
        return exact
    base = code.partition("-")[0]
    return [each for each in there if each.lower() == base or each.lower().partition("-")[0] == base]
