"""What a request for a site-issued grant must be like; everything that is wrong with it, at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from agentweb.access.models import Revocation
from agentweb.wire.grant_shape import MAX_DELEGATE, MAX_NOTE, MAX_SCOPES, SESSION_SUBJECT
from agentweb.wire.grants import Mandate
from agentweb.wire.money import CURRENCIES, MAX_MINOR
from agentweb.wire.scopes import check_pattern
from agentweb.wire.signing import parse_public_key


def problem(field: str, code: str, message: str) -> dict[str, Any]:
    """One entry of ``problems``; ``field`` is dotted, ``""`` for the request as a whole."""
    pointer = "".join(f"/{part}" for part in field.split(".")) if field else ""
    return {"pointer": pointer, "field": field, "code": code, "message": message}


def check_request(
    *,
    subject: str,
    scopes: Sequence[str],
    expires_in: int,
    longest: int,
    mandate: Mandate | None,
    delegate: int,
    one_time: bool,
    user: Any,
    note: str,
) -> list[dict[str, Any]]:
    """Problems of the arguments of ``grants.issue``; ``longest`` is the longest life in seconds."""
    problems = [*_of_subject(subject), *_of_scopes(scopes)]
    if not _is_whole(expires_in, 1, longest):
        problems.append(problem("expires_in", "range", f"A grant lives 1 to {longest} seconds."))
    if mandate is not None:
        problems += _of_mandate(mandate)
    if not _is_whole(delegate, 0, MAX_DELEGATE):
        problems.append(problem("delegate", "range", f"delegate is a whole number from 0 to {MAX_DELEGATE}."))
    if not isinstance(one_time, bool):
        problems.append(problem("one_time", "type", "one_time is True or False."))
    if user is not None and not getattr(user, "is_active", True):
        problems.append(
            problem("user", "inactive", "The person is not active; a grant would count for nothing.")
        )
    if not isinstance(note, str) or len(note) > MAX_NOTE or not (note == "" or note.isprintable()):
        problems.append(problem("note", "format", f"A note is one line of at most {MAX_NOTE} characters."))
    return problems


def check_mandate(mandate: Mandate) -> list[dict[str, Any]]:
    """Problems of the limits of a mandate; fields begin with ``mandate.``."""
    return _of_mandate(mandate)


def _of_subject(subject: str) -> list[dict[str, Any]]:
    if isinstance(subject, str) and SESSION_SUBJECT.fullmatch(subject):
        return []
    try:
        parse_public_key(subject)
    except ValueError as error:
        return [problem("subject", "format", str(error))]
    if Revocation.objects.filter(ident=subject).exists():
        return [problem("subject", "revoked", "This key was revoked; let the agent use another.")]
    return []


def _of_scopes(scopes: Sequence[str]) -> list[dict[str, Any]]:
    if isinstance(scopes, str) or not 1 <= len(scopes) <= MAX_SCOPES:
        return [problem("scopes", "count", f"A grant has 1 to {MAX_SCOPES} scopes.")]
    problems = []
    for place, pattern in enumerate(scopes):
        try:
            check_pattern(pattern)
        except ValueError as error:
            problems.append(problem(f"scopes.{place}", "format", str(error)))
    return problems


def _of_mandate(mandate: Mandate) -> list[dict[str, Any]]:
    if mandate.currency not in CURRENCIES:
        return [
            problem("mandate.currency", "currency", "The currency is an active ISO 4217 code, such as USD.")
        ]
    problems = [
        problem(f"mandate.{name}", "range", f"{name} is more than 0 and at most 10^15 minor units.")
        for name, minor in (("per_tx", mandate.per_tx), ("total", mandate.total))
        if not _is_whole(minor, 1, MAX_MINOR)
    ]
    if not problems and mandate.per_tx > mandate.total:
        problems.append(problem("mandate.per_tx", "range", "per_tx is at most the total."))
    return problems


def _is_whole(value: object, low: int, high: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and low <= value <= high
