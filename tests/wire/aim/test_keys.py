import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from nacl.bindings import crypto_scalarmult, crypto_scalarmult_base
from nacl.public import PrivateKey
from nacl.signing import SigningKey as NaclSigningKey

from agentweb.wire.aim import keys
from agentweb.wire.encoding import b64url, b64url_decode
from agentweb.wire.signing import SigningKey
from tests.vectors_dir import VECTORS

KEY = SigningKey.from_seed(bytes(range(32)))
PUBLIC = keys.public_of(KEY)


def speccheck():
    return list(enumerate(json.loads((VECTORS / "ed25519/speccheck_annotated.json").read_text())))


def wycheproof():
    groups = json.loads((VECTORS / "ed25519/wycheproof_ed25519_test.json").read_text())["testGroups"]
    return [(group["publicKey"]["pk"], case) for group in groups for case in group["tests"]]


def test_all_wycheproof_cases_are_decided_as_published():
    verdicts = [
        keys.verify(b64url(bytes.fromhex(key)), bytes.fromhex(case["msg"]), bytes.fromhex(case["sig"]))
        == (case["result"] == "valid")
        for key, case in wycheproof()
    ]
    assert verdicts == [True] * 151


@pytest.mark.requirement("AIM-S11.1")
@pytest.mark.parametrize(("number", "case"), speccheck(), ids=lambda x: str(x) if isinstance(x, int) else "")
def test_weak_keys_of_speccheck_are_no_identities_and_no_case_verifies(number, case):
    public = b64url(bytes.fromhex(case["pub_key"]))
    if number in {0, 1, 3, 4, 5, 8, 9, 10, 11}:
        with pytest.raises(ValueError, match="main subgroup"):
            keys.parse_public(public)
    assert not keys.verify(public, bytes.fromhex(case["message"]), bytes.fromhex(case["signature"]))


@pytest.mark.requirement("AIM-S11.1")
@pytest.mark.parametrize(
    "text",
    [
        "",
        "A" * 42,
        "A" * 43,
        "A" * 44,
        PUBLIC + "=",
        PUBLIC + "\n",
        KEY.public,
        PUBLIC[:-1] + "h",
        "+" * 43,
        "é" * 43,
        None,
        1,
        b"A" * 43,
    ],
    ids=[
        "empty",
        "42",
        "identity-like",
        "44",
        "padded",
        "line feed",
        "prefix",
        "last bits",
        "base64",
        "é",
        "None",
        "1",
        "bytes",
    ],
)
def test_what_is_no_key_is_refused_and_verifies_nothing(text):
    with pytest.raises(ValueError):  # noqa: PT011 - several reasons
        keys.parse_public(text)
    with pytest.raises((ValueError, TypeError)):
        keys.encryption_key(text)
    assert not keys.verify(text, b"", KEY.sign(b""))


def test_a_message_does_not_say_that_the_prefix_of_other_rooms_is_missing():
    with pytest.raises(ValueError, match="written as 43 base64url characters"):
        keys.parse_public(KEY.public)


def test_the_short_name_of_a_key_is_half_of_its_hash():
    assert len(keys.key_id(PUBLIC)) == 22
    assert keys.key_id(PUBLIC) != keys.key_id(keys.public_of(SigningKey.from_seed(bytes(32))))


@given(st.binary(min_size=32, max_size=32))
def test_the_encryption_key_is_the_public_half_of_the_converted_secret(seed):
    public = keys.public_of(SigningKey.from_seed(seed))
    private: PrivateKey = NaclSigningKey(seed).to_curve25519_private_key()
    assert b64url_decode(keys.encryption_key(public)) == bytes(private.public_key)


def test_x25519_gives_the_published_secrets_and_refuses_those_that_are_zero():
    groups = json.loads((VECTORS / "x25519/wycheproof_x25519_test.json").read_text())["testGroups"]
    refused = 0
    for case in [case for group in groups for case in group["tests"]]:
        shared = bytes.fromhex(case["shared"])
        try:
            found = crypto_scalarmult(bytes.fromhex(case["private"]), bytes.fromhex(case["public"]))
        except RuntimeError:
            assert case["result"] == "acceptable"
            assert shared == bytes(32)
            refused += 1
        else:
            assert found == shared
    assert refused == 31
    assert crypto_scalarmult_base(bytes([9] + [0] * 31)) != bytes(32)
