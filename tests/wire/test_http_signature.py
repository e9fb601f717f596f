import hashlib
import string
import time
from dataclasses import replace

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from http_message_signatures import (
    HTTPMessageVerifier,
    HTTPSignatureKeyResolver,
    InvalidSignature,
    algorithms,
)

from agentweb.wire.errors import AuthenticationError
from agentweb.wire.http_signature import (
    SignedRequest,
    authority_of,
    check_freshness,
    content_digest,
    parse_signature,
    sign_request,
    target_of,
    verify_request,
)
from agentweb.wire.signing import SigningKey, parse_public_key

AGENT = SigningKey.from_seed(hashlib.sha256(b"agent").digest())
OTHER = SigningKey.from_seed(hashlib.sha256(b"person").digest())
URL = "https://shop.example/api/cart?ref=a%20b"
BODY = b'{"product_id":"sku-1","quantity":2}'
CREATED = 1790000100
HEADERS = {
    "Content-Type": "application/json",
    "Agent-Grant": "gr_STQLLkZXA20NVyyEY7wDX5",
    "Idempotency-Key": "6f1d2c1e-0000-4000-8000-000000000001",
}
GET_HEADERS = {"Agent-Grant": HEADERS["Agent-Grant"]}


def signed(*, method="POST", url=URL, body=BODY, headers=HEADERS, key=AGENT, created=CREATED, **options):
    """The request as a server sees it."""
    added = sign_request(
        method=method, url=url, body=body, key=key, headers=headers, created=created, **options
    )
    path, query = target_of(url)
    present = {name.lower(): value for name, value in {**headers, **added}.items()}
    return SignedRequest(method, authority_of(url), path, query, present, body)


def with_headers(request, **changes):
    """``None`` removes a header."""
    headers = {**request.headers, **{name.replace("_", "-"): value for name, value in changes.items()}}
    return replace(request, headers={name: value for name, value in headers.items() if value is not None})


def check(request, *, key=AGENT.public, now=CREATED + 1):
    """Everything a verifier does; returns "ok" or the code and reason."""
    try:
        parsed = parse_signature(request)
        check_freshness(parsed, now)
        verify_request(request, parsed, key)
    except AuthenticationError as error:
        reason = error.extra.get("reason")
        return f"{error.code}/{reason}" if reason else error.code
    return "ok"


VECTOR = signed(nonce="A" * 22)


def test_the_known_request_has_the_known_signature():
    assert VECTOR.headers["signature"] == (
        "agent=:hihozeEIzKp/HmR/md3rFQ0iihG67c/ZhajIWtejC4ASiVy24dOebrR2DTwL5RxhvVxq86+D2B4sWcIzjXpaDA==:"
    )
    assert VECTOR.headers["signature-input"] == (
        'agent=("@method" "@authority" "@path" "@query" "content-digest" "content-type" "agent-grant" '
        f'"idempotency-key");created=1790000100;expires=1790000160;nonce="{"A" * 22}";alg="ed25519";'
        'keyid="MEvZ2Aj17tpo3SBEHFFPvV72b3Qih3CH9nAKVNflovk";tag="agent-actions"'
    )
    assert VECTOR.headers["content-digest"] == "sha-256=:eoksLauCV69oU9Osi6bHv3zSB6XCyQ8QMhg+jWa31I8=:"
    assert check(VECTOR) == "ok"


def test_the_parsed_signature_has_its_parts():
    parsed = parse_signature(VECTOR)
    assert parsed.components == (
        "@method",
        "@authority",
        "@path",
        "@query",
        "content-digest",
        "content-type",
        "agent-grant",
        "idempotency-key",
    )
    assert (parsed.created, parsed.expires, parsed.nonce) == (CREATED, CREATED + 60, "A" * 22)
    assert parsed.keyid == AGENT.thumbprint
    assert len(parsed.signature) == 64
    assert VECTOR.headers["signature-input"] == f"agent={parsed.params}"


# --- an independent verifier ---


class Keys(HTTPSignatureKeyResolver):
    def resolve_public_key(self, key_id):
        assert key_id == AGENT.thumbprint
        return Ed25519PublicKey.from_public_bytes(parse_public_key(AGENT.public))


class Message:
    def __init__(self, request, url):
        self.method = request.method
        self.url = url
        self.headers = dict(request.headers)


REQUESTS = {
    "POST": {},
    "GET": {
        "method": "GET",
        "url": "https://shop.example/items?q=%C3%A9&q=2",
        "body": b"",
        "headers": GET_HEADERS,
    },
    "GET without query": {
        "method": "GET",
        "url": "https://shop.example",
        "body": b"",
        "headers": GET_HEADERS,
    },
    "DELETE with port": {
        "method": "DELETE",
        "url": "http://Shop.Example:8080/api/items/7",
        "body": b"",
        "headers": {**GET_HEADERS, "Idempotency-Key": "k" * 16},
    },
    "default port": {"url": "https://SHOP.example:443/a"},
    "IPv6 host": {"url": "http://[2001:DB8::1]:8000/a;b//c?%2F"},
    "agent key": {"headers": {"Content-Type": "application/json", "Agent-Key": AGENT.public}},
    "empty POST": {"body": b"", "headers": GET_HEADERS},
}


@pytest.mark.parametrize("name", REQUESTS)
def test_an_independent_library_verifies_what_we_sign(name):
    options = {"url": URL, **REQUESTS[name]}
    request = signed(**options, created=int(time.time()))
    assert check(request, now=time.time()) == "ok"
    verifier = HTTPMessageVerifier(signature_algorithm=algorithms.ED25519, key_resolver=Keys())
    message = Message(request, options["url"])
    [result] = verifier.verify(message, expect_tag="agent-actions")
    assert list(result.covered_components)[:4] == ['"@method"', '"@authority"', '"@path"', '"@query"']
    message.method = "PUT"
    with pytest.raises(InvalidSignature):
        verifier.verify(message, expect_tag="agent-actions")


# --- mutations ---


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"method": "PUT"}, "signature_invalid/signature"),
        ({"method": "post"}, "signature_invalid/signature"),
        ({"path": "/api/cart/"}, "signature_invalid/signature"),
        ({"path": "/api/Cart"}, "signature_invalid/signature"),
        ({"query": "?ref=a+b"}, "signature_invalid/signature"),
        ({"query": "?"}, "signature_invalid/signature"),
        ({"query": "?ref=a%20b&x"}, "signature_invalid/signature"),
        ({"authority": "shop.example.evil"}, "signature_invalid/signature"),
        ({"authority": "shop.example:8443"}, "signature_invalid/signature"),
        ({"body": BODY + b" "}, "signature_invalid/digest"),
        ({"body": b""}, "signature_invalid/digest"),
    ],
)
def test_a_changed_request_is_refused(change, expected):
    assert check(replace(VECTOR, **change)) == expected


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"agent_grant": "gr_AAAAAAAAAAAAAAAAAAAAAA"}, "signature_invalid/signature"),
        ({"agent_grant": None}, "signature_invalid/coverage"),
        ({"agent_grant": None, "agent_key": AGENT.public}, "signature_invalid/coverage"),
        ({"agent_key": AGENT.public}, "signature_invalid/coverage"),
        ({"idempotency_key": "another-key-of-mine"}, "signature_invalid/signature"),
        ({"idempotency_key": None}, "signature_invalid/coverage"),
        ({"content_type": "text/plain"}, "signature_invalid/signature"),
        ({"content_type": None}, "signature_invalid/coverage"),
        ({"content_digest": None}, "signature_invalid/coverage"),
        ({"content_digest": content_digest(b"other")}, "signature_invalid/digest"),
        ({"content_digest": content_digest(BODY).replace("sha-256", "sha-512")}, "signature_invalid/digest"),
        ({"content_digest": content_digest(BODY).replace("=:", ":", 1)}, "signature_invalid/digest"),
        ({"signature": None}, "signature_invalid/malformed"),
        ({"signature_input": None}, "signature_invalid/malformed"),
    ],
)
def test_a_changed_header_is_refused(changes, expected):
    assert check(with_headers(VECTOR, **changes)) == expected


def test_another_key_is_refused():
    assert check(VECTOR, key=OTHER.public) == "signature_invalid/key"
    assert check(VECTOR, key="ed25519:nonsense") == "signature_invalid/key"


def test_the_keyid_of_a_key_does_not_help_another_key_s_signature():
    forged = signed(key=OTHER)
    forged = with_headers(
        forged, signature_input=forged.headers["signature-input"].replace(OTHER.thumbprint, AGENT.thumbprint)
    )
    assert check(forged) == "signature_invalid/signature"


def test_headers_outside_the_profile_do_not_matter():
    assert check(with_headers(VECTOR, user_agent="x", accept="\u00e9\n")) == "ok"


def every_change_of_one_character(text):
    """Each character replaced (case flipped and by a neighbour), dropped and doubled, and one more at each end."""
    for index, character in enumerate(text):
        for other in {character.swapcase(), chr(ord(character) ^ 1), " ", "\n", "\x00", "é", ",", ""} - {
            character
        }:
            yield text[:index] + other + text[index + 1 :]
        yield text[:index] + character + text[index:]
    for extra in " \t\r\n\x00,a\u00e9\ud800":
        yield extra + text
        yield text + extra


@pytest.mark.parametrize("part", ["method", "authority", "path", "query"])
def test_every_change_of_one_character_of_the_target_is_refused(part):
    for value in every_change_of_one_character(getattr(VECTOR, part)):
        assert check(replace(VECTOR, **{part: value})).startswith("signature_invalid/"), value


@pytest.mark.parametrize("name", sorted(VECTOR.headers))
def test_every_change_of_one_character_of_a_header_is_refused(name):
    original = VECTOR.headers[name]
    for value in every_change_of_one_character(original):
        if value == original:  # a doubled character of an equal pair dropped and added
            continue
        outcome = check(replace(VECTOR, headers={**VECTOR.headers, name: value}))
        assert outcome.startswith(("signature_invalid/", "signature_expired")), value


def test_every_flipped_bit_of_the_body_is_refused():
    for bit in range(len(BODY) * 8):
        body = bytearray(BODY)
        body[bit // 8] ^= 1 << bit % 8
        assert check(replace(VECTOR, body=bytes(body))) == "signature_invalid/digest"


def test_a_parsed_signature_proves_nothing_about_another_request():
    parsed = parse_signature(VECTOR)
    for other in (
        with_headers(VECTOR, idempotency_key=None),
        replace(VECTOR, path="/api/other"),
        with_headers(VECTOR, agent_grant="a\nb"),
        with_headers(VECTOR, agent_grant=None, agent_key=AGENT.public),
    ):
        with pytest.raises(AuthenticationError):
            verify_request(other, parsed, AGENT.public)


# --- the strict profile ---


def resigned(old, new):
    """A signature that is right about a Signature-Input outside the profile, made with the agent's own key."""
    given = VECTOR.headers["signature-input"]
    assert old in given
    return with_headers(VECTOR, signature_input=given.replace(old, new, 1))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("agent=", "sig1="),
        ("agent=", "Agent="),
        ("agent=", " agent="),
        ("agent=", "agent= "),
        ('"@method" "@authority"', '"@authority" "@method"'),
        ('"@method" ', '"@method"  '),
        ('"@method" ', '"@method";req '),
        ('"@path"', '"@target-uri"'),
        ('"content-type" "agent-grant"', '"agent-grant" "content-type"'),
        ('"content-type" "agent-grant"', '"agent-grant"'),
        ('"@query" ', ""),
        ('"idempotency-key"', '"idempotency-key" "date"'),
        ('"idempotency-key"', '"idempotency-key" "idempotency-key"'),
        ('"content-type"', '"Content-Type"'),
        ('"content-type"', "content-type"),
        (");created", "); created"),
        (";created=1790000100", ""),
        (";created=1790000100", ";created=01790000100"),
        (";created=1790000100", ";created=1790000100.0"),
        (";created=1790000100", ";created=-1"),
        (";created=1790000100", ";created=1790000100;created=1790000100"),
        (";created=1790000100;expires=1790000160", ";expires=1790000160;created=1790000100"),
        (";expires=1790000160", ""),
        ("=1790000160", "=1790000160" + "0" * 30),
        ("=1790000160", "=１790000160"),
        ("A" * 22, "A" * 21),
        ("A" * 22, "A" * 65),
        ("A" * 22, "A" * 21 + "+"),
        ("A" * 22, "A" * 21 + '\\"'),
        (';alg="ed25519"', ""),
        (';alg="ed25519"', ';alg="hmac-sha256"'),
        (';alg="ed25519"', ';alg="ED25519"'),
        (';alg="ed25519"', ";alg=ed25519"),
        ('keyid="', 'keyid="A'),
        (';tag="agent-actions"', ""),
        (';tag="agent-actions"', ';tag="web-bot-auth"'),
        (';tag="agent-actions"', ';tag="agent-actions";x=1'),
        (';tag="agent-actions"', ';tag="agent-actions" '),
    ],
)
def test_signature_input_has_one_spelling(old, new):
    assert check(resigned(old, new)) in {"signature_invalid/malformed", "signature_invalid/coverage"}


@pytest.mark.parametrize(
    "name", ["signature", "signature-input", "content-digest", "content-type", "agent-grant"]
)
@pytest.mark.parametrize("separator", [",", ", "])
def test_a_header_sent_twice_is_refused(name, separator):
    value = VECTOR.headers[name]
    request = replace(VECTOR, headers={**VECTOR.headers, name: value + separator + value})
    assert check(request) == "signature_invalid/malformed"


def test_a_second_signature_is_refused_even_with_another_label():
    request = with_headers(
        VECTOR,
        signature=VECTOR.headers["signature"]
        + ", "
        + VECTOR.headers["signature"].replace("agent=", "other="),
        signature_input=VECTOR.headers["signature-input"]
        + ", "
        + VECTOR.headers["signature-input"].replace("agent=", "other=", 1),
    )
    assert check(request) == "signature_invalid/malformed"


@pytest.mark.parametrize(
    "value",
    [
        "",
        "agent=",
        "agent=::",
        "agent=:AAAA:",
        "agent=:%s:" % ("A" * 88),
        "agent=:%s=:" % ("A" * 87),
        "agent=:%sB==:" % ("A" * 85),
    ],
)
def test_a_signature_is_the_canonical_base64_of_64_bytes(value):
    assert check(with_headers(VECTOR, signature=value)) == "signature_invalid/malformed"


@pytest.mark.parametrize(
    "value", ["", " gr_x", "gr_x ", "gr\tx", "gr\x00x", "gr_x\r\nagent-key: y", "gr_é", "gr\x7f", "\ud800"]
)
def test_values_that_could_forge_a_line_are_malformed(value):
    assert check(with_headers(VECTOR, agent_grant=value)) == "signature_invalid/malformed"


@pytest.mark.parametrize(
    "change",
    [
        {"method": ""},
        {"method": 'POST\n"@path": /x'},
        {"authority": "Shop.example"},
        {"authority": ""},
        {"authority": "user@shop.example"},
        {"authority": "shop.example:"},
        {"path": ""},
        {"path": "api/cart"},
        {"path": "/é"},
        {"path": "/a b"},
        {"query": ""},
        {"query": "ref=a"},
        {"query": "?a b"},
        {"query": '?\n"content-type": x'},
    ],
)
def test_a_target_that_cannot_be_signed_is_malformed(change):
    assert check(replace(VECTOR, **change)) == "signature_invalid/malformed"


def test_the_agent_key_stands_in_the_grant_s_place():
    headers = {**HEADERS, "Agent-Key": AGENT.public}
    del headers["Agent-Grant"]
    request = signed(headers=headers)
    assert parse_signature(request).components[4:] == (
        "content-digest",
        "content-type",
        "agent-key",
        "idempotency-key",
    )
    assert check(request) == "ok"
    assert check(with_headers(request, agent_key=OTHER.public)) == "signature_invalid/signature"


def test_an_unsigned_digest_is_not_enough_to_drop_the_body():
    request = signed(method="GET", body=b"", headers=GET_HEADERS)
    assert check(request) == "ok"
    assert check(replace(request, body=b"x")) == "signature_invalid/coverage"
    added = with_headers(request, content_digest=content_digest(b"x"), content_type="application/json")
    assert check(replace(added, body=b"x")) == "signature_invalid/coverage"


def test_a_digest_without_a_body_is_checked_too():
    request = signed(body=b"", headers={**GET_HEADERS, "Content-Digest": content_digest(b"")})
    assert check(request) == "ok"
    request = signed(body=b"", headers={**GET_HEADERS, "Content-Digest": content_digest(b"x")})
    assert check(request) == "signature_invalid/digest"


def test_sent_and_expected_coverage_are_named():
    with pytest.raises(
        AuthenticationError, match="@query content-digest content-type agent-grant idempotency-key"
    ):
        parse_signature(resigned('"@query" ', ""))


# --- time ---


@pytest.mark.parametrize(
    ("now", "expected"),
    [
        (CREATED - 61, "signature_expired/future"),
        (CREATED - 60, "ok"),
        (CREATED, "ok"),
        (CREATED + 60, "ok"),
        (CREATED + 60.5, "signature_expired"),
        (CREATED + 10**9, "signature_expired"),
    ],
)
def test_a_signature_is_valid_from_one_minute_before_it_was_created_until_it_expires(now, expected):
    assert check(VECTOR, now=now) == expected


@pytest.mark.parametrize(
    ("expires", "expected"),
    [
        (300, "ok"),
        (301, "signature_expired/window"),
        (0, "signature_expired/window"),
        (-1, "signature_expired/window"),
    ],
)
def test_a_signature_lives_at_most_five_minutes(expires, expected):
    request = resigned(f";expires={CREATED + 60}", f";expires={CREATED + expires}")
    # Not signed again: freshness is decided before the signature is looked at.
    assert check(request) == (expected if expected != "ok" else "signature_invalid/signature")
    assert check(signed(lifetime=300)) == "ok"


def test_the_server_tells_its_time_in_whole_seconds():
    with pytest.raises(AuthenticationError) as caught:
        check_freshness(parse_signature(VECTOR), CREATED + 99.9)
    assert caught.value.extra == {"server_time": CREATED + 99}
    assert caught.value.status == 401
    with pytest.raises(AuthenticationError) as caught:
        check_freshness(parse_signature(VECTOR), CREATED - 100.0)
    assert caught.value.extra == {"server_time": CREATED - 100, "reason": "future"}


def test_limits_of_time_can_be_set():
    parsed = parse_signature(VECTOR)
    check_freshness(parsed, CREATED - 100, skew=100)
    with pytest.raises(AuthenticationError):
        check_freshness(parsed, CREATED, max_window=59)


# --- signing ---


def test_signatures_have_fresh_nonces():
    assert len({parse_signature(signed()).nonce for _ in range(50)}) == 50


@pytest.mark.parametrize(
    "options",
    [
        {"lifetime": 0},
        {"lifetime": 301},
        {"created": -1},
        {"nonce": "short"},
        {"headers": {"Content-Type": "application/json"}},
        {"headers": {**HEADERS, "Agent-Key": AGENT.public}},
        {"headers": GET_HEADERS},  # a body without content type
        {"headers": {**HEADERS, "Idempotency-Key": "a\nb"}},
        {"method": "PO ST"},
        {"url": "https://shop.example/é"},
        {"url": "https://shop.example/a b"},
        {"url": "/api/cart"},
    ],
)
def test_what_the_profile_cannot_sign_is_a_value_error(options):
    with pytest.raises(ValueError):  # noqa: PT011 - several reasons
        signed(**options)


@pytest.mark.parametrize(
    ("url", "authority"),
    [
        ("https://Shop.Example", "shop.example"),
        ("https://shop.example:443/x", "shop.example"),
        ("http://shop.example:80", "shop.example"),
        ("http://shop.example:443", "shop.example:443"),
        ("https://shop.example:8443/", "shop.example:8443"),
        ("HTTPS://SHOP.example:443", "shop.example"),
        ("http://127.0.0.1:8000", "127.0.0.1:8000"),
        ("http://[::1]:8000/", "[::1]:8000"),
        ("http://[::FFFF:1.2.3.4]:80/", "[::ffff:1.2.3.4]"),
        ("https://[2001:DB8:0:0::1]", "[2001:db8:0:0::1]"),
        ("https://xn--bcher-kva.example/", "xn--bcher-kva.example"),
        ("https://my_shop.example:/", "my_shop.example"),
    ],
)
def test_the_authority_is_lower_case_without_a_default_port(url, authority):
    assert authority_of(url) == authority


@pytest.mark.parametrize(
    "url",
    [
        "",
        "shop.example",
        "//shop.example",
        "ftp://shop.example",
        "https://",
        "https:///path",
        "https://user@shop.example",
        "https://user:pw@shop.example",
        "https://good.example\\@evil.example",
        "https://shop.example:99999",
        "https://shop.example:port",
        "https://bücher.example",
        "https://shop .example",
        "https://shop.example\n",
        "https://shop%2eexample",
        "https://[fe80::1%25eth0]",
        "https://[v1.a]",
        "https://[::1",
    ],
)
def test_what_is_no_origin_has_no_authority(url):
    with pytest.raises(ValueError):  # noqa: PT011 - several reasons
        authority_of(url)


@pytest.mark.parametrize(
    ("url", "target"),
    [
        ("https://shop.example", ("/", "?")),
        ("https://shop.example?a=1", ("/", "?a=1")),
        ("https://shop.example/a?", ("/a", "?")),
        ("https://shop.example/a/../b//c;d/?x=%2F&y=?#frag", ("/a/../b//c;d/", "?x=%2F&y=?")),
        ("https://shop.example/%C3%A9#?", ("/%C3%A9", "?")),
    ],
)
def test_the_target_is_taken_as_it_is_written(url, target):
    assert target_of(url) == target


def test_parsing_a_megabyte_of_header_is_quick():
    started = time.process_time()
    for value in (
        "agent=(" + '"@method" ' * 100_000,
        "agent=(" + '"' * 1_000_000,
        string.ascii_letters * 20_000,
        VECTOR.headers["signature-input"].replace("A" * 22, "A" * 1_000_000),
    ):
        assert check(with_headers(VECTOR, signature_input=value)) == "signature_invalid/malformed"
    assert time.process_time() - started < 5
