"""What a receipt and a signed head look like, closed (AGENT_ACTIONS 4 and its clarification on heads).

Both checks raise ValueError naming the first bad member; signatures and links are ``receipts``' subject.
"""

from __future__ import annotations

import re
from typing import Any, Final

from agentweb.wire.encoding import b64url_decode
from agentweb.wire.errors import MoneyError
from agentweb.wire.grant_shape import GRANT_ID, SESSION_SUBJECT
from agentweb.wire.money import format_amount, parse_amount
from agentweb.wire.signing import parse_public_key
from agentweb.wire.strict_json import MAX_SAFE_INTEGER

RECEIPT_LABEL: Final = "agent-receipt/0.1"
HEAD_LABEL: Final = "agent-receipts-head/0.1"
MAX_TEXT: Final = 1_000
"""Characters of ``item`` and ``reason``."""

_ID: Final = "[A-Za-z0-9_-]{22}"
_HASH: Final = re.compile(r"sha256:[0-9a-f]{64}")
_SURROGATE: Final = re.compile(r"[\ud800-\udfff]")
_KID: Final = re.compile(r"[A-Za-z0-9_-]{43}")
_PATTERNS: Final = {
    "id": re.compile(f"rc_{_ID}"),
    "kind": re.compile("charge|refund"),
    "request": re.compile(f"rq_{_ID}"),
    "grant": GRANT_ID,
    "root": GRANT_ID,
    "kid": _KID,
}
_OPTIONAL_PATTERNS: Final = {
    "prev": _HASH,
    "agreement": re.compile(f"ag_{_ID}"),
    "refund_of": re.compile(f"rc_{_ID}"),
}
_RECEIPT_MEMBERS: Final = frozenset({
    "type", "id", "kind", "site", "seq", "prev", "issued_at", "action", "request", "agent",
    "grant", "root", "item", "amount", "currency", "agreement", "refund_of", "reason", "kid", "sig",
})  # fmt: skip
_HEAD_MEMBERS: Final = frozenset({"type", "site", "seq", "hash", "at", "kid", "sig"})


def check_receipt(document: object) -> dict[str, Any]:
    """The receipt itself, if every member is there and right."""
    receipt = _check_common(document, RECEIPT_LABEL, _RECEIPT_MEMBERS)
    for name, pattern in _PATTERNS.items():
        _demand(isinstance(receipt[name], str) and pattern.fullmatch(receipt[name]), name)
    for name, pattern in _OPTIONAL_PATTERNS.items():
        value = receipt[name]
        _demand(value is None or (isinstance(value, str) and pattern.fullmatch(value)), name)
    _check_integer(receipt["seq"], "seq", 1)
    _check_integer(receipt["issued_at"], "issued_at", 0)
    _demand((receipt["prev"] is None) == (receipt["seq"] == 1), "prev")
    _demand((receipt["refund_of"] is None) == (receipt["kind"] == "charge"), "refund_of")
    _check_text(receipt["action"], "action", 1)
    _check_text(receipt["item"], "item", 0)
    if receipt["reason"] is not None:
        _check_text(receipt["reason"], "reason", 0)
    _check_agent(receipt["agent"])
    _check_amount(receipt["amount"], receipt["currency"])
    return receipt


def check_head(document: object, label: str = HEAD_LABEL) -> dict[str, Any]:
    """The head itself, if every member is there and right; ``label`` says of what."""
    head = _check_common(document, label, _HEAD_MEMBERS)
    _check_integer(head["seq"], "seq", 0)
    _check_integer(head["at"], "at", 0)
    _demand(isinstance(head["kid"], str) and _KID.fullmatch(head["kid"]), "kid")
    if head["seq"] == 0:
        _demand(head["hash"] is None, "hash")
    else:
        _demand(isinstance(head["hash"], str) and _HASH.fullmatch(head["hash"]), "hash")
    return head


def _check_common(document: object, label: str, members: frozenset[str]) -> dict[str, Any]:
    # Closed: what the site signs and a reader does not know could change what the rest means.
    if not isinstance(document, dict) or document.keys() != members:
        raise ValueError(f"The members must be exactly {', '.join(sorted(members))}.")
    _demand(document["type"] == label, "type")
    _check_text(document["site"], "site", 1)
    b64url_decode(document["sig"], length=64)
    return document


def _check_integer(value: object, name: str, least: int) -> None:
    _demand(
        isinstance(value, int) and not isinstance(value, bool) and least <= value <= MAX_SAFE_INTEGER, name
    )


def _check_text(value: object, name: str, least: int) -> None:
    _demand(isinstance(value, str) and least <= len(value) <= MAX_TEXT, name)
    # A lone surrogate is no text and has no canonical form.
    _demand(not _SURROGATE.search(str(value)), name)


def _check_agent(value: object) -> None:
    _demand(isinstance(value, str), "agent")
    if not SESSION_SUBJECT.fullmatch(str(value)):
        parse_public_key(str(value))


def _check_amount(text: object, currency: object) -> None:
    _demand(isinstance(text, str) and isinstance(currency, str), "amount")
    try:
        minor = parse_amount(str(text), str(currency))
    except MoneyError:
        raise ValueError("amount and currency do not fit.") from None
    _demand(format_amount(minor, str(currency)) == text, "amount")


def _demand(holds: object, name: str) -> None:
    if not holds:
        raise ValueError(f"The member {name} does not hold what it should.")
