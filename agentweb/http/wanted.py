"""Reading what a program asks a person for: scopes and the limits of its spending, for a session or for a grant."""

from __future__ import annotations

from typing import Final

from django.contrib.auth.models import AnonymousUser

from agentweb.access.issuing import check_mandate
from agentweb.catalog.scopes_in_use import scopes_in_use
from agentweb.http.request_members import Note, no_such_member, unknown_names
from agentweb.wire.errors import MoneyError
from agentweb.wire.grant_shape import MAX_SCOPES
from agentweb.wire.grants import Mandate
from agentweb.wire.money import CURRENCIES, format_amount, parse_amount
from agentweb.wire.scopes import check_pattern, covers
from agentweb.wire.strict_json import Json

_MANDATE: Final = ("currency", "per_tx", "total")


def read_scopes(value: Json, note: Note) -> tuple[str, ...]:
    """Patterns, each once; noted is what is none, and what opens nothing that everybody can see."""
    return _scopes(
        value, note, f"scopes is a list of 1 to {MAX_SCOPES} scopes.", "Use the scopes of the manifests."
    )


def read_scopes_or_none(value: Json, note: Note) -> tuple[str, ...]:
    """``read_scopes`` where scopes may be left to the person."""
    return _scopes(
        value,
        note,
        f"scopes is a list of 1 to {MAX_SCOPES} scopes; leave it out to let the person choose.",
        "Use the scopes of the manifests, or leave scopes out to let the person choose.",
    )


def read_mandate(value: Json, note: Note) -> Mandate | None:
    """``{"currency", "per_tx", "total"}``; amounts are texts in the currency's own digits."""
    if not isinstance(value, dict):
        note((), "type", 'mandate is {"currency": "USD", "per_tx": "20.00", "total": "50.00"}.')
        return None
    for name in unknown_names(value, _MANDATE):
        note((name,), "unknown_field", no_such_member(name, _MANDATE))
    currency = value.get("currency")
    if not isinstance(currency, str) or currency not in CURRENCIES:
        note(("currency",), "currency", "currency is an active ISO 4217 code, such as USD.")
        return None
    amounts = {name: _amount(value.get(name), currency, name, note) for name in ("per_tx", "total")}
    per_tx, total = amounts["per_tx"], amounts["total"]
    if per_tx is None or total is None:
        return None
    mandate = Mandate(currency, per_tx, total)
    for each in check_mandate(mandate):
        note((each["field"].removeprefix("mandate."),), each["code"], each["message"])
    return mandate


def _scopes(value: Json, note: Note, shape: str, advice: str) -> tuple[str, ...]:
    if not isinstance(value, list) or not 1 <= len(value) <= MAX_SCOPES:
        note((), "count", shape)
        return ()
    known = [scope for scope in scopes_in_use(AnonymousUser()) if scope]
    for place, pattern in enumerate(value):
        try:
            check_pattern(pattern)
        except ValueError as error:
            note((place,), "format", str(error))
            continue
        if pattern != "*" and not any(covers(str(pattern), scope) for scope in known):
            # Of what only some people may see, nothing is said: they are offered it when scopes are left out.
            note((place,), "unknown_scope", f"No action that everybody can see asks for this scope. {advice}")
    return tuple(dict.fromkeys(map(str, value)))


def _amount(value: Json, currency: str, name: str, note: Note) -> int | None:
    if not isinstance(value, str):
        note((name,), "type", f'{name} is a text such as "{format_amount(2_000, currency)}".')
        return None
    try:
        return parse_amount(value, currency)
    except MoneyError as error:
        note((name,), "amount", error.message)
        return None
