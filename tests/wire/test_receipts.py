from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentweb.wire.canonical import canonicalize
from agentweb.wire.encoding import b64url
from agentweb.wire.errors import AgentError
from agentweb.wire.receipts import (
    HEAD_LABEL,
    RECEIPT_LABEL,
    build_receipt,
    receipt_hash,
    sign_head,
    verify_chain,
    verify_head,
    verify_receipt,
)
from agentweb.wire.signing import SigningKey, jwk, sign_document
from agentweb.wire.strict_json import loads
from tests.support.examples import examples

SITE = SigningKey.from_seed(hashlib.sha256(b"site").digest())
OLD = SigningKey.from_seed(hashlib.sha256(b"old site key").digest())
AGENT = SigningKey.from_seed(hashlib.sha256(b"agent").digest())
ISSUED = 1_790_000_123
KEYS = [jwk(SITE.public)]


def charge(seq: int = 1, prev: str | None = None, **changes: Any) -> dict[str, Any]:
    members: dict[str, Any] = {
        "key": SITE,
        "id": f"rc_{seq:022d}",
        "kind": "charge",
        "site": "shop.example",
        "seq": seq,
        "prev": prev,
        "issued_at": ISSUED + seq,
        "action": "checkout",
        "request": "rq_" + "R" * 22,
        "agent": AGENT.public,
        "grant": "gr_" + "L" * 22,
        "root": "gr_" + "T" * 22,
        "item": "sku-1",
        "amount": 19_99,
        "currency": "USD",
    }
    return build_receipt(**(members | changes))


def log(count: int) -> list[dict[str, Any]]:
    receipts: list[dict[str, Any]] = []
    for seq in range(1, count + 1):
        receipts.append(charge(seq, receipt_hash(receipts[-1]) if receipts else None))
    return receipts


def head_of(receipts: list[dict[str, Any]], **changes: Any) -> dict[str, Any]:
    last = receipts[-1] if receipts else None
    members: dict[str, Any] = {
        "key": SITE,
        "site": "shop.example",
        "seq": last["seq"] if last else 0,
        "hash": receipt_hash(last) if last else None,
        "at": ISSUED + 1000,
    }
    return sign_head(**(members | changes))


# --- one receipt ---


def test_receipt_is_the_document_of_the_specification() -> None:
    assert {name: value for name, value in charge().items() if name != "sig"} == {
        "type": "agent-receipt/0.1",
        "id": "rc_" + "1".rjust(22, "0"),
        "kind": "charge",
        "site": "shop.example",
        "seq": 1,
        "prev": None,
        "issued_at": 1_790_000_124,
        "action": "checkout",
        "request": "rq_" + "R" * 22,
        "agent": AGENT.public,
        "grant": "gr_" + "L" * 22,
        "root": "gr_" + "T" * 22,
        "item": "sku-1",
        "amount": "19.99",
        "currency": "USD",
        "agreement": None,
        "refund_of": None,
        "reason": None,
        "kid": SITE.thumbprint,
    }


def test_signed_receipt_verifies_against_the_published_key() -> None:
    assert verify_receipt(charge(), KEYS) is None
    assert verify_receipt(loads(canonicalize(charge())), KEYS) is None


@pytest.mark.parametrize(
    ("currency", "minor", "text"), [("USD", 5, "0.05"), ("JPY", 1000, "1000"), ("KWD", 1, "0.001")]
)
def test_amount_is_a_text_with_the_digits_of_its_currency(currency: str, minor: int, text: str) -> None:
    receipt = charge(amount=minor, currency=currency)
    assert receipt["amount"] == text
    assert verify_receipt(receipt, KEYS) is None


def test_refund_names_what_it_refunds() -> None:
    refund = charge(
        2, receipt_hash(charge()), kind="refund", refund_of=charge()["id"], reason="It never arrived.\nSorry."
    )
    assert verify_receipt(refund, KEYS) is None


def test_receipt_of_a_session_and_of_an_agreement_verifies() -> None:
    receipt = charge(agent="session:0123456789", agreement="ag_" + "N" * 22)
    assert verify_receipt(receipt, KEYS) is None


@pytest.mark.parametrize(
    "changes",
    [
        {"amount": 0},
        {"amount": -1},
        {"amount": 10**15 + 1},
        {"currency": "XYZ"},
        {"kind": "gift"},
        {"kind": "refund"},
        {"refund_of": "rc_" + "A" * 22},
        {"seq": 0},
        {"seq": 2},
        {"prev": "sha256:" + "0" * 64},
        {"seq": 2, "prev": "sha256:" + "G" * 64},
        {"grant": ""},
        {"agent": ""},
        {"id": "rc_1"},
        {"item": "x" * 1001},
        {"item": "\ud800"},
        {"issued_at": -1},
    ],
)
def test_receipt_that_nobody_would_accept_is_not_issued(changes: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        charge(**changes)


MEMBERS = sorted(charge())
WRONG_VALUES = [
    ("type", "agent-receipt/0.2"),
    ("id", "rq_" + "A" * 22),
    ("id", ["rc_" + "A" * 22]),
    ("kind", "Charge"),
    ("kind", None),
    ("site", ""),
    ("site", None),
    ("seq", "1"),
    ("seq", True),
    ("seq", 1.0),
    ("seq", 2**53),
    ("prev", ""),
    ("prev", "sha256:00"),
    ("issued_at", "1790000123"),
    ("issued_at", 1790000123.5),
    ("action", ""),
    ("action", None),
    ("request", None),
    ("agent", None),
    ("agent", [AGENT.public]),
    ("agent", "ed25519:" + b64url(bytes(32))),
    ("grant", None),
    ("grant", "gr_short"),
    ("root", None),
    ("item", None),
    ("item", 7),
    ("amount", 19.99),
    ("amount", 1999),
    ("amount", "19.9"),
    ("amount", "19.990"),
    ("amount", "0.00"),
    ("amount", "-19.99"),
    ("amount", None),
    ("currency", "usd"),
    ("currency", "JPY"),
    ("currency", None),
    ("agreement", ""),
    ("agreement", "rc_" + "A" * 22),
    ("refund_of", "rc_" + "A" * 22),
    ("reason", 1),
    ("kid", "short"),
    ("kid", None),
    ("sig", ""),
    ("sig", None),
    ("sig", "A" * 85 + "B"),
]


@pytest.mark.parametrize(("name", "value"), WRONG_VALUES)
def test_malformed_receipt_is_refused_even_when_signed(name: str, value: object) -> None:
    receipt = charge() | {name: value}
    if name != "sig":
        receipt = sign_document(receipt, SITE, label=RECEIPT_LABEL) if value != 2**53 else receipt
    assert verify_receipt(receipt, KEYS) == "malformed"


@pytest.mark.parametrize("name", MEMBERS)
def test_receipt_without_a_member_is_malformed(name: str) -> None:
    receipt = {member: value for member, value in charge().items() if member != name}
    assert verify_receipt(receipt, KEYS) == "malformed"


@pytest.mark.parametrize("value", [None, [], "receipt", {}, charge() | {"extra": None}])
def test_value_that_is_no_receipt_is_malformed(value: Any) -> None:
    assert verify_receipt(value, KEYS) == "malformed"


def test_every_change_of_one_byte_of_a_receipt_text_is_refused() -> None:
    text = canonicalize(charge(item='a "Zoë" \\ box', reason="x\ny"))
    assert verify_receipt(loads(text), KEYS) is None
    for position, old in enumerate(text):
        for new in {old ^ (1 << bit) for bit in range(8)} | set(b' 0"\\aA}'):
            if new == old:
                continue
            try:
                reason = verify_receipt(loads(text[:position] + bytes([new]) + text[position + 1 :]), KEYS)
            except AgentError:
                continue
            assert reason is not None, (position, bytes([old]), bytes([new]))


# --- keys ---


def test_receipt_signed_by_another_key_is_refused() -> None:
    forged = sign_document(charge(), AGENT, label=RECEIPT_LABEL)
    assert verify_receipt(forged, KEYS) == "signature"


def test_receipt_signed_under_another_label_is_refused() -> None:
    assert verify_receipt(sign_document(charge(), SITE, label=HEAD_LABEL), KEYS) == "signature"


@pytest.mark.parametrize(
    "keys",
    [
        [],
        [jwk(OLD.public)],
        [jwk(SITE.public) | {"kty": "EC"}],
        [jwk(SITE.public) | {"crv": "X25519"}],
        [jwk(SITE.public) | {"x": None}],
        [jwk(SITE.public) | {"x": b64url(bytes(32))}],
        [jwk(SITE.public) | {"not_after": "never"}],
        # a key that claims the name of another
        [jwk(AGENT.public) | {"kid": SITE.thumbprint}],
    ],
)
def test_key_that_is_not_published_rightly_verifies_nothing(keys: list[dict[str, Any]]) -> None:
    assert verify_receipt(charge(), keys) == "unknown_key"
    assert verify_head(head_of(log(1)), keys) == "unknown_key"


def test_key_name_that_another_key_claims_is_not_verified_with_that_key() -> None:
    forged = sign_document(charge(), AGENT, label=RECEIPT_LABEL)
    assert verify_receipt(forged, [jwk(AGENT.public) | {"kid": SITE.thumbprint}]) == "unknown_key"


def test_retired_key_verifies_what_it_signed_before_its_end_and_nothing_after() -> None:
    keys = [jwk(SITE.public), jwk(OLD.public, not_after=ISSUED)]
    assert verify_receipt(charge(key=OLD, issued_at=ISSUED), keys) is None
    assert verify_receipt(charge(key=OLD, issued_at=ISSUED + 1), keys) == "key_retired"
    assert verify_receipt(charge(issued_at=ISSUED + 1), keys) is None
    assert verify_head(head_of([], key=OLD, at=ISSUED), keys) is None
    assert verify_head(head_of([], key=OLD, at=ISSUED + 1), keys) == "key_retired"


def test_receipt_known_to_be_newer_than_it_says_is_judged_by_that_time() -> None:
    keys = [jwk(OLD.public, not_after=ISSUED)]
    backdated = charge(key=OLD, issued_at=ISSUED - 10)
    assert verify_receipt(backdated, keys, at=ISSUED) is None
    assert verify_receipt(backdated, keys, at=ISSUED + 1) == "key_retired"


# --- the head ---


def test_head_is_the_document_of_the_specification() -> None:
    receipts = log(2)
    assert {name: value for name, value in head_of(receipts).items() if name != "sig"} == {
        "type": "agent-receipts-head/0.1",
        "site": "shop.example",
        "seq": 2,
        "hash": "sha256:" + hashlib.sha256(canonicalize(receipts[-1])).hexdigest(),
        "at": ISSUED + 1000,
        "kid": SITE.thumbprint,
    }
    assert verify_head(head_of(receipts), KEYS) is None


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("type", RECEIPT_LABEL),
        ("site", ""),
        ("seq", -1),
        ("seq", 0),
        ("seq", True),
        ("hash", None),
        ("hash", "sha256:"),
        ("at", "now"),
        ("kid", None),
        ("kid", ""),
        ("sig", "x"),
        ("extra", 1),
    ],
)
def test_malformed_head_is_refused(name: str, value: object) -> None:
    assert verify_head(head_of(log(1)) | {name: value}, KEYS) == "malformed"


def test_head_of_an_empty_log_has_no_hash() -> None:
    assert verify_head(head_of([]), KEYS) is None
    with pytest.raises(ValueError, match="hash"):
        head_of([], hash="sha256:" + "0" * 64)
    with pytest.raises(ValueError, match="hash"):
        head_of(log(1), hash=None)


def test_changed_head_is_refused() -> None:
    head = head_of(log(3))
    for name, value in (("seq", 2), ("at", 1), ("hash", "sha256:" + "0" * 64), ("site", "other.example")):
        assert verify_head(head | {name: value}, KEYS) == "signature"


# --- the chain ---


def test_whole_chain_with_its_head_verifies() -> None:
    receipts = log(5)
    assert verify_chain(receipts, head_of(receipts), keys=KEYS) is None
    assert verify_chain(receipts, head_of(receipts)) is None
    assert verify_chain(receipts) is None
    assert verify_chain([], head_of([]), keys=KEYS) is None
    assert verify_chain([]) is None


def test_chain_goes_on_from_a_kept_head() -> None:
    receipts = log(5)
    kept = head_of(receipts[:2])
    assert verify_chain(receipts[2:], head_of(receipts), keys=KEYS, previous=kept) is None
    assert verify_chain([], head_of(receipts[:2]), keys=KEYS, previous=kept) is None
    assert verify_chain(receipts[3:], head_of(receipts), previous=kept) == "order"
    assert verify_chain(receipts[1:], head_of(receipts), previous=kept) == "order"


def test_chain_over_a_key_change_verifies() -> None:
    first = charge(1, key=OLD)
    second = charge(2, receipt_hash(first))
    keys = [jwk(OLD.public, not_after=ISSUED + 1), *KEYS]
    assert verify_chain([first, second], head_of([first, second]), keys=keys) is None


def test_cut_tail_shows_against_the_head_and_only_then() -> None:
    receipts = log(5)
    head = head_of(receipts)
    for kept in range(5):
        assert verify_chain(receipts[:kept], head) == "truncated"
        assert verify_chain(receipts[:kept]) is None


def test_tail_rewritten_to_the_same_length_shows_against_the_head() -> None:
    receipts = log(3)
    head = head_of(receipts)
    rewritten = [*receipts[:2], charge(3, receipt_hash(receipts[1]), amount=1)]
    assert verify_chain(rewritten, keys=KEYS) is None
    assert verify_chain(rewritten, head, keys=KEYS) == "head"


def test_history_rewritten_behind_a_kept_head_shows() -> None:
    receipts = log(3)
    kept = head_of(receipts[:2])
    first = charge(1, amount=1)
    second = charge(2, receipt_hash(first))
    third = charge(3, receipt_hash(second))
    assert verify_chain([first, second, third], head_of([first, second, third]), keys=KEYS) is None
    assert verify_chain([third], head_of([third]), keys=KEYS, previous=kept) == "prev"


def test_head_older_than_the_receipts_is_refused() -> None:
    receipts = log(3)
    assert verify_chain(receipts, head_of(receipts[:2])) == "head"


BREAKS: list[tuple[str, str, Callable[[list[dict[str, Any]]], list[dict[str, Any]]]]] = [
    ("first left out", "order", lambda all_: all_[1:]),
    ("middle left out", "order", lambda all_: [all_[0], *all_[2:]]),
    ("one twice", "order", lambda all_: [all_[0], all_[0], *all_[1:]]),
    ("two swapped", "order", lambda all_: [all_[1], all_[0], *all_[2:]]),
    ("backwards", "order", lambda all_: all_[::-1]),
    ("item edited", "prev", lambda all_: [all_[0], all_[1] | {"item": "sku-2"}, *all_[2:]]),
    ("renumbered gap", "prev", lambda all_: [all_[0], all_[2] | {"seq": 2}, all_[3] | {"seq": 3}]),
    ("another site's", "site", lambda all_: [*all_[:3], all_[3] | {"site": "other.example"}]),
]


@pytest.mark.parametrize(("what", "reason", "change"), BREAKS, ids=[what for what, _, _ in BREAKS])
def test_broken_chain_is_refused(
    what: str, reason: str, change: Callable[[list[dict[str, Any]]], list[dict[str, Any]]]
) -> None:
    assert verify_chain(change(log(4))) == reason


def test_edit_that_is_signed_again_breaks_the_link() -> None:
    receipts = log(4)
    receipts[1] = charge(2, receipts[1]["prev"], amount=1)
    assert verify_chain(receipts, keys=KEYS) == "prev"


def test_chain_with_keys_verifies_every_signature() -> None:
    receipts = log(3)
    receipts[2] = receipts[2] | {"reason": "changed"}
    assert verify_chain(receipts) is None
    assert verify_chain(receipts, keys=KEYS) == "signature"
    assert verify_chain(log(3), head_of(log(3)) | {"at": 1}, keys=KEYS) == "signature"


def test_malformed_member_makes_the_chain_malformed() -> None:
    receipts = log(2)
    assert verify_chain([receipts[0], {}]) == "malformed"
    assert verify_chain(receipts, {"seq": 2}) == "malformed"
    assert verify_chain(receipts, previous=[]) == "malformed"


@settings(max_examples=examples(60), deadline=None)
@given(data=st.data())
def test_no_change_to_a_log_agrees_with_its_head(data: st.DataObject) -> None:
    receipts = log(5)
    head = head_of(receipts)
    order = data.draw(st.lists(st.integers(0, 4), max_size=7))
    assert (verify_chain([receipts[index] for index in order], head) is None) == (order == [0, 1, 2, 3, 4])


def test_receipts_survive_json() -> None:
    receipts = log(3)
    through = json.loads(json.dumps(receipts))
    assert verify_chain(through, json.loads(json.dumps(head_of(receipts))), keys=KEYS) is None
