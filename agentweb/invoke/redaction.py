"""Secrets leave no action and no page: members named like one are removed at any depth, and hashes of passwords in
any text.

The built-in list of names (``secret_names``) cannot be switched off; AGENTWEB["SENSITIVE_NAMES"] adds to it.
"""

from __future__ import annotations

from typing import Any, Final

from agentweb import conf
from agentweb.invoke.password_hashes import without_password_hashes
from agentweb.invoke.secret_names import SecretNames, Verdict, is_card, is_card_number, secret_names

A_HASH: Final = "the hash of a password"
"""Stands among the names of what was removed, for a text that had one in it."""


def is_sensitive(name: str) -> bool:
    """Whether a member of this name is never published."""
    return _names().verdict(name) is Verdict.SECRET


def redact(value: Any) -> tuple[Any, list[str]]:
    """The value without its sensitive members, and the names that were removed.

    Takes and gives plain JSON; what has nothing to hide comes back as the same object.
    """
    removed: list[str] = []
    return _redact(value, _names(), {}, removed), removed


def _names() -> SecretNames:
    return secret_names(tuple(conf.get("SENSITIVE_NAMES")))


def _redact(
    value: Any, names: SecretNames, known: dict[str, Verdict], removed: list[str], *, of_card: bool = False
) -> Any:
    # ``known`` is of this call: names repeat within a result, and one result must not push out another's.
    if isinstance(value, str):
        return _text(value, removed)
    if isinstance(value, dict):
        kept: dict[str, Any] = {}
        changed = False
        for name, member in value.items():
            verdict = known.get(name)
            if verdict is None:
                verdict = known[name] = names.verdict(name)
            if (
                verdict is Verdict.SECRET
                or (verdict is Verdict.COUNT and _has_texts(member))
                or (of_card and is_card_number(name, member))
            ):
                removed.append(name)
                changed = True
                continue
            shown = _text(name, removed)
            kept[shown] = (
                _redact(member, names, known, removed, of_card=is_card(name)) if _may_hide(member) else member
            )
            changed = changed or kept[shown] is not member or shown is not name
        return kept if changed else value
    if isinstance(value, list):
        items = [
            _redact(item, names, known, removed, of_card=of_card) if _may_hide(item) else item
            for item in value
        ]
        return items if any(new is not old for new, old in zip(items, value, strict=True)) else value
    return value


def _may_hide(value: Any) -> bool:
    return isinstance(value, (dict, list, str))


def _has_texts(value: Any) -> bool:
    """Tokens themselves, and not how many there are."""
    return isinstance(value, str) or (
        isinstance(value, list) and any(isinstance(item, str) for item in value)
    )


def _text(text: str, removed: list[str]) -> str:
    shown = without_password_hashes(text)
    if shown is not text and shown != text:
        removed.append(A_HASH)
        return shown
    return text
