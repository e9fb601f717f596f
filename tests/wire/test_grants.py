from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import product
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentweb.wire.canonical import canonicalize
from agentweb.wire.encoding import b64url, b64url_decode
from agentweb.wire.errors import AgentError, AuthenticationError
from agentweb.wire.grant_shape import read_grant
from agentweb.wire.grants import (
    GRANT_LABEL,
    MAX_CHAIN,
    MAX_HEADER,
    MAX_LIFE,
    GrantDocument,
    Mandate,
    attenuate,
    check_audience,
    check_time,
    decode_header,
    encode_chain,
    grant_id,
    new_grant,
    parse_grant,
    verify_chain,
)
from agentweb.wire.signing import SigningKey, sign_document, signing_input
from agentweb.wire.strict_json import loads
from tests.support.examples import examples


def key(name: str) -> SigningKey:
    return SigningKey.from_seed(hashlib.sha256(name.encode()).digest())


PERSON, AGENT, HELPER, THIRD, FOURTH = (
    key(name) for name in ("person", "agent", "helper", "third", "fourth")
)
START, END = 1_790_000_000, 1_790_086_400


def vector(**changes: Any) -> dict[str, Any]:
    members: dict[str, Any] = {
        "issuer": PERSON,
        "subject": AGENT.public,
        "audience": "shop.example",
        "scopes": ["cart:*", "checkout"],
        "mandate": Mandate("USD", 50_00, 200_00),
        "not_before": START,
        "expires": END,
        "delegate": 1,
        "nonce": "A" * 22,
    }
    return new_grant(**(members | changes))


def resigned(document: dict[str, Any], signer: SigningKey = PERSON) -> dict[str, Any]:
    return sign_document(document, signer, label=GRANT_LABEL)


def refusal(call: Callable[[], object]) -> tuple[str, str | None]:
    with pytest.raises(AuthenticationError) as caught:
        call()
    return caught.value.code, caught.value.extra.get("reason")


def chain_of(*documents: dict[str, Any]) -> list[GrantDocument]:
    return [parse_grant(document) for document in documents]


# --- the published vector ---


def test_vector_of_the_specification_is_met_byte_for_byte() -> None:
    grant = vector()
    message = signing_input(grant, GRANT_LABEL)
    assert PERSON.public == "ed25519:UJnIjkZw1xOQlDKaoNHx2xBc_kr8vDsT0ZdMLiKrPGA"
    assert AGENT.public == "ed25519:DfxfVPA09JCLKbckgs0Oc5QBba-Gor-w_y6raE9mayk"
    assert len(message) == 380
    assert hashlib.sha256(message).hexdigest() == (
        "49340b2e4657036d0d572c8463bc035f94c436f49a8c96962048971d9bc6b6d3"
    )
    assert grant_id(grant) == "gr_STQLLkZXA20NVyyEY7wDX5"
    assert grant["sig"] == (
        "Qw_w-klZBOX61jD-NimtMqK8iyfMPSC0ThAFxYxLzODv576ZSAm-NOmqIHJEWGsJe854gNlbvjoZrdDcKJZLDw"
    )


def test_parsed_grant_has_every_member_in_its_type() -> None:
    parsed = parse_grant(vector(note="for the weekly shopping"))
    assert (parsed.issuer, parsed.subject) == (PERSON.public, AGENT.public)
    assert parsed.audience == "shop.example"
    assert parsed.scopes == ("cart:*", "checkout")
    assert parsed.mandate == Mandate("USD", 50_00, 200_00)
    assert (parsed.one_time, parsed.delegate, parsed.parent) == (False, 1, None)
    assert (parsed.not_before, parsed.expires) == (START, END)
    assert parsed.note == "for the weekly shopping"
    assert parsed.id == grant_id(parsed.document)
    assert hash(parsed) == hash(parse_grant(parsed.document))


def test_grant_without_optional_members_is_plain() -> None:
    document = vector(mandate=None, delegate=0)
    assert set(document) == {
        "type",
        "issuer",
        "subject",
        "audience",
        "scopes",
        "not_before",
        "expires",
        "nonce",
        "sig",
    }
    parsed = parse_grant(document)
    assert (parsed.mandate, parsed.one_time, parsed.delegate, parsed.note) == (None, False, 0, "")


def test_changing_the_document_after_parsing_changes_nothing() -> None:
    document = vector()
    parsed = parse_grant(document)
    document["scopes"].append("*")
    document["mandate"]["total"] = "1000000.00"
    assert parsed.document["scopes"] == ["cart:*", "checkout"]
    verify_chain([parsed], signed_by=AGENT.public)


# --- shape ---

DROP = object()


def edited(path: str, value: object) -> dict[str, Any]:
    document = json.loads(json.dumps(vector()))
    *parents, last = path.split(".")
    at = document
    for name in parents:
        at = at[name]
    if value is DROP:
        del at[last]
    else:
        at[last] = value
    return resigned(document)


SMALL_ORDER_KEY = "ed25519:" + b64url(bytes(32))
MALFORMED = [
    *[
        (name, DROP)
        for name in ("type", "issuer", "subject", "audience", "scopes", "not_before", "expires", "nonce")
    ],
    ("type", "agent-grant/0.2"),
    ("type", None),
    ("id", "gr_STQLLkZXA20NVyyEY7wDX5"),
    ("limit", 1),
    ("issuer", AGENT.public.removeprefix("ed25519:")),
    ("issuer", "ed25519:" + "A" * 42),
    ("issuer", SMALL_ORDER_KEY),
    ("issuer", "session:abc"),
    ("issuer", [AGENT.public]),
    ("issuer", None),
    ("subject", "ed25519:"),
    ("subject", SMALL_ORDER_KEY),
    ("subject", AGENT.public + "="),
    # 43 characters whose unused bits are set: another spelling of the same 32 bytes
    ("subject", AGENT.public[:-1] + chr(ord(AGENT.public[-1]) + 1)),
    ("subject", "session:"),
    ("subject", "session:a b"),
    ("subject", "session:" + "a" * 57),
    ("subject", {}),
    ("audience", ""),
    ("audience", "Shop.example"),
    ("audience", "https://shop.example"),
    ("audience", "shop.example/"),
    ("audience", "shop.example:"),
    ("audience", "shop.example:0"),
    ("audience", "shop.example:080"),
    ("audience", "shop.example:65536"),
    ("audience", "user@shop.example"),
    ("audience", "shop.example\n"),
    ("audience", "shöp.example"),
    ("audience", "shop..example"),
    ("audience", ".shop.example"),
    ("audience", "shop.example."),
    ("audience", "*.example"),
    ("audience", "a" * 64 + ".example"),
    ("audience", "a." * 128 + "a"),
    ("audience", ["shop.example"]),
    ("scopes", []),
    ("scopes", ["a"] * 65),
    ("scopes", "cart:*"),
    ("scopes", {"cart": 1}),
    ("scopes", ["car*"]),
    ("scopes", ["*:read"]),
    ("scopes", ["**"]),
    ("scopes", ["a:b:c:d:e:f"]),
    ("scopes", ["a" * 101]),
    ("scopes", [1]),
    ("scopes", ["cart", None]),
    ("mandate", None),
    ("mandate", {}),
    ("mandate", []),
    ("mandate.currency", DROP),
    ("mandate.per_tx", DROP),
    ("mandate.total", DROP),
    ("mandate.per_day", "1.00"),
    ("mandate.currency", "usd"),
    ("mandate.currency", "XXX"),
    ("mandate.currency", ["USD"]),
    ("mandate.currency", None),
    ("mandate.currency", "JPY"),
    ("mandate.per_tx", "50"),
    ("mandate.per_tx", "50.0"),
    ("mandate.per_tx", "50.000"),
    ("mandate.per_tx", "050.00"),
    ("mandate.per_tx", "+50.00"),
    ("mandate.per_tx", "5e1"),
    ("mandate.per_tx", "0.00"),
    ("mandate.per_tx", "-1.00"),
    ("mandate.per_tx", " 1.00"),
    ("mandate.per_tx", 50),
    ("mandate.per_tx", None),
    ("mandate.total", "10000000000000.01"),
    ("mandate.total", "٢.00"),
    ("mandate.total", True),
    ("one_time", 1),
    ("one_time", "true"),
    ("one_time", None),
    ("delegate", -1),
    ("delegate", 4),
    ("delegate", True),
    ("delegate", "1"),
    ("delegate", 1.0),
    ("delegate", None),
    ("parent", None),
    ("parent", ""),
    ("parent", "gr_short"),
    ("parent", "gr_" + "A" * 23),
    ("parent", "rc_" + "A" * 22),
    ("parent", ["gr_" + "A" * 22]),
    ("not_before", -1),
    ("not_before", "1790000000"),
    ("not_before", 1790000000.0),
    ("not_before", True),
    ("not_before", END),
    ("not_before", END + 1),
    ("expires", START),
    ("expires", START + MAX_LIFE + 1),
    ("expires", None),
    ("nonce", "A" * 21),
    ("nonce", "A" * 23),
    ("nonce", "A" * 21 + "B"),
    ("nonce", "A" * 22 + "=="),
    ("nonce", ""),
    ("nonce", 0),
    ("note", None),
    ("note", 7),
    ("note", "x" * 201),
    ("note", "two\nlines"),
    ("note", "nul\x00"),
    ("note", "\x1b[2J"),
    ("note", "line\u2028separator"),
]


@pytest.mark.parametrize(("path", "value"), MALFORMED)
def test_malformed_grant_is_refused_even_when_signed(path: str, value: object) -> None:
    document = edited(path, value)
    assert refusal(lambda: parse_grant(document)) == ("grant_invalid", "malformed")


@pytest.mark.parametrize(
    "sig",
    [DROP, None, "", "A" * 85, "A" * 87, "A" * 85 + "B", b64url(bytes(63)), b64url(bytes(65)), ["A" * 86], 1],
)
def test_malformed_signature_text_is_refused(sig: object) -> None:
    document = vector()
    if sig is DROP:
        del document["sig"]
    else:
        document["sig"] = sig
    assert refusal(lambda: parse_grant(document)) == ("grant_invalid", "malformed")


@pytest.mark.parametrize("value", [None, True, 1, "gr_STQLLkZXA20NVyyEY7wDX5", [], [{}], {}])
def test_value_that_is_no_grant_is_refused(value: Any) -> None:
    assert refusal(lambda: parse_grant(value)) == ("grant_invalid", "malformed")


def test_lone_surrogate_in_a_grant_is_refused() -> None:
    document = vector() | {"note": "\ud800"}
    assert refusal(lambda: parse_grant(document)) == ("grant_invalid", "malformed")


def test_refusal_names_the_member_and_never_the_value() -> None:
    document = edited("mandate.per_tx", "secret-value")
    with pytest.raises(AuthenticationError) as caught:
        parse_grant(document)
    assert "mandate.per_tx" in caught.value.message
    assert "secret-value" not in str(caught.value.as_dict())


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("audience", "localhost:8000"),
        ("audience", "[::1]:8000"),
        ("audience", "[2001:db8::1]"),
        ("audience", "xn--shp-0ma.example"),
        ("audience", "my_service:65535"),
        ("audience", "127.0.0.1"),
        ("subject", "session:" + "a" * 56),
        ("scopes", ["*"]),
        ("scopes", ["a"] * 64),
        ("scopes", ["a:b:c:d:*", "a:b:c:d:e"]),
        ("one_time", True),
        ("one_time", False),
        ("delegate", 0),
        ("delegate", 3),
        ("mandate.per_tx", "500.00"),
        ("mandate.total", "10000000000000.00"),
        ("expires", START + MAX_LIFE),
        ("not_before", END - 1),
        ("not_before", 1789999999),
        ("note", ""),
        ("note", "ü" * 200),
    ],
)
def test_grant_at_the_limits_of_its_shape_is_read(path: str, value: object) -> None:
    assert parse_grant(edited(path, value)).document[path.partition(".")[0]] is not None


@pytest.mark.parametrize(
    ("currency", "good", "bad"), [("JPY", "5000", "5000.00"), ("KWD", "5.000", "5.00"), ("USD", "5.00", "5")]
)
def test_amounts_have_exactly_the_digits_of_their_currency(currency: str, good: str, bad: str) -> None:
    mandate = {"currency": currency, "per_tx": good, "total": good}
    assert parse_grant(edited("mandate", mandate)).mandate is not None
    document = edited("mandate", mandate | {"total": bad})
    assert refusal(lambda: parse_grant(document)) == ("grant_invalid", "malformed")


def test_life_limit_is_the_callers() -> None:
    document = vector(expires=START + 3600)
    assert parse_grant(document, max_life=3600).expires == START + 3600
    assert refusal(lambda: parse_grant(document, max_life=3599)) == ("grant_invalid", "malformed")
    header = encode_chain([document])
    assert refusal(lambda: decode_header(header, max_life=3599)) == ("grant_invalid", "malformed")
    with pytest.raises(ValueError, match="expires"):
        vector(expires=START + MAX_LIFE + 1)
    assert vector(expires=START + MAX_LIFE + 1, max_life=MAX_LIFE + 1)


@pytest.mark.parametrize(
    "changes",
    [
        {"scopes": []},
        {"scopes": ["car*"]},
        {"audience": "https://shop.example"},
        {"expires": START},
        {"subject": "agent"},
        {"mandate": Mandate("EUX", 1, 1)},
        {"mandate": Mandate("USD", 0, 1)},
        {"delegate": 4},
        {"note": "x" * 201},
    ],
)
def test_issuing_a_malformed_grant_is_a_value_error(changes: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        vector(**changes)


def test_fresh_grants_differ_by_their_nonce() -> None:
    assert grant_id(vector(nonce=None)) != grant_id(vector(nonce=None))


# --- the header ---


def test_header_carries_the_chain_root_first() -> None:
    chain = attenuate([vector()], AGENT, subject=HELPER.public, scopes=["cart:write"])
    decoded = decode_header(encode_chain(chain))
    assert isinstance(decoded, list)
    assert [grant.document for grant in decoded] == chain


def test_grant_id_stands_for_a_chain_the_site_knows() -> None:
    assert decode_header("gr_STQLLkZXA20NVyyEY7wDX5") == "gr_STQLLkZXA20NVyyEY7wDX5"


def packed(text: bytes | str) -> str:
    return "v1." + b64url(text.encode() if isinstance(text, str) else text)


JCS = canonicalize([vector()])


@pytest.mark.parametrize(
    "header",
    [
        "",
        "v1.",
        "v1",
        "v2." + b64url(JCS),
        b64url(JCS),
        "v1." + b64url(JCS) + "=",
        " v1." + b64url(JCS),
        "v1." + b64url(JCS) + "\n",
        "gr_STQLLkZXA20NVyyEY7wDX",
        "gr_STQLLkZXA20NVyyEY7wDX5 ",
        "gr_STQLLkZXA20NVyyEY7wDX5\n",
        "session:abc",
        packed("["),
        packed("{}"),
        packed("[]"),
        packed("null"),
        packed("[[]]"),
        packed("[{}]"),
        packed("[" * 100),
        packed(JCS[1:-1]),
        packed(JCS + b"\n"),
        packed(JCS.replace(b'":', b'": ', 1)),
        packed(b"\xef\xbb\xbf" + JCS),
        packed(JCS.replace(b"cart:*", b"cart:\\u002a")),
        packed(JCS.replace(b'"delegate":1,', b'"delegate":1,"delegate":1,')),
        packed(JCS.replace(b'"delegate":1,', b'"delegate":1.0,')),
        packed(JCS.replace(b"1790000000", b"1.79e9")),
        packed(JCS.replace(b"1790000000", b"NaN")),
        packed(JCS.replace(b"1790000000", b"9007199254740993")),
        packed(JCS.replace(b"cart:*", b"cart:\xff")),
        packed(json.dumps([vector()], separators=(",", ":"))),
    ],
)
def test_malformed_header_is_refused(header: str) -> None:
    assert refusal(lambda: decode_header(header)) == ("grant_invalid", "malformed")


def test_header_beyond_8_kib_is_refused_before_it_is_decoded() -> None:
    document = vector(scopes=[f"a{i:02d}" + "x" * 85 for i in range(60)])
    assert len(packed(canonicalize([document]))) <= MAX_HEADER
    assert isinstance(decode_header(encode_chain([document])), list)
    larger = vector(scopes=[f"a{i:02d}" + "x" * 97 for i in range(60)])
    with pytest.raises(ValueError, match="8192"):
        encode_chain([larger])
    assert refusal(lambda: decode_header(packed(canonicalize([larger])))) == ("grant_invalid", "malformed")
    assert refusal(lambda: decode_header("gr_" * 5000)) == ("grant_invalid", "malformed")


def test_grant_of_a_session_is_refused_in_a_header() -> None:
    header = encode_chain([vector(subject="session:0123456789")])
    assert refusal(lambda: decode_header(header)) == ("grant_invalid", "malformed")


def test_chain_of_more_than_four_is_refused() -> None:
    five = [vector(nonce=None) for _ in range(MAX_CHAIN + 1)]
    header = packed(canonicalize(five))
    assert refusal(lambda: decode_header(header)) == ("grant_invalid", "chain")
    assert refusal(lambda: verify_chain(chain_of(*five), signed_by=None)) == ("grant_invalid", "chain")
    with pytest.raises(ValueError, match="1 to 4"):
        encode_chain(five)


def test_empty_chain_is_refused() -> None:
    assert refusal(lambda: verify_chain([], signed_by=None)) == ("grant_invalid", "chain")
    with pytest.raises(ValueError, match="1 to 4"):
        encode_chain([])
    assert refusal(lambda: attenuate([], AGENT, subject=HELPER.public)) == ("grant_invalid", "chain")


# --- signatures, links, holder ---


def test_chain_of_four_is_accepted() -> None:
    chain = [vector(delegate=3)]
    for signer, holder, depth in ((AGENT, HELPER, 2), (HELPER, THIRD, 1), (THIRD, FOURTH, 0)):
        chain = attenuate(chain, signer, subject=holder.public, delegate=depth)
    assert len(chain) == MAX_CHAIN
    verify_chain(chain_of(*chain), signed_by=FOURTH.public)


def test_signature_of_another_key_is_refused() -> None:
    forged = resigned(vector(), AGENT)
    assert refusal(lambda: verify_chain(chain_of(forged), signed_by=None)) == ("grant_invalid", "signature")


def test_signature_under_another_label_is_refused() -> None:
    forged = sign_document(vector(), PERSON, label="agent-receipt/0.1")
    assert refusal(lambda: verify_chain(chain_of(forged), signed_by=None)) == ("grant_invalid", "signature")


@pytest.mark.parametrize("position", [0, 1, 2])
def test_every_member_of_a_chain_must_be_signed(position: int) -> None:
    chain = attenuate([vector(delegate=2)], AGENT, subject=HELPER.public, delegate=1)
    chain = attenuate(chain, HELPER, subject=THIRD.public)
    chain[position] = chain[position] | {"sig": b64url(bytes(64))}
    assert refusal(lambda: verify_chain(chain_of(*chain), signed_by=None)) == ("grant_invalid", "signature")


def test_holder_other_than_the_requests_signer_is_refused() -> None:
    chain = chain_of(vector())
    verify_chain(chain, signed_by=AGENT.public)
    verify_chain(chain, signed_by=None)
    assert refusal(lambda: verify_chain(chain, signed_by=PERSON.public)) == ("grant_invalid", "wrong_agent")


def test_parent_does_not_count_as_holder_of_its_child() -> None:
    chain = chain_of(*attenuate([vector()], AGENT, subject=HELPER.public))
    assert refusal(lambda: verify_chain(chain, signed_by=AGENT.public)) == ("grant_invalid", "wrong_agent")


def child_of(parent: dict[str, Any], signer: SigningKey = AGENT, **changes: Any) -> dict[str, Any]:
    return vector(
        **(
            {
                "issuer": signer,
                "subject": HELPER.public,
                "parent": grant_id(parent),
                "delegate": 0,
                "mandate": None,
            }
            | changes
        )
    )


BROKEN_CHAINS: list[Callable[[], list[dict[str, Any]]]] = [
    lambda: [child_of(vector())],  # a child alone
    lambda: [child_of(vector()), vector()],  # leaf first
    lambda: [vector(), vector(nonce=None)],  # no link at all
    lambda: [vector(), child_of(vector(nonce=None))],  # the child of another
    lambda: [vector(), child_of(vector(), PERSON)],  # issued by the root's issuer, not by its holder
    lambda: [vector(), child_of(vector(), HELPER)],  # issued by a stranger
    lambda: [vector(), vector()],
]


@pytest.mark.parametrize("build", BROKEN_CHAINS)
def test_broken_link_is_refused(build: Callable[[], list[dict[str, Any]]]) -> None:
    chain = chain_of(*build())
    assert refusal(lambda: verify_chain(chain, signed_by=None)) == ("grant_invalid", "chain")


# --- narrowing ---

WIDER: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    ("a scope beside", {}, {"scopes": ["cart:write", "orders"]}),
    ("a wildcard over an exact scope", {}, {"scopes": ["checkout:*"]}),
    ("everything", {}, {"scopes": ["*"]}),
    ("the bare name of a wildcard", {}, {"scopes": ["cart"]}),
    ("a sibling prefix", {}, {"scopes": ["cartel:write"]}),
    ("another audience", {}, {"audience": "other.example"}),
    ("another port", {}, {"audience": "shop.example:8443"}),
    ("an earlier start", {}, {"not_before": START - 1}),
    ("a later end", {}, {"expires": END + 1}),
    ("the same delegate", {"delegate": 1}, {"delegate": 1}),
    ("a larger delegate", {"delegate": 1}, {"delegate": 2}),
    ("delegation without the right", {"delegate": 0}, {"delegate": 0}),
    ("more uses", {"one_time": True}, {}),
    ("a mandate from nothing", {"mandate": None}, {"mandate": Mandate("USD", 1, 1)}),
    ("another currency", {}, {"mandate": Mandate("EUR", 1, 1)}),
    ("a larger per_tx", {}, {"mandate": Mandate("USD", 50_01, 100_00)}),
    ("a larger total", {}, {"mandate": Mandate("USD", 10_00, 200_01)}),
]


@pytest.mark.parametrize(("what", "parent", "child"), WIDER, ids=[what for what, _, _ in WIDER])
def test_child_that_is_wider_is_refused(what: str, parent: dict[str, Any], child: dict[str, Any]) -> None:
    root = vector(**parent)
    chain = chain_of(root, child_of(root, **child))
    assert refusal(lambda: verify_chain(chain, signed_by=None)) == ("grant_invalid", "not_narrower")


NARROWER: list[tuple[dict[str, Any], dict[str, Any]]] = [
    ({}, {}),
    ({}, {"scopes": ["cart:*"]}),
    ({}, {"scopes": ["cart:item:*", "cart:write"]}),
    ({"scopes": ["*"]}, {"scopes": ["*"]}),
    ({}, {"not_before": START + 1, "expires": END - 1}),
    ({}, {"mandate": Mandate("USD", 50_00, 200_00)}),
    ({}, {"mandate": Mandate("USD", 1, 1)}),
    ({}, {"one_time": True}),
    ({"one_time": True}, {"one_time": True}),
    ({"delegate": 3}, {"delegate": 2}),
]


@pytest.mark.parametrize(("parent", "child"), NARROWER)
def test_child_that_is_equal_or_narrower_is_accepted(parent: dict[str, Any], child: dict[str, Any]) -> None:
    root = vector(**parent)
    verify_chain(chain_of(root, child_of(root, **child)), signed_by=HELPER.public)


def test_narrowing_is_checked_against_the_direct_parent() -> None:
    chain = attenuate([vector(delegate=2)], AGENT, subject=HELPER.public, scopes=["checkout"], delegate=1)
    grandchild = child_of(chain[1], HELPER, subject=THIRD.public, scopes=["cart:write"])
    wide = chain_of(*chain, grandchild)
    assert refusal(lambda: verify_chain(wide, signed_by=None)) == ("grant_invalid", "not_narrower")


# --- attenuate ---


def test_attenuated_child_gives_no_mandate_and_no_delegation_unless_named() -> None:
    child = parse_grant(attenuate([vector()], AGENT, subject=HELPER.public)[1])
    assert (child.mandate, child.delegate, child.one_time) == (None, 0, False)
    assert (child.scopes, child.not_before, child.expires) == (("cart:*", "checkout"), START, END)


def test_attenuated_child_has_what_is_named() -> None:
    chain = attenuate(
        [vector()],
        AGENT,
        subject=HELPER.public,
        scopes=["cart:write"],
        mandate=Mandate("USD", 5_00, 20_00),
        one_time=True,
        not_before=START + 10,
        expires=END - 10,
        note="just once",
        nonce="B" * 21 + "A",
    )
    child = parse_grant(chain[1])
    assert chain[0] == vector()
    assert (child.issuer, child.subject, child.parent) == (AGENT.public, HELPER.public, grant_id(chain[0]))
    assert (child.scopes, child.mandate, child.one_time) == (("cart:write",), Mandate("USD", 500, 2000), True)
    assert (child.not_before, child.expires, child.note) == (START + 10, END - 10, "just once")


def test_one_time_cannot_be_lost_by_attenuation() -> None:
    assert parse_grant(attenuate([vector(one_time=True)], AGENT, subject=HELPER.public)[1]).one_time


def test_attenuation_with_another_key_than_the_leafs_is_refused() -> None:
    assert refusal(lambda: attenuate([vector()], HELPER, subject=THIRD.public)) == ("grant_invalid", "chain")


def test_attenuation_beyond_the_depth_is_refused() -> None:
    chain = attenuate([vector()], AGENT, subject=HELPER.public)
    assert refusal(lambda: attenuate(chain, HELPER, subject=THIRD.public)) == (
        "grant_invalid",
        "not_narrower",
    )


def test_attenuation_to_more_than_the_parent_has_is_refused() -> None:
    assert refusal(lambda: attenuate([vector()], AGENT, subject=HELPER.public, scopes=["*"])) == (
        "grant_invalid",
        "not_narrower",
    )


# --- audience and time ---


def test_grant_of_another_site_is_refused_and_names_its_site() -> None:
    chain = chain_of(*attenuate([vector()], AGENT, subject=HELPER.public))
    check_audience(chain, "shop.example")
    for site in ("other.example", "shop.example:8443", "shop.example.", "SHOP.example", ""):
        with pytest.raises(AuthenticationError) as caught:
            check_audience(chain, site)
        assert (caught.value.code, caught.value.status) == ("grant_wrong_site", 403)
        assert caught.value.extra["audience"] == "shop.example"


def test_grant_is_valid_from_its_start_until_just_before_its_end() -> None:
    chain = chain_of(vector())
    check_time(chain, START)
    check_time(chain, END - 0.001)
    with pytest.raises(AuthenticationError) as early:
        check_time(chain, START - 0.001)
    assert (early.value.code, early.value.extra["not_before"]) == ("grant_not_yet_valid", START)
    with pytest.raises(AuthenticationError) as late:
        check_time(chain, END)
    assert (late.value.code, late.value.extra["expires"]) == ("grant_expired", END)
    assert late.value.extra["grant"] == "gr_STQLLkZXA20NVyyEY7wDX5"


def test_time_of_every_member_counts() -> None:
    chain = chain_of(
        *attenuate([vector()], AGENT, subject=HELPER.public, not_before=START + 100, expires=END - 100)
    )
    check_time(chain, START + 100)
    for moment, code in ((START + 50, "grant_not_yet_valid"), (END - 50, "grant_expired")):
        with pytest.raises(AuthenticationError) as caught:
            check_time(chain, moment)
        assert (caught.value.code, caught.value.extra["grant"]) == (code, chain[1].id)


# --- every change is seen ---


def is_accepted(data: bytes) -> bool:
    """Would a site that reads this text as a chain of one accept it as the agent's?"""
    try:
        document = loads(data)
        verify_chain([parse_grant(document)], signed_by=AGENT.public)
    except AgentError:
        return False
    return True


def test_every_change_of_one_byte_of_a_grant_text_is_refused() -> None:
    text = canonicalize(vector(note='for "Zoë" \\ and me'))
    assert is_accepted(text)
    for position, old in enumerate(text):
        # every single-bit change, and a few that JSON would take most kindly
        for new in {old ^ (1 << bit) for bit in range(8)} | set(b' 0"\\aA}'):
            if new != old:
                changed = text[:position] + bytes([new]) + text[position + 1 :]
                assert not is_accepted(changed), (position, bytes([old]), bytes([new]))


def read_and_verify(header: str, holder: SigningKey) -> None:
    chain = decode_header(header)
    assert isinstance(chain, list)
    verify_chain(chain, signed_by=holder.public)


def test_every_change_of_one_character_of_a_header_is_refused() -> None:
    header = encode_chain(attenuate([vector()], AGENT, subject=HELPER.public, nonce="A" * 22))
    for position, old in enumerate(header):
        for new in {chr(ord(old) ^ (1 << bit)) for bit in range(7)} | set("A_=. "):
            if new == old:
                continue
            changed = header[:position] + new + header[position + 1 :]
            assert refusal(lambda: read_and_verify(changed, HELPER))[0] == "grant_invalid"  # noqa: B023


def test_every_cut_and_every_doubled_character_of_a_header_is_refused() -> None:
    header = encode_chain([vector()])
    for position in range(len(header)):
        for changed in (
            header[:position],
            header[:position] + header[position + 1 :],
            header[: position + 1] + header[position:],
        ):
            with pytest.raises(AuthenticationError):
                read_and_verify(changed, AGENT)


def test_signature_texts_decode_to_one_signature_only() -> None:
    document = vector()
    last = document["sig"][-1]
    assert b64url_decode(document["sig"], length=64)
    alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
    others = [document | {"sig": document["sig"][:-1] + char} for char in alphabet if char != last]
    for other in others:
        with pytest.raises(AuthenticationError):
            verify_chain([parse_grant(other)], signed_by=None)


# --- no child is accepted where its parent is not ---

SEGMENT = st.sampled_from(["a", "ab", "b"])
SCOPE = st.lists(SEGMENT, min_size=1, max_size=3).map(":".join)
PATTERN = st.one_of(
    st.just("*"), SCOPE, st.lists(SEGMENT, min_size=1, max_size=2).map(lambda parts: ":".join(parts) + ":*")
)
SPENDING = st.builds(
    Mandate, st.sampled_from(["USD", "USD", "USD", "EUR"]), st.integers(1, 4), st.integers(1, 4)
)
MANDATE = st.one_of(SPENDING, SPENDING, st.none())
TERMS = st.fixed_dictionaries(
    {
        "scopes": st.lists(PATTERN, min_size=1, max_size=3),
        "mandate": MANDATE,
        "audience": st.just("shop.example"),
        "not_before": st.integers(START, START + 2),
        "expires": st.integers(END, END + 2),
        "one_time": st.booleans(),
        "delegate": st.integers(0, 3).map(lambda depth: 3 - depth),
    }
)


def gives(pattern: str, scope: str) -> bool:
    """The matching rule once more, by hand, so that the code under test does not judge itself."""
    have, want = pattern.split(":"), scope.split(":")
    if have == ["*"]:
        return True
    if have[-1] == "*":
        return len(want) >= len(have) and want[: len(have) - 1] == have[:-1]
    return have == want


def allows(
    grant: GrantDocument, *, scope: str, charge: tuple[str, int, int] | None, at: int, site: str
) -> bool:
    """``charge`` is (currency, amount, spent so far)."""
    if not any(gives(pattern, scope) for pattern in grant.scopes):
        return False
    if site != grant.audience or not grant.not_before <= at < grant.expires:
        return False
    if charge is None:
        return True
    currency, amount, spent = charge
    mandate = grant.mandate
    return (
        mandate is not None
        and mandate.currency == currency
        and amount <= mandate.per_tx
        and spent + amount <= mandate.total
    )


def is_accepted_chain(chain: list[GrantDocument]) -> bool:
    try:
        verify_chain(chain, signed_by=None)
    except AuthenticationError:
        return False
    return True


USES: dict[str, list[Any]] = {
    "scope": [":".join(parts) for size in (1, 2, 3) for parts in product(["a", "ab", "b"], repeat=size)],
    "charge": [None, *product(["USD", "EUR"], range(1, 6), range(5))],
    "at": [START - 1, START, START + 1, START + 2, END - 1, END, END + 1, END + 2],
    "site": ["shop.example", "other.example"],
}


def uses_of(grant: GrantDocument) -> Iterator[dict[str, Any]]:
    """Everything the grant allows, one dimension at a time (they do not depend on each other)."""
    base = {
        "scope": grant.scopes[0].replace("*", "b"),
        "charge": None,
        "at": grant.not_before,
        "site": grant.audience,
    }
    for name, values in USES.items():
        for value in values:
            if allows(grant, **(base | {name: value})):
                yield base | {name: value}


def with_mandate(change: Callable[[Mandate], Mandate]) -> Callable[[Any], Any]:
    return lambda mandate: change(mandate or Mandate("USD", 1, 1))


EDITS: list[tuple[str, Callable[[Any], Any]]] = [
    ("scopes", lambda scopes: [*scopes, "b:*"]),
    ("scopes", lambda scopes: ["a:" + scope.replace("*", "b") for scope in scopes]),
    ("audience", lambda audience: "other.example"),
    ("not_before", lambda start: start - 1),
    ("not_before", lambda start: start + 1),
    ("expires", lambda end: end - 1),
    ("expires", lambda end: end + 1),
    ("one_time", lambda one_time: not one_time),
    ("delegate", lambda depth: min(3, depth + 1)),
    ("mandate", lambda mandate: None),
    ("mandate", with_mandate(lambda mandate: replace(mandate, currency="EUR"))),
    ("mandate", with_mandate(lambda mandate: replace(mandate, per_tx=mandate.per_tx + 1))),
    ("mandate", with_mandate(lambda mandate: replace(mandate, total=mandate.total + 1))),
    ("mandate", with_mandate(lambda mandate: replace(mandate, per_tx=1, total=1))),
]


@pytest.mark.parametrize("edit", range(len(EDITS)))
@settings(max_examples=examples(30), deadline=None)
@given(parent=TERMS, others=st.lists(st.sampled_from(EDITS), max_size=1))
def test_no_child_is_accepted_where_its_parent_is_not(
    edit: int, parent: dict[str, Any], others: list[tuple[str, Callable[[Any], Any]]]
) -> None:
    # A child that differs in few members, so that many are accepted.
    child = parent | {"delegate": max(0, parent["delegate"] - 1)}
    for name, change in [EDITS[edit], *others]:
        child = child | {name: change(child[name])}
    root = vector(**parent)
    chain = chain_of(root, child_of(root, **child))
    if not is_accepted_chain(chain):
        return
    above, below = chain
    for use in uses_of(below):
        assert allows(above, **use)
    assert below.delegate < above.delegate
    assert below.one_time or not above.one_time


@settings(deadline=None)
@given(
    parent=TERMS,
    drop=st.integers(0, 2),
    start=st.integers(0, 1),
    end=st.integers(0, 1),
    one_time=st.booleans(),
    keep_mandate=st.booleans(),
)
def test_child_built_from_less_is_always_accepted(
    parent: dict[str, Any], drop: int, start: int, end: int, one_time: bool, keep_mandate: bool
) -> None:
    root = vector(**(parent | {"delegate": max(1, parent["delegate"])}))
    chain = attenuate(
        [root],
        AGENT,
        subject=HELPER.public,
        scopes=parent["scopes"][drop:] or parent["scopes"],
        mandate=parent["mandate"] if keep_mandate else None,
        one_time=one_time,
        not_before=parent["not_before"] + start,
        expires=parent["expires"] - end,
    )
    verify_chain(chain_of(*chain), signed_by=HELPER.public)


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@settings(deadline=None)
@given(name=st.sampled_from([*vector(), "parent", "note", "one_time"]), value=ANYTHING)
def test_any_value_in_any_member_is_read_or_refused_as_malformed(name: str, value: Any) -> None:
    document = vector() | {name: value}
    try:
        read_grant(document, MAX_LIFE)
    except ValueError:
        assert refusal(lambda: parse_grant(document)) == ("grant_invalid", "malformed")


@settings(deadline=None)
@given(text=st.text(max_size=200) | st.binary(max_size=200).map(lambda data: "v1." + b64url(data)))
def test_any_header_is_read_or_refused_as_malformed(text: str) -> None:
    def read() -> str:
        try:
            decode_header(text)
        except AuthenticationError as error:
            return error.code
        return "read"

    assert read() in {"read", "grant_invalid"}
