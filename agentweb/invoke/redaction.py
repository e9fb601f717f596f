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
_WORD = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]*[a-z0-9]+|[A-Z]+")


def _words(name: str) -> tuple[str, ...]:
    # "password2" is a password too.
    return tuple([word.lower().rstrip("0123456789") for word in _WORD.findall(name)])


class _Names:
    """The names to look for: every phrase is looked up in a set, so a name costs as much as it is long."""

    def __init__(self, extra: tuple[str, ...]) -> None:
        phrases = {_words(name) for name in (*BUILT_IN, *extra)} - {()}
        self.phrases = frozenset(phrases)
        self.singles = frozenset(phrase[0] for phrase in phrases if len(phrase) == 1)
        self.sizes = sorted({len(phrase) for phrase in phrases} - {1})
        self.heads = frozenset(phrase[0] for phrase in phrases if len(phrase) > 1)
        # Where none of the first words is, no phrase is: one quick look settles nearly every name.
        starts = _shortest({phrase[0] for phrase in phrases})
        self.maybe = re.compile("|".join(map(re.escape, starts))).search
        # A name without a Latin letter or digit has no words; it is compared as a whole.
        self.wholes = frozenset(name.casefold() for name in extra if not _words(name))

    def have(self, name: str) -> bool:
        if self.maybe(name.lower()) is None:
            return bool(self.wholes) and name.casefold() in self.wholes
        words = _words(name)
        if not self.singles.isdisjoint(words):
            return True
        return not self.heads.isdisjoint(words) and any(
            words[start : start + size] in self.phrases
            for start, word in enumerate(words)
            if word in self.heads
            for size in self.sizes
        )


def _shortest(words: set[str]) -> list[str]:
    """The words that contain none of the others: where none of these is, none of all is."""
    return sorted(word for word in words if not any(one in word for one in words - {word}))


@lru_cache(maxsize=8)
def _names(extra: tuple[str, ...]) -> _Names:
    return _Names(extra)


def is_sensitive(name: str) -> bool:
    """Whether a member of this name is never published."""
    return _names(tuple(conf.get("SENSITIVE_NAMES"))).have(name)


def redact(value: Any) -> tuple[Any, list[str]]:
    """The value without its sensitive members, and the names that were removed.

    Takes and gives plain JSON; what has nothing to hide comes back as the same object.
    """
    removed: list[str] = []
    return _redact(value, _names(tuple(conf.get("SENSITIVE_NAMES"))), {}, removed), removed


def _redact(value: Any, names: _Names, known: dict[str, bool], removed: list[str]) -> Any:
    # ``known`` is of this call: names repeat within a result, and one result must not push out another's.
    if isinstance(value, dict):
        kept: dict[str, Any] = {}
        changed = False
        for name, member in value.items():
            hidden = known.get(name)
            if hidden is None:
                hidden = known[name] = names.have(name)
            if hidden:
                removed.append(name)
                changed = True
                continue
            is_leaf = not isinstance(member, (dict, list))
            kept[name] = member if is_leaf else _redact(member, names, known, removed)
            changed = changed or kept[name] is not member
        return kept if changed else value
    if isinstance(value, list):
        items = [_redact(item, names, known, removed) for item in value]
        return items if any(new is not old for new, old in zip(items, value, strict=True)) else value
    return value
