import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from nacl.public import PublicKey, SealedBox

from agentweb.wire.aim import keys
from agentweb.wire.aim.envelope import compose, parse_request, read, sign, signature_is_valid
from agentweb.wire.aim.sealed import SEALED_ALGORITHM, SealError, open_sealed, seal
from agentweb.wire.canonical import canonicalize
from agentweb.wire.encoding import b64url, b64url_decode
from agentweb.wire.errors import InputError, RequestError
from agentweb.wire.signing import SigningKey
from tests.support.examples import examples

ALICE, BOB, EVE = (SigningKey.from_seed(bytes([n]) * 32) for n in (1, 2, 3))
ALICE_KEY, BOB_KEY, EVE_KEY = map(keys.public_of, (ALICE, BOB, EVE))
A, B, E = "alice@aim.example", "bob@aim.example", "eve@aim.example"
FIELDS = compose(A, B, {"text": "secret"}, type="note", reply_to="r" * 16, thread_id="t" * 16)
SEALED = seal(FIELDS, ALICE, BOB_KEY)


def boxed(content, recipient=BOB_KEY):
    """A sealed box of anything for a key."""
    box = SealedBox(PublicKey(b64url_decode(keys.encryption_key(recipient))))
    return b64url(box.encrypt(content if isinstance(content, bytes) else canonicalize(content)))


def outer(ct, key=ALICE, to_key=BOB_KEY, **changes):
    members = {name: value for name, value in SEALED.items() if name != "sig"}
    members["body"] = {"alg": SEALED_ALGORITHM, "to_key": to_key, "ct": ct}
    return read(sign({**members, **changes}, key))


def refusal(envelope, key=BOB, sender=ALICE_KEY):
    with pytest.raises(SealError) as refused:
        open_sealed(envelope, key, sender)
    return refused.value.reason


@pytest.mark.requirement("AIM-S23.1")
def test_the_recipient_reads_what_was_sealed_for_it():
    inner = open_sealed(read(SEALED), BOB, ALICE_KEY)
    assert inner.body == {"text": "secret"}
    assert inner.type == "note"
    assert (inner.id, inner.reply_to, inner.thread_id) == (FIELDS["id"], "r" * 16, "t" * 16)
    assert signature_is_valid(inner, ALICE_KEY)


def test_the_outside_says_who_writes_to_whom_and_nothing_of_the_content():
    assert {name: SEALED[name] for name in ("id", "from", "to", "ts", "reply_to", "thread_id")} == {
        name: FIELDS[name] for name in ("id", "from", "to", "ts", "reply_to", "thread_id")
    }
    assert SEALED["type"] == "sealed"
    assert SEALED["body"].keys() == {"alg", "to_key", "ct"}
    assert "secret" not in canonicalize(SEALED).decode()
    assert signature_is_valid(read(SEALED), ALICE_KEY)


def test_the_same_content_is_never_sealed_alike_twice():
    assert seal(FIELDS, ALICE, BOB_KEY)["body"]["ct"] != SEALED["body"]["ct"]


@given(st.text(st.characters(codec="utf-8"), max_size=600))
@settings(max_examples=examples(40))
def test_what_is_inside_is_padded_to_256_bytes_and_comes_out_again(text):
    sealed = seal(compose(A, B, {"text": text}), ALICE, BOB_KEY)
    assert (len(b64url_decode(sealed["body"]["ct"])) - 48) % 256 == 0
    assert open_sealed(read(sealed), BOB, ALICE_KEY).body == {"text": text}


def test_nobody_else_opens_it():
    assert refusal(read(SEALED), key=EVE) == "opening"
    assert refusal(read(SEALED), key=ALICE) == "opening"


def test_a_changed_box_does_not_open():
    ct = bytearray(b64url_decode(SEALED["body"]["ct"]))
    for place in (0, 31, 32, len(ct) - 1):
        changed = bytearray(ct)
        changed[place] ^= 1
        assert refusal(outer(b64url(bytes(changed)))) == "opening"


def test_an_author_cannot_be_named_by_another():
    """Eve seals what she signed herself and names Alice inside and outside."""
    forged = sign({**FIELDS}, EVE)
    envelope = outer(boxed({"env": forged, "seal": {"v": 1, "to_key": BOB_KEY, "pad": ""}}), key=EVE)
    assert refusal(envelope) == "signature"


def test_an_unsigned_or_altered_envelope_inside_is_refused():
    inner = sign(FIELDS, ALICE)
    altered = {**inner, "body": "other"}
    assert (
        refusal(outer(boxed({"env": altered, "seal": {"v": 1, "to_key": BOB_KEY, "pad": ""}}))) == "signature"
    )
    unsigned = {name: value for name, value in inner.items() if name != "sig"}
    assert (
        refusal(outer(boxed({"env": unsigned, "seal": {"v": 1, "to_key": BOB_KEY, "pad": ""}}))) == "opening"
    )


@pytest.mark.parametrize(
    "change",
    [
        {"id": "x" * 16},
        {"from": E},
        {"to": E},
        {"ts": "2026-01-01T00:00:00.000Z"},
        {"reply_to": "x" * 16},
        {"thread_id": "x" * 16},
    ],
    ids=lambda change: next(iter(change)),
)
def test_what_is_inside_cannot_be_given_another_outside(change):
    """A message passed on, or replayed under another id, in another thread or as somebody else's."""
    envelope = read(sign({**SEALED, **change}, EVE))
    assert refusal(envelope) == "members"


@pytest.mark.parametrize("name", ["reply_to", "thread_id"])
def test_a_reference_inside_cannot_be_hidden_or_added_outside(name):
    without = {member: value for member, value in SEALED.items() if member != name}
    assert refusal(read(sign(without, ALICE))) == "members"
    fields = {member: value for member, value in FIELDS.items() if member != name}
    added = {**seal(fields, ALICE, BOB_KEY), name: "x" * 16}
    assert refusal(read(sign(added, ALICE))) == "members"


def test_two_spellings_of_one_time_are_two_messages():
    shorter = sign({**SEALED, "ts": SEALED["ts"][:-1].rstrip("0").rstrip(".") + "Z"}, ALICE)
    if shorter["ts"] != SEALED["ts"]:
        assert refusal(read(shorter)) == "members"
    fixed = seal({**FIELDS, "ts": "2026-01-01T00:00:00.000Z"}, ALICE, BOB_KEY)
    assert refusal(read(sign({**fixed, "ts": "2026-01-01T00:00:00Z"}, ALICE))) == "members"


def test_what_was_sealed_for_one_cannot_be_sealed_again_for_another():
    """Bob passes on what Alice wrote to him: the seal inside names his key, not Eve's."""
    inner = sign({**FIELDS, "to": E}, ALICE)
    passed_on = boxed({"env": inner, "seal": {"v": 1, "to_key": BOB_KEY, "pad": ""}}, EVE_KEY)
    envelope = outer(passed_on, key=BOB, to=E, to_key=EVE_KEY)
    assert refusal(envelope, key=EVE) == "recipient"


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"no json",
        b"[]",
        b"null",
        b'{"env":null,"seal":null}',
        b'{"env":{},"seal":{}}',
        b'{"env":{"a":1,"a":1},"seal":{}}',
        b"[" * 10_000,
        b"\xff" * 64,
    ],
    ids=lambda content: repr(content[:24]),
)
def test_a_box_that_holds_no_envelope_is_refused_without_a_crash(content):
    assert refusal(outer(boxed(content))) == "opening"


def test_a_seal_of_another_version_is_refused():
    inner = sign(FIELDS, ALICE)
    assert (
        refusal(outer(boxed({"env": inner, "seal": {"v": 2, "to_key": BOB_KEY, "pad": ""}}))) == "recipient"
    )


def test_what_is_not_sealed_is_not_opened():
    assert refusal(read(sign(FIELDS, ALICE))) == "opening"
    assert refusal(read(sign({**SEALED, "type": "message"}, ALICE))) == "opening"


def test_a_key_that_is_none_is_sealed_to_by_nobody():
    for public in ("A" * 43, b64url(bytes(32)), "", "é" * 43):
        with pytest.raises(ValueError, match="key"):
            seal(FIELDS, ALICE, public)


def test_a_message_that_is_too_long_once_sealed_is_refused_before_it_is_sent():
    with pytest.raises(RequestError) as refused:
        seal(compose(A, B, "x" * 60_000), ALICE, BOB_KEY)
    assert refused.value.code == "too_large"


def test_a_sealed_envelope_needs_no_signature_outside():
    without = {name: value for name, value in SEALED.items() if name != "sig"}
    envelope = read(parse_request(canonicalize(without)))
    assert envelope.sig is None
    assert not signature_is_valid(envelope, ALICE_KEY)
    assert envelope.digest == read(SEALED).digest
    assert open_sealed(envelope, BOB, ALICE_KEY).body == {"text": "secret"}


@pytest.mark.parametrize(
    ("change", "pointers"),
    [
        ({"more": 1}, ["/body"]),
        ({"alg": "x"}, ["/body/alg"]),
        ({"to_key": "A" * 43}, ["/body/to_key"]),
        ({"to_key": None, "ct": 1}, ["/body/to_key", "/body/ct"]),
        ({"ct": b64url(bytes(47))}, ["/body/ct"]),
        ({"ct": b64url(bytes(64)) + "="}, ["/body/ct"]),
    ],
    ids=str,
)
def test_the_outside_of_a_sealed_message_has_its_form(change, pointers):
    with pytest.raises(InputError) as refused:
        read({**SEALED, "body": {**SEALED["body"], **change}})
    assert refused.value.code == "invalid_envelope"
    assert [problem["pointer"] for problem in refused.value.problems] == pointers


@pytest.mark.parametrize("body", ["text", {}, [], None], ids=repr)
def test_a_sealed_message_has_a_box_as_its_body(body):
    with pytest.raises(InputError) as refused:
        read({**SEALED, "body": body})
    assert [problem["pointer"] for problem in refused.value.problems] == ["/body"]


def test_a_board_reads_no_sealed_messages():
    with pytest.raises(InputError) as refused:
        read({**SEALED, "to": "board:news"})
    assert refused.value.code == "sealed_not_allowed"
