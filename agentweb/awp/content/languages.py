"""In which languages a page is there, by its path and by what the site lets visitors choose.

Codes are as in LANGUAGES, ``pt-br``. A language that stands in the path (``i18n_patterns``) is no part of the slug.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass

from django.conf import settings
from django.conf.urls.i18n import is_language_prefix_patterns_used
from django.urls import get_script_prefix
from django.utils import translation

from agentweb import conf
from agentweb.http.mount import is_language_read


@dataclass(frozen=True, slots=True)
class Languages:
    """``default`` is the site's own; ``kept`` are those in which there is content, the default first if it is one."""

    default: str
    kept: tuple[str, ...]
    is_asked_for: bool
    is_in_paths: bool
    is_default_in_paths: bool

    def of(self, path: str) -> tuple[str, ...]:
        """The languages in which the page at ``path`` may be looked at there, those only that are kept."""
        named = self.named_in(path)
        if named is not None:
            return (named,) if named in self.kept else ()
        # LocaleMiddleware: beside paths of other languages, one without is the default's.
        if not self.is_asked_for or (self.is_in_paths and not self.is_default_in_paths):
            return (self.default,) if self.default in self.kept else ()
        return self.kept

    def named_in(self, path: str) -> str | None:
        """The language that the path itself says."""
        if not self.is_in_paths or not self.is_asked_for:
            return None
        found = translation.get_language_from_path(below_script(path.partition("?")[0]))
        return None if found is None else found.lower()

    def below(self, path: str) -> str:
        """The path without the site's script prefix, and without the language."""
        below, named = below_script(path), self.named_in(path)
        if named is None:
            return below
        rest = below[1 + len(named) :]
        return rest if rest.startswith("/") else f"/{rest}"


def below_script(path: str) -> str:
    script = get_script_prefix().rstrip("/")
    return path.removeprefix(script) if path.startswith(f"{script}/") else path


def default() -> str:
    """The site's own language as its pages have it: ``en`` for ``en-us`` where LANGUAGES has no other English."""
    code = settings.LANGUAGE_CODE
    if is_language_read(tuple(settings.MIDDLEWARE)):
        with suppress(LookupError):
            code = translation.get_supported_language_variant(code)
    return code.lower()


def of_the_site() -> Languages:
    own, is_asked_for = default(), is_language_read(tuple(settings.MIDDLEWARE))
    wanted = conf.get_in("AWP", "LANGUAGES")
    if wanted:
        kept = [each.lower() for each in wanted]
    elif is_asked_for and settings.is_overridden("LANGUAGES"):  # type: ignore[misc]
        kept = [code.lower() for code, _name in settings.LANGUAGES]
    else:
        # Django's own list names a hundred languages, in which no site is.
        kept = [own]
    kept.sort(key=lambda each: each != own)
    is_used, is_default_in_paths = is_language_prefix_patterns_used(settings.ROOT_URLCONF)
    return Languages(own, tuple(dict.fromkeys(kept)), is_asked_for, is_used, is_default_in_paths)
