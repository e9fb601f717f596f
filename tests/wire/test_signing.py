import hashlib
import json
from base64 import urlsafe_b64encode

import nacl.signing
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentweb.wire.encoding import b64url
from agentweb.wire.signing import (
    SigningKey,
    document_signature_is_valid,
    jwk,
    parse_public_key,
    sign_document,
    signing_input,
    thumbprint,
    verify,
)
from tests.vectors_dir import VECTORS

PERSON = SigningKey.from_seed(hashlib.sha256(b"person").digest())
AGENT = SigningKey.from_seed(hashlib.sha256(b"agent").digest())
LABEL = "agent-grant/0.1"

GRANT = {
    "type": "agent-grant/0.1",
    "issuer": PERSON.public,
    "subject": AGENT.public,
    "audience": "shop.example",
    "scopes": ["cart:*", "checkout"],
    "mandate": {"currency": "USD", "per_tx": "50.00", "total": "200.00"},
    "delegate": 1,
    "not_before": 1790000000,
    "expires": 1790086400,
    "nonce": "A" * 22,
}


def wycheproof():
    groups = json.loads((VECTORS / "ed25519/wycheproof_ed25519_test.json").read_text())["testGroups"]
    return [(group["publicKey"]["pk"], case) for group in groups for case in group["tests"]]


def speccheck():
    return json.loads((VECTORS / "ed25519/speccheck_annotated.json").read_text())


def public(key):
    return "ed25519:" + b64url(bytes.fromhex(key))


def test_all_wycheproof_cases_are_decided_as_published():
    cases = wycheproof()
    verdicts = [
        verify(public(key), bytes.fromhex(case["msg"]), bytes.fromhex(case["sig"]))
        == (case["result"] == "valid")
        for key, case in cases
    ]
    assert len(verdicts) == 151
    assert all(verdicts)


@pytest.mark.parametrize("case", speccheck(), ids=lambda case: case["comment"])
def test_no_case_with_a_small_or_mixed_order_key_or_malleable_signature_verifies(case):
    assert not verify(
        public(case["pub_key"]), bytes.fromhex(case["message"]), bytes.fromhex(case["signature"])
    )


@pytest.mark.parametrize(
    "case",
    [case for case in speccheck() if "A" in case["comment"].split(",")[0]],
    ids=lambda case: case["comment"],
)
def test_keys_of_small_or_mixed_order_and_non_canonical_keys_are_no_keys(case):
    with pytest.raises(ValueError, match="main subgroup"):
        parse_public_key(public(case["pub_key"]))


def test_the_published_speccheck_cases_are_the_annotated_ones():
    published = json.loads((VECTORS / "ed25519/speccheck_cases.json").read_text())
    fields = ("message", "pub_key", "signature")
    assert [[case[name] for name in fields] for case in published] == [
        [case[name] for name in fields] for case in speccheck()
    ]
    assert len(published) == 12


def test_keys_of_known_seeds_have_the_known_names():
    assert PERSON.public == "ed25519:UJnIjkZw1xOQlDKaoNHx2xBc_kr8vDsT0ZdMLiKrPGA"
    assert AGENT.public == "ed25519:DfxfVPA09JCLKbckgs0Oc5QBba-Gor-w_y6raE9mayk"
    assert AGENT.thumbprint == thumbprint(AGENT.public) == "MEvZ2Aj17tpo3SBEHFFPvV72b3Qih3CH9nAKVNflovk"


def test_the_thumbprint_of_rfc_8037_is_reproduced():
    # RFC 8037 appendix A.3
    key = "ed25519:11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"
    assert thumbprint(key) == "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k"
    assert jwk(key) == {
        "kid": "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k",
        "kty": "OKP",
        "crv": "Ed25519",
        "x": "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo",
    }
    assert jwk(key, 1790000000)["not_after"] == 1790000000


def test_the_known_grant_has_the_known_signature():
    message = signing_input(GRANT, LABEL)
    assert len(message) == 380
    assert (
        hashlib.sha256(message).hexdigest()
        == "49340b2e4657036d0d572c8463bc035f94c436f49a8c96962048971d9bc6b6d3"
    )
    signed = sign_document(GRANT, PERSON, label=LABEL)
    assert signed == {
        **GRANT,
        "sig": "Qw_w-klZBOX61jD-NimtMqK8iyfMPSC0ThAFxYxLzODv576ZSAm-NOmqIHJEWGsJe854gNlbvjoZrdDcKJZLDw",
    }
    assert "sig" not in GRANT
    assert document_signature_is_valid(signed, PERSON.public, LABEL)


def test_signing_again_replaces_the_signature():
    once = sign_document(GRANT, AGENT, label=LABEL)
    assert sign_document(once, PERSON, label=LABEL) == sign_document(GRANT, PERSON, label=LABEL)


def test_another_label_key_or_member_makes_a_document_signature_invalid():
    signed = sign_document(GRANT, PERSON, label=LABEL)
    assert not document_signature_is_valid(signed, PERSON.public, "agent-receipt/0.1")
    assert not document_signature_is_valid(signed, AGENT.public, LABEL)
    for name in GRANT:
        assert not document_signature_is_valid({**signed, name: "changed"}, PERSON.public, LABEL)
        assert not document_signature_is_valid(
            {k: v for k, v in signed.items() if k != name}, PERSON.public, LABEL
        )
    assert not document_signature_is_valid({**signed, "more": None}, PERSON.public, LABEL)


@pytest.mark.parametrize("sig", [None, 1, [], "", "A" * 85, "A" * 86, "A" * 87, "é" * 86])
def test_a_document_with_a_bad_signature_member_is_just_not_valid(sig):
    assert not document_signature_is_valid({**GRANT, "sig": sig}, PERSON.public, LABEL)
    assert not document_signature_is_valid(GRANT, PERSON.public, LABEL)


@pytest.mark.parametrize("value", [float("nan"), "\ud800", 2**53])
def test_a_document_without_canonical_form_is_just_not_valid(value):
    signed = {**sign_document(GRANT, PERSON, label=LABEL), "note": value}
    assert not document_signature_is_valid(signed, PERSON.public, LABEL)


def test_a_second_spelling_of_the_signature_is_not_valid():
    signed = sign_document(GRANT, PERSON, label=LABEL)
    alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
    last = alphabet.index(signed["sig"][-1])
    for spelling in (signed["sig"][:-1] + alphabet[last ^ 1], signed["sig"] + "==", signed["sig"] + "\n"):
        assert not document_signature_is_valid({**signed, "sig": spelling}, PERSON.public, LABEL)


@given(st.binary(max_size=200), st.binary(min_size=32, max_size=32))
def test_what_a_key_signs_it_verifies_and_nacl_agrees(message, seed):
    key = SigningKey.from_seed(seed)
    signature = key.sign(message)
    assert key.seed == seed
    assert verify(key.public, message, signature)
    assert nacl.signing.SigningKey(seed).verify_key.verify(message, signature) == message
    assert not verify(key.public, message + b"\x00", signature)


def test_every_flipped_bit_of_a_signature_is_refused():
    signature = AGENT.sign(b"message")
    for bit in range(512):
        flipped = bytearray(signature)
        flipped[bit // 8] ^= 1 << bit % 8
        assert not verify(AGENT.public, b"message", bytes(flipped))


@pytest.mark.parametrize("signature", [b"", b"\x00" * 64, b"\x00" * 63, b"\x00" * 65, None, "A" * 64])
def test_what_is_no_signature_does_not_verify(signature):
    assert not verify(AGENT.public, b"message", signature)


def test_a_signature_before_its_message_does_not_verify():
    # libsodium's combined form must never be taken for a detached signature.
    combined = AGENT.sign(b"message") + b"message"
    assert not verify(AGENT.public, combined, combined)
    assert not verify(AGENT.public, combined, None)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "ed25519:",
        "ed25519:zz",
        AGENT.public + "=",
        AGENT.public + "\n",
        " " + AGENT.public,
        AGENT.public.upper(),
        AGENT.public.removeprefix("ed25519:"),
        "ED25519:" + AGENT.public[8:],
        AGENT.public[:-1],
        AGENT.public[:-1] + "l",  # non-zero unused bits
        "ed25519:" + urlsafe_b64encode(bytes(32)).decode().rstrip("="),  # y = 0, order 4
        "ed25519:" + b64url(b"\x01" + bytes(31)),  # the identity
        "ed25519:" + b64url(b"\xff" * 32),
        "ed25519:" + "/" * 43,
        None,
        1,
        ["ed25519:"],
        AGENT.public.encode(),
    ],
)
def test_what_is_no_public_key_is_refused_and_verifies_nothing(text):
    with pytest.raises(ValueError):  # noqa: PT011 - several reasons
        parse_public_key(text)
    with pytest.raises(ValueError):  # noqa: PT011
        thumbprint(text)
    assert not verify(text, b"", bytes(64))
    assert not document_signature_is_valid(sign_document(GRANT, AGENT, label=LABEL), text, LABEL)


def test_a_public_key_has_one_spelling():
    alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
    accepted = 0
    for last in alphabet:
        try:
            accepted += parse_public_key(AGENT.public[:-1] + last) == parse_public_key(AGENT.public)
        except ValueError:
            continue
    assert accepted == 1


@pytest.mark.parametrize("seed", [b"", bytes(31), bytes(33), "a" * 32, None])
def test_a_seed_is_32_bytes(seed):
    with pytest.raises(ValueError, match="32 bytes"):
        SigningKey.from_seed(seed)


def test_generated_keys_differ_and_never_show_their_secret():
    keys = [SigningKey.generate() for _ in range(3)]
    assert len({key.public for key in keys}) == 3
    for key in keys:
        assert key.public in repr(key)
        assert b64url(key.seed) not in f"{key!r} {key!s}"
        assert key.seed.hex() not in f"{key!r} {key!s}"
