"""The published vector is the one that other implementations agreed on, to the byte."""

import copy
import hashlib
import json

import pytest

from agentweb.wire.aim import keys
from agentweb.wire.aim.authorization import parse_header, verify, write_header
from agentweb.wire.aim.envelope import read, signature_is_valid
from agentweb.wire.aim.names import key_name
from agentweb.wire.aim.proof_of_work import is_solved, solve
from agentweb.wire.aim.sealed import open_sealed
from agentweb.wire.aim.vector import signing_vector
from agentweb.wire.canonical import canonicalize
from agentweb.wire.signing import SigningKey
from tests.support.node import messenger_verdict
from tests.vectors_dir import VECTORS

PUBLISHED = json.loads((VECTORS / "aim/signing-vector.json").read_text(encoding="utf-8"))
ALICE = PUBLISHED["alice"]
BOB = PUBLISHED["bob"]


def leaves(value, path=()):
    if isinstance(value, dict) and value:
        for name, member in value.items():
            yield from leaves(member, (*path, name))
    else:
        yield path, value


def at(value, path):
    for name in path:
        value = value[name]
    return value


def as_json(value):
    # Where 1 and 1.0, and 0 and -0.0, are different.
    return json.dumps(value, ensure_ascii=False)


@pytest.mark.requirement("AIM-S15.4")
@pytest.mark.parametrize(
    ("path", "value"), list(leaves(PUBLISHED)), ids=lambda x: "/".join(x) if isinstance(x, tuple) else ""
)
def test_our_own_vector_has_every_member_of_the_published_one(path, value):
    assert as_json(at(signing_vector(), path)) == as_json(value)


@pytest.mark.requirement("AIM-S15.4", "AIM-S15.1")
def test_node_agrees_with_the_vector_with_nothing_but_its_own_crypto():
    wrong, texts = messenger_verdict(signing_vector(), [as_json(PUBLISHED["envelope"]["input"])])
    assert wrong == []
    assert texts == [PUBLISHED["envelope"]["canonical_utf8"]]


@pytest.mark.parametrize(
    ("path", "claim"),
    [
        (("alice", "key_name"), "alice key_name"),
        (("bob", "x25519_public"), "bob x25519_public"),
        (("envelope", "canonical_utf8"), "envelope canonical_utf8"),
        (("envelope", "sig"), "envelope sig"),
        (("http", "signing_string"), "http sig"),
        (("http_get", "sig"), "http_get sig"),
        (("pow", "solution"), "pow sha256_hex"),
        (("sealed", "inner_signed", "sig"), "sealed inner sig"),
        (("sealed", "outer", "body", "ct"), "sealed outer sig"),
    ],
    ids=lambda x: x if isinstance(x, str) else "",
)
def test_the_judge_notices_a_change_of_the_vector(path, claim):
    changed = copy.deepcopy(signing_vector())
    parent = at(changed, path[:-1])
    old = parent[path[-1]]
    parent[path[-1]] = ("1" if old[0] != "1" else "2") + old[1:]
    wrong, _texts = messenger_verdict(changed, [])
    assert claim in wrong


def test_keys_and_names_are_those_of_the_seeds():
    for person in (ALICE, BOB):
        key = SigningKey.from_seed(bytes.fromhex(person["seed_hex"]))
        assert keys.public_of(key) == person["public_key"]
        assert key_name(person["public_key"]) == person["key_name"]
        assert keys.encryption_key(person["public_key"]) == person["x25519_public"]


def test_the_envelope_has_the_published_text_digest_and_signature():
    expected = PUBLISHED["envelope"]
    envelope = read({**expected["input"], "sig": expected["sig"]})
    assert canonicalize(expected["input"]).decode() == expected["canonical_utf8"]
    assert envelope.digest == expected["sha256_hex"]
    assert signature_is_valid(envelope, ALICE["public_key"])
    assert not signature_is_valid(envelope, BOB["public_key"])


def test_the_published_header_is_read_verified_and_written_alike():
    expected = PUBLISHED["http"]
    credentials = parse_header(expected["authorization"])
    assert write_header(credentials) == expected["authorization"]
    assert verify(credentials, "POST", "/v2/messages", "aim.example", expected["body_sha256"])


def test_the_body_that_the_vector_signs_is_in_it_and_not_canonical():
    http = signing_vector()["http"]
    body = http["body_utf8"].encode()
    assert hashlib.sha256(body).hexdigest() == PUBLISHED["http"]["body_sha256"]
    assert canonicalize(json.loads(body)) != body


def test_the_solution_is_the_smallest_and_has_just_the_bits():
    work = PUBLISHED["pow"]
    assert solve(work["challenge"], ALICE["public_key"], work["difficulty"]) == work["solution"]
    assert is_solved(work["challenge"], ALICE["public_key"], work["difficulty"], work["solution"])
    assert not is_solved(work["challenge"], ALICE["public_key"], work["difficulty"] + 1, work["solution"])
    assert not is_solved(work["challenge"], BOB["public_key"], work["difficulty"], work["solution"])


def test_the_published_sealed_message_opens():
    sealed = PUBLISHED["sealed"]
    bob = SigningKey.from_seed(bytes.fromhex(BOB["seed_hex"]))
    inner = open_sealed(read(sealed["outer"]), bob, ALICE["public_key"])
    assert inner.text == canonicalize(sealed["inner_signed"]).decode()


def test_the_vector_holds_no_secret_but_the_two_known_seeds_and_is_json():
    assert json.loads(json.dumps(signing_vector())) == signing_vector()
    assert {person["seed_hex"] for person in (signing_vector()["alice"], signing_vector()["bob"])} == {
        ALICE["seed_hex"],
        BOB["seed_hex"],
    }
