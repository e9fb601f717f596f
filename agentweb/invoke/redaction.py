"""Secrets leave no action: members named like a password, token or card number are removed at any depth.

Names are compared by word, in snake_case, camelCase and kebab-case: ``apiKey``, ``API-KEY`` and ``my_api_key``
all contain the words "api key"; ``tokens_used`` and ``secretary`` do not contain "token" or "secret".
The built-in list cannot be switched off; AGENTWEB["SENSITIVE_NAMES"] adds to it.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any, Final

from agentweb import conf

BUILT_IN: Final = (
    "password",
    "passwords",
    "passwd",
    "passphrase",
    "pwd",
    "secret",
    "secrets",
    "secret key",
    "token",
    "api key",
    "api keys",
    "apikey",
    "access key",
    "private key",
    "credential",
    "credentials",
    "credit card",
    "card number",
    "cvv",
    "cvc",
    "csrf",
    "session key",
    "authorization",
)
_BOUNDARY = re.compile(r"[^A-Za-z0-9]+|(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


def _words(name: str) -> tuple[str, ...]:
    # "password2" is a password too.
    return tuple(word.lower().rstrip("0123456789") for word in _BOUNDARY.split(name) if word)


@lru_cache(maxsize=8)
def _phrases(extra: tuple[str, ...]) -> tuple[tuple[str, ...], ...]:
    return tuple(_words(name) for name in (*BUILT_IN, *extra))


@lru_cache(maxsize=4096)
def _is_sensitive(name: str, extra: tuple[str, ...]) -> bool:
    words = _words(name)
    for phrase in _phrases(extra):
        size = len(phrase)
        if any(words[start : start + size] == phrase for start in range(len(words) - size + 1)):
            return True
    return False


def is_sensitive(name: str) -> bool:
    """Whether a member of this name is never published."""
    return _is_sensitive(name, tuple(conf.get("SENSITIVE_NAMES")))


def redact(value: Any) -> tuple[Any, list[str]]:
    """The value without its sensitive members, and the names that were removed.

    Takes and gives plain JSON; what has nothing to hide comes back as the same object.
    """
    removed: list[str] = []
    return _redact(value, tuple(conf.get("SENSITIVE_NAMES")), removed), removed


def _redact(value: Any, extra: tuple[str, ...], removed: list[str]) -> Any:
    if isinstance(value, dict):
        kept: dict[str, Any] = {}
        changed = False
        for name, member in value.items():
            if _is_sensitive(name, extra):
                removed.append(name)
                changed = True
                continue
            kept[name] = _redact(member, extra, removed)
            changed = changed or kept[name] is not member
        return kept if changed else value
    if isinstance(value, list):
        items = [_redact(item, extra, removed) for item in value]
        return items if any(new is not old for new, old in zip(items, value, strict=True)) else value
    return value
