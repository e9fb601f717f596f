"""The signed agreement: its exact members, what refuses it, and what terms may be."""

from __future__ import annotations

import hashlib
from decimal import Decimal
from typing import Any

import pytest

from agentweb.wire.agreements import (
    AGREEMENT_LABEL,
    build_agreement,
    check_agreement,
    normal_terms,
    verify_agreement,
)
from agentweb.wire.receipts import verify_receipt
from agentweb.wire.signing import SigningKey, jwk, sign_document

SITE = SigningKey.from_seed(hashlib.sha256(b"site").digest())
AGENT = SigningKey.from_seed(hashlib.sha256(b"agent").digest())
ISSUED = 1_790_000_000
KEYS = [jwk(SITE.public)]


def agreement(**changes: Any) -> dict[str, Any]:
    members: dict[str, Any] = {
        "key": SITE,
        "id": "ag_" + "A" * 22,
        "site": "shop.example",
        "agent": AGENT.public,
        "root": "gr_" + "R" * 22,
        "terms": {"product_id": "sku-1", "quantity": 2},
        "price": 80_00,
        "currency": "USD",
        "issued_at": ISSUED,
        "expires": ISSUED + 3_600,
    }
    return build_agreement(**(members | changes))


def test_an_agreement_is_the_document_of_the_specification() -> None:
    assert {name: value for name, value in agreement().items() if name != "sig"} == {
        "type": "agent-agreement/0.1",
        "id": "ag_" + "A" * 22,
        "site": "shop.example",
        "buyer": {"agent": AGENT.public, "root": "gr_" + "R" * 22},
        "terms": {"product_id": "sku-1", "quantity": 2},
        "price": "80.00",
        "currency": "USD",
        "issued_at": ISSUED,
        "expires": ISSUED + 3_600,
        "single_use": True,
        "kid": SITE.thumbprint,
    }
    assert verify_agreement(agreement(), KEYS) is None


def test_every_change_breaks_the_signature() -> None:
    document = agreement()
    changes: dict[str, Any] = {
        "id": "ag_" + "B" * 22,
        "site": "other.example",
        "buyer": {"agent": SITE.public, "root": "gr_" + "R" * 22},
        "terms": {"product_id": "sku-2", "quantity": 2},
        "price": "8.00",
        "currency": "EUR",
        "issued_at": ISSUED + 1,
        "expires": ISSUED + 3_601,
    }
    for name, value in changes.items():
        assert verify_agreement({**document, name: value}, KEYS) == "signature", name


def test_a_signature_under_another_label_is_none() -> None:
    document = sign_document(agreement(), SITE, label="agent-receipt/0.1")
    assert verify_agreement(document, KEYS) == "signature"
    assert verify_receipt(agreement(), KEYS) == "malformed"


def test_a_key_that_is_not_the_sites_or_was_retired_before_is_said() -> None:
    assert verify_agreement(agreement(key=AGENT), KEYS) == "unknown_key"
    assert verify_agreement(agreement(), [jwk(SITE.public, not_after=ISSUED - 1)]) == "key_retired"
    assert verify_agreement(agreement(), [jwk(SITE.public, not_after=ISSUED)]) is None


@pytest.mark.parametrize(
    "change",
    [
        {"type": "agent-agreement/0.2"},
        {"id": "ag_short"},
        {"site": ""},
        {"buyer": {"agent": "ed25519:x", "root": "gr_" + "R" * 22}},
        {"buyer": {"agent": AGENT.public}},
        {"buyer": {"agent": AGENT.public, "root": ""}},
        {"terms": {}},
        {"terms": {"weight": 0.5}},
        {"price": "80.0"},
        {"price": 80},
        {"price": "0.00"},
        {"currency": "usd"},
        {"issued_at": True},
        {"expires": -1},
        {"single_use": False},
        {"single_use": 1},
        {"kid": "x"},
        {"more": 1},
    ],
    ids=lambda change: "-".join(f"{name}={value}"[:40] for name, value in change.items()),
)
def test_any_other_shape_is_malformed_also_when_signed(change: dict[str, Any]) -> None:
    document = sign_document({**agreement(), **change}, SITE, label=AGREEMENT_LABEL)
    assert verify_agreement(document, KEYS) == "malformed"
    with pytest.raises(ValueError, match=r"\w"):
        check_agreement(document)


def test_terms_are_signed_with_whole_numbers_as_such() -> None:
    given = {"a": Decimal("2.0"), "b": 3.0, "c": [Decimal(4)], "d": True, "e": None, "f": "5.0"}
    normal = normal_terms(given)
    assert normal == {"a": 2, "b": 3, "c": [4], "d": True, "e": None, "f": "5.0"}
    assert [type(normal[name]) for name in ("a", "b", "d")] == [int, int, bool]


def deep(levels: int) -> Any:
    value: Any = "x"
    for _ in range(levels):
        value = {"in": value}
    return value


@pytest.mark.parametrize(
    ("terms", "said"),
    [
        ([], "1 to 32 members"),
        ({}, "1 to 32 members"),
        ({str(number): 1 for number in range(33)}, "1 to 32 members"),
        ({"a": Decimal("0.5")}, "whole"),
        ({"a": 1e300}, "whole"),
        ({"a": float("nan")}, "whole"),
        ({"a": Decimal("1e30")}, "whole"),
        ({"a": 2**53}, "terms: "),
        ({"a": "\0"}, "NUL"),
        ({"a\0": 1}, "NUL"),
        ({1: "a"}, "texts"),
        ({"a": "\ud800"}, "terms: "),
        ({"a": "x" * 4_096}, "bytes as JSON"),
        (deep(9), "8 levels"),
        ({"a": {1, 2}}, "whole"),
    ],
    ids=[
        "list", "empty", "many", "half", "large", "nan", "power", "unsafe", "nul", "nul name", "number name",
        "surrogate", "long", "deep", "set",
    ],
)  # fmt: skip
def test_what_are_no_terms_is_said_in_a_sentence(terms: Any, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        normal_terms(terms)
