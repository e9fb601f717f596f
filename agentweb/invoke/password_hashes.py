"""Hashes of passwords in a text, known by their form: Django's own, those of its hashers, and those of crypt(3)."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from django.contrib.auth.hashers import get_hashers
from django.core.signals import setting_changed

REMOVED: Final = "[removed]"
"""What stands in place of one."""

# <algorithm>$… of django.contrib.auth.hashers, in whichever way they were written since Django 1.4.
_FORMS: Final = (
    r"pbkdf2_\w+\$\d+\$[^$\s]*\$[A-Za-z0-9+/=]{16,}",
    r"(?:argon2)?\$argon2(?:id|i|d)\$[\w=,.+/$-]{16,}",
    r"(?:bcrypt\w*\$)?\$2[abxy]?\$\d\d\$[./A-Za-z0-9]{20,}",
    r"scrypt\$\d+\$[^$\s]*\$\d+\$\d+\$[A-Za-z0-9+/=]{16,}",
    r"(?:(?:unsalted_)?(?:md5|sha1))\$[^$\s]*\$[0-9a-f]{32,40}",
    # crypt(3): MD5, SHA-256, SHA-512, yescrypt; and Werkzeug's own form of PBKDF2 and scrypt.
    r"\$[156]\$(?:rounds=\d+\$)?[./A-Za-z0-9]{1,16}\$[./A-Za-z0-9]{20,}",
    r"\$(?:y|gy|7)\$[./A-Za-z0-9]+\$[./A-Za-z0-9]+\$[./A-Za-z0-9]{20,}",
    r"(?:pbkdf2:\w+|scrypt)(?::\d+)+\$[^$\s]+\$[0-9a-f]{32,}",
)
_UNUSABLE: Final = re.compile(r"![A-Za-z0-9]{40}")
"""What stands in the column of a person who has no password."""


def without_password_hashes(text: str) -> str:
    """The text with ``[removed]`` for each hash of a password; the same object when there is none."""
    if "$" not in text:
        return REMOVED if text.startswith("!") and _UNUSABLE.fullmatch(text) else text
    return _pattern().sub(REMOVED, text)


@lru_cache(maxsize=1)
def _pattern() -> re.Pattern[str]:
    # What a hasher of the site's own writes has its name before the first "$", as Django's encoding wants it.
    own = sorted({hasher.algorithm or "" for hasher in get_hashers()} - {""})
    forms = [*_FORMS, *(rf"{re.escape(name)}\$[^\s\"']{{16,}}" for name in own)]
    return re.compile(rf"(?<![A-Za-z0-9_])(?:{'|'.join(forms)})")


def _forget(*, setting: str, **kwargs: object) -> None:
    if setting == "PASSWORD_HASHERS":
        _pattern.cache_clear()


setting_changed.connect(_forget)
