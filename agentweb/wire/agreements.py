"""Agreements on a price: what a site signs when a negotiation ends well (AGENT_ACTIONS 6).

::

    {
        "type": "agent-agreement/0.1",
        "id": "ag_<22>",
        "site": "shop.example",
        "buyer": {"agent": "ed25519:…" or "session:…", "root": "gr_<22>"},
        "terms": {"product_id": "sku-1", "quantity": 2},
        "price": "80.00",
        "currency": "USD",
        "issued_at": 1790000000,
        "expires": 1790003600,
        "single_use": true,
        "kid": "<site key>",
        "sig": "…",
    }

It binds the site only, until ``expires`` and for one purchase of this buyer; ``price`` is for the terms as a whole.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from decimal import Decimal
from typing import Any, Final

from agentweb.wire.canonical import CanonicalError, canonicalize
from agentweb.wire.encoding import b64url_decode
from agentweb.wire.errors import MoneyError
from agentweb.wire.grant_shape import GRANT_ID, SESSION_SUBJECT
from agentweb.wire.money import format_amount, parse_amount
from agentweb.wire.schema.equality import are_equal
from agentweb.wire.signing import SigningKey, parse_public_key, sign_document
from agentweb.wire.site_documents import Keys, what_is_wrong_with_key
from agentweb.wire.strict_json import MAX_SAFE_INTEGER, Json

AGREEMENT_LABEL: Final = "agent-agreement/0.1"
MAX_TERMS: Final = 32
MAX_TERMS_BYTES: Final = 4_096
MAX_TERMS_DEPTH: Final = 8

_ID: Final = re.compile("ag_[A-Za-z0-9_-]{22}")
_KID: Final = re.compile("[A-Za-z0-9_-]{43}")
_MEMBERS: Final = frozenset({
    "type", "id", "site", "buyer", "terms", "price", "currency", "issued_at", "expires", "single_use", "kid", "sig",
})  # fmt: skip


def build_agreement(
    *,
    key: SigningKey,
    id: str,
    site: str,
    agent: str,
    root: str,
    terms: Mapping[str, Any],
    price: int,
    currency: str,
    issued_at: int,
    expires: int,
) -> dict[str, Any]:
    """The signed agreement; ``price`` is minor units. Raises ValueError when the result would be malformed."""
    document = {
        "type": AGREEMENT_LABEL,
        "id": id,
        "site": site,
        "buyer": {"agent": agent, "root": root},
        "terms": dict(terms),
        "price": format_amount(price, currency),
        "currency": currency,
        "issued_at": issued_at,
        "expires": expires,
        "single_use": True,
        "kid": key.thumbprint,
    }
    signed = sign_document(document, key, label=AGREEMENT_LABEL)
    check_agreement(signed)
    return signed


def verify_agreement(document: Json, keys: Keys) -> str | None:
    """Why the agreement is not the site's word, or None; ``keys`` are the manifest's, retired ones included.

    ``malformed``, ``unknown_key``, ``signature`` or ``key_retired``, as of receipts. Whether it is still good, and
    whose it is, is the reader's to see: ``expires``, ``site`` and ``buyer``.
    """
    try:
        agreement = check_agreement(document)
    except ValueError:
        return "malformed"
    return what_is_wrong_with_key(agreement, keys, AGREEMENT_LABEL, agreement["issued_at"])


def check_agreement(document: object) -> dict[str, Any]:
    """The agreement itself, if every member is there and right; ValueError naming the first bad one."""
    # Closed: what the site signs and a reader does not know could change what the rest means.
    if not isinstance(document, dict) or document.keys() != _MEMBERS:
        raise ValueError(f"The members must be exactly {', '.join(sorted(_MEMBERS))}.")
    _demand(document["type"] == AGREEMENT_LABEL, "type")
    _demand(_matches(_ID, document["id"]), "id")
    _demand(isinstance(document["site"], str) and document["site"], "site")
    _check_buyer(document["buyer"])
    check_terms(document["terms"])
    _check_price(document["price"], document["currency"])
    for name in ("issued_at", "expires"):
        _demand(_is_whole(document[name]), name)
    _demand(document["single_use"] is True, "single_use")
    _demand(_matches(_KID, document["kid"]), "kid")
    b64url_decode(document["sig"], length=64)
    return document


def normal_terms(terms: object) -> dict[str, Any]:
    """The terms as they are signed: ``2.0`` is 2. Raises ValueError, with a sentence for whoever wrote them."""
    normal = _normal(terms, 1)
    check_terms(normal)
    assert isinstance(normal, dict)  # noqa: S101 - tells the type
    return normal


def check_terms(terms: object) -> None:
    """Raise ValueError unless these are terms: what is bought, in 1 to 32 members."""
    if not isinstance(terms, dict) or not 0 < len(terms) <= MAX_TERMS:
        raise ValueError(f"terms is an object of 1 to {MAX_TERMS} members that say what is bought.")
    _check_value(terms, 1)
    try:
        size = len(canonicalize(terms))
    except CanonicalError as error:
        raise ValueError(f"terms: {error}") from None
    if size > MAX_TERMS_BYTES:
        raise ValueError(f"terms has {size} bytes as JSON; {MAX_TERMS_BYTES} is the most.")


def terms_hold(terms: Mapping[str, Any], pairs: Mapping[str, Any]) -> bool:
    """Whether the terms have every one of these members, equal as JSON: 1 is not "1", and true is not 1."""
    return all(name in terms and are_equal(terms[name], value) for name, value in pairs.items())


def _normal(value: Any, depth: int) -> Any:
    if depth > MAX_TERMS_DEPTH:
        raise ValueError(f"terms nests at most {MAX_TERMS_DEPTH} levels deep.")
    if isinstance(value, dict):
        return {name: _normal(member, depth + 1) for name, member in value.items()}
    if isinstance(value, (list, tuple)):
        return [_normal(member, depth + 1) for member in value]
    if isinstance(value, (float, Decimal)) and -MAX_SAFE_INTEGER <= value <= MAX_SAFE_INTEGER:
        return int(value) if value == int(value) else value
    return value


def _check_value(value: Any, depth: int) -> None:
    if depth > MAX_TERMS_DEPTH:
        raise ValueError(f"terms nests at most {MAX_TERMS_DEPTH} levels deep.")
    if isinstance(value, dict):
        for name, member in value.items():
            if not isinstance(name, str):
                raise ValueError("The names of members of terms are texts.")
            _check_value(name, depth)
            _check_value(member, depth + 1)
    elif isinstance(value, list):
        for member in value:
            _check_value(member, depth + 1)
    elif isinstance(value, str):
        if "\0" in value:
            raise ValueError("A text in terms has a NUL.")
    elif isinstance(value, bool) or value is None:
        pass
    elif not isinstance(value, int):
        # Signed documents hold no other numbers: programs write these in different ways.
        raise ValueError("Numbers in terms are whole; write any other as a text.")


def _check_buyer(buyer: object) -> None:
    if not isinstance(buyer, dict) or buyer.keys() != {"agent", "root"}:
        raise ValueError("The member buyer has the members agent and root.")
    _demand(isinstance(buyer["agent"], str), "buyer")
    if not SESSION_SUBJECT.fullmatch(buyer["agent"]):
        parse_public_key(buyer["agent"])
    _demand(_matches(GRANT_ID, buyer["root"]), "buyer")


def _check_price(text: object, currency: object) -> None:
    _demand(isinstance(text, str) and isinstance(currency, str), "price")
    try:
        minor = parse_amount(str(text), str(currency))
    except MoneyError:
        raise ValueError("price and currency do not fit.") from None
    _demand(format_amount(minor, str(currency)) == text, "price")


def _is_whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MAX_SAFE_INTEGER


def _matches(pattern: re.Pattern[str], value: object) -> bool:
    return isinstance(value, str) and pattern.fullmatch(value) is not None


def _demand(holds: object, name: str) -> None:
    if not holds:
        raise ValueError(f"The member {name} does not hold what it should.")
