"""Where our URLs are, wherever the site included them: the one place from which every room takes its prefix."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Final
from urllib.parse import unquote

from django.conf import settings
from django.conf.urls.i18n import is_language_prefix_patterns_used
from django.middleware.locale import LocaleMiddleware
from django.urls import NoReverseMatch, get_script_prefix, get_urlconf, reverse
from django.utils import translation
from django.utils.module_loading import import_string

_MARKS: Final = (
    ("receipts", "/agent-actions/receipts"),
    ("aim-policy", "/v2/policy"),
    ("sessions", "/__aim/sessions"),
    ("awp-manifest", "/awp/manifest.json"),
)
"""URLs of ours by their names and their paths below the include; of each room one, for a site may have some only."""


def mount_prefix(language: str | None = None) -> str:
    """What stands before our paths: the script prefix, and the path under which the site included us.

    No slash at its end; empty for a site at the root of its host. Inside ``i18n_patterns`` it is that of the site's
    own language, whoever asks: what is published has one address, and there it answers everybody. ``language`` asks
    for that of another one.
    """
    return _prefix(get_script_prefix(), get_urlconf() or settings.ROOT_URLCONF, language or sites_language())


def mounted_at() -> str:
    """The path under which this request finds us, as the URLconf sees it: in the active language, and decoded."""
    script_prefix = get_script_prefix()
    prefix = _prefix(script_prefix, get_urlconf() or settings.ROOT_URLCONF, translation.get_language())
    return unquote(f"{prefix}/".removeprefix(script_prefix)).strip("/")


def path_of(name: str) -> str | None:
    """The published path of one of our URLs by its name, None when no such URL is included."""
    return _path(get_script_prefix(), get_urlconf() or settings.ROOT_URLCONF, sites_language(), name)


def _prefix(script_prefix: str, urlconf: Any, language: str | None) -> str:
    for name, below in _MARKS:
        path = _path(script_prefix, urlconf, language, name)
        if path is not None:
            return path.removesuffix(below)
    # Only the well-known URLs are included.
    return script_prefix.rstrip("/")


@lru_cache(maxsize=64)
def _path(script_prefix: str, urlconf: Any, language: str | None, name: str) -> str | None:
    try:
        with translation.override(language):
            return reverse(f"agentweb:{name}", urlconf=urlconf)
    except NoReverseMatch:
        return None


def sites_language() -> str:
    """LANGUAGE_CODE as it stands in URLs: ``en`` for ``en-us`` where LANGUAGES has no other English.

    That is what LocaleMiddleware makes of it when a path says ``en``. Without that middleware, and for the language
    whose paths say none, requests are in LANGUAGE_CODE as it is written.
    """
    code = settings.LANGUAGE_CODE
    if not is_language_read(tuple(settings.MIDDLEWARE)) or not _is_language_written():
        return code
    try:
        return translation.get_supported_language_variant(code)
    except LookupError:
        return code


def _is_language_written() -> bool:
    """Whether paths of LANGUAGE_CODE begin with it, inside ``i18n_patterns``."""
    _is_used, is_written = is_language_prefix_patterns_used(get_urlconf() or settings.ROOT_URLCONF)
    return is_written


@lru_cache(maxsize=64)
def is_language_read(middleware: tuple[str, ...]) -> bool:
    """Whether requests get the language of their path, or the one that they ask for; of ``settings.MIDDLEWARE``."""
    found = map(import_string, middleware)
    return any(isinstance(each, type) and issubclass(each, LocaleMiddleware) for each in found)
