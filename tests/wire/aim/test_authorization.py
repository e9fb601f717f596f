import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentweb.wire.aim import keys
from agentweb.wire.aim.authorization import (
    EMPTY_BODY,
    MAX_HEADER,
    Credentials,
    body_digest,
    parse_header,
    sign_request,
    signing_string,
    verify,
    write_header,
)
from agentweb.wire.encoding import b64url
from agentweb.wire.errors import AuthenticationError
from agentweb.wire.signing import SigningKey
from tests.support.examples import examples

KEY = SigningKey.from_seed(bytes(range(32)))
PUBLIC = keys.public_of(KEY)
TS = 1_767_225_600
NONCE = "AAECAwQFBgcICQoLDA0ODw"
BODY = b'{"a":1}'
HEADER = sign_request(KEY, "POST", "/v2/messages", "aim.example", BODY, ts=TS, nonce=NONCE)
PARSED = parse_header(HEADER)
SIG = b64url(PARSED.sig)


def spelled(*parameters, scheme="AIM", comma=", "):
    return f"{scheme} {comma.join(parameters)}"


K, T, N, S = f'key="{PUBLIC}"', f'ts="{TS}"', f'nonce="{NONCE}"', f'sig="{SIG}"'


def test_the_header_says_key_time_nonce_and_signature():
    assert spelled(K, T, N, S) == HEADER
    assert Credentials(PUBLIC, TS, NONCE, PARSED.sig) == PARSED
    assert verify(PARSED, "POST", "/v2/messages", "aim.example", body_digest(BODY))


@pytest.mark.requirement("AIM-S12.2", "AIM-S12.3", "AIM-S12.4", "AIM-S12.5", "AIM-S12.7")
@pytest.mark.parametrize(
    "change",
    [
        {"method": "PUT"},
        {"method": "GET"},
        {"method": "post"},
        {"target": "/v2/messages?"},
        {"target": "/v2/messages?a=1"},
        {"target": "/v2/messages/"},
        {"target": "/v2/Messages"},
        {"target": "/v2/message%73"},
        {"target": "//v2/messages"},
        {"authority": "other.example"},
        {"authority": "aim.example:8443"},
        {"authority": "aim.example.evil.example"},
        {"authority": "AIM.example"},
        {"body": b'{"a":2}'},
        {"body": b'{"a":1} '},
        {"body": b""},
        {"nonce": "BAECAwQFBgcICQoLDA0ODw"},
        {"ts": TS + 1},
        {"key": keys.public_of(SigningKey.from_seed(bytes(32)))},
        {"sig": bytes(64)},
    ],
    ids=str,
)
def test_a_signature_is_bound_to_everything_that_is_signed(change):
    asked = {"method": "POST", "target": "/v2/messages", "authority": "aim.example", "body": BODY}
    asked |= {name: value for name, value in change.items() if name in asked}
    given = {name: getattr(PARSED, name) for name in ("key", "ts", "nonce", "sig")}
    given |= {name: value for name, value in change.items() if name in given}
    digest = body_digest(asked.pop("body"))
    assert not verify(Credentials(**given), **asked, body_sha256=digest)


SAME = {
    "as written": HEADER,
    "without quotes": HEADER.replace('"', ""),
    "some quoted": spelled(K, f"ts={TS}", N, f"sig={SIG}"),
    "another order": spelled(S, N, T, K),
    "no space after commas": spelled(K, T, N, S, comma=","),
    "much white space around commas": spelled(K, T, N, S, comma=" \t , \t"),
    "names in upper case": spelled(
        *(part.partition("=")[0].upper() + "=" + part.partition("=")[2] for part in (K, T, N, S))
    ),
    "the scheme in lower case": HEADER.replace("AIM", "aim", 1),
    "several spaces after the scheme": HEADER.replace("AIM ", "AIM    ", 1),
    "white space around all": f" \t{HEADER} \t",
}


@pytest.mark.parametrize("spelling", SAME)
def test_spellings_that_http_allows_are_read_alike(spelling):
    assert parse_header(SAME[spelling]) == PARSED


BAD = {
    "empty": "",
    "the scheme only": "AIM",
    "the scheme and a space": "AIM ",
    "another scheme": HEADER.replace("AIM", "Bearer", 1),
    "a longer scheme": HEADER.replace("AIM", "AIM2", 1),
    "a tab after the scheme": HEADER.replace("AIM ", "AIM\t", 1),
    "two headers": f"{HEADER}, {HEADER}",
    "two headers joined without a space": f"{HEADER},{HEADER}",
    "a parameter twice": spelled(K, T, N, S, T),
    "a parameter twice in two cases": spelled(K, T, N, S, "TS=1"),
    "an unknown parameter": spelled(K, T, N, S, 'realm="x"'),
    "no key": spelled(T, N, S),
    "no ts": spelled(K, N, S),
    "no nonce": spelled(K, T, S),
    "no sig": spelled(K, T, N),
    "an empty parameter": spelled(K, T, N, S, ""),
    "an empty parameter between": spelled(K, T, "", N, S),
    "a comma after all": HEADER + ",",
    "an empty value": spelled(K, 'ts=""', N, S),
    "semicolons": spelled(K, T, N, S, comma="; "),
    "white space around =": HEADER.replace("ts=", "ts = "),
    "an open quote": spelled(K, f'ts="{TS}', N, S),
    "a closing quote only": spelled(K, f'ts={TS}"', N, S),
    "single quotes": HEADER.replace('"', "'"),
    "a padded signature": HEADER.replace(SIG, SIG + "=="),
    "a padded key": HEADER.replace(PUBLIC, PUBLIC + "="),
    "a backslash": HEADER.replace(NONCE, "\\" + NONCE),
    "an escaped quote": HEADER.replace(NONCE, NONCE + '\\"'),
    "base64 instead of base64url": HEADER.replace(PUBLIC, PUBLIC.replace("_", "/")),
    "another spelling of the key": HEADER.replace(PUBLIC, PUBLIC[:-1] + "h"),
    "another spelling of the signature": HEADER.replace(SIG, SIG[:-1] + chr(ord(SIG[-1]) + 1)),
    "a short key": HEADER.replace(PUBLIC, PUBLIC[:-1]),
    "the prefix of other rooms": HEADER.replace(PUBLIC, KEY.public),
    "a short signature": HEADER.replace(SIG, SIG[:-2]),
    "a short nonce": HEADER.replace(NONCE, NONCE[:-1]),
    "a long nonce": HEADER.replace(NONCE, "A" * 65),
    "ts with a sign": HEADER.replace(str(TS), f"-{TS}"),
    "ts with a fraction": HEADER.replace(str(TS), f"{TS}.0"),
    "ts with a leading zero": HEADER.replace(str(TS), f"0{TS}"),
    "ts in milliseconds": HEADER.replace(str(TS), f"{TS}000"),
    "ts in other digits": HEADER.replace(str(TS), "١٧٦٧٢٢٥٦٠٠"),
    "a line feed after it": HEADER + "\n",
    "a line feed inside": HEADER.replace(", ", ",\n"),
    "a NUL": HEADER + "\x00",
    "not ASCII": HEADER.replace("nonce", "noncé"),
    "longer than any": HEADER.replace("AIM ", "AIM" + " " * MAX_HEADER, 1),
}


@pytest.mark.parametrize("wrong", BAD)
def test_everything_else_is_malformed_and_never_repaired(wrong):
    with pytest.raises(AuthenticationError) as refused:
        parse_header(BAD[wrong])
    assert refused.value.code == "malformed_authorization"
    assert refused.value.status == 401


def test_the_message_does_not_repeat_what_was_sent():
    with pytest.raises(AuthenticationError) as refused:
        parse_header(f'{HEADER}, password="hunter2hunter2"')
    assert "hunter2" not in refused.value.message


@given(st.text(alphabet=f'AIM keytsnoce=",{PUBLIC[:6]} \t\\\n0', max_size=200))
@settings(max_examples=examples(200))
def test_no_text_makes_the_reader_fail_otherwise(text):
    try:
        parse_header("AIM " + text)
    except AuthenticationError as error:
        assert error.code == "malformed_authorization"  # noqa: PT017 - most texts are


METHODS = st.sampled_from(["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD"])
TARGETS = st.from_regex(r"/[!-~]{0,60}", fullmatch=True)
AUTHORITIES = st.from_regex(r"[a-z0-9]{1,12}(\.[a-z]{2,6})?(:[1-9][0-9]{1,3})?", fullmatch=True)


@given(
    METHODS,
    TARGETS,
    AUTHORITIES,
    st.binary(max_size=80),
    st.integers(0, 10**12 - 1),
    st.binary(min_size=32, max_size=32),
)
@settings(max_examples=examples(100))
def test_what_is_signed_is_read_back_and_verifies(method, target, authority, body, ts, seed):
    key = SigningKey.from_seed(seed)
    header = sign_request(key, method, target, authority, body, ts=ts)
    credentials = parse_header(header)
    assert write_header(credentials) == header
    assert credentials.ts == ts
    assert credentials.key == keys.public_of(key)
    assert verify(credentials, method, target, authority, body_digest(body))
    assert not verify(credentials, method, target + "x", authority, body_digest(body))
    assert not verify(credentials, method, target, authority, body_digest(body + b"x"))


def test_every_attempt_has_a_nonce_of_its_own():
    headers = {sign_request(KEY, "GET", "/", "aim.example", ts=TS) for _ in range(20)}
    assert len({parse_header(header).nonce for header in headers}) == 20
    assert len({parse_header(header).sig for header in headers}) == 20


@pytest.mark.parametrize(
    ("part", "value"),
    [
        ("method", "GET\nPOST"),
        ("method", ""),
        ("method", "get"),
        ("target", "/a\n/b"),
        ("target", "/a\n"),
        ("target", "/ä"),
        ("target", "/a b"),
        ("target", "https://aim.example/a"),
        ("target", ""),
        ("authority", "aim.example\n"),
        ("authority", ""),
        ("authority", "Aim.example"),
        ("body_sha256", EMPTY_BODY.upper()),
        ("body_sha256", EMPTY_BODY[:-1]),
        ("ts", -1),
        ("ts", 10**12),
        ("nonce", NONCE + "\n"),
        ("nonce", "short"),
    ],
)
def test_no_part_can_be_taken_for_two_lines_and_none_is_repaired(part, value):
    parts = {
        "method": "GET",
        "target": "/",
        "authority": "aim.example",
        "body_sha256": EMPTY_BODY,
        "ts": TS,
        "nonce": NONCE,
    }
    assert signing_string(**parts).count(b"\n") == 6
    with pytest.raises(ValueError, match=r"\."):
        signing_string(**{**parts, part: value})
    if part not in {"ts", "nonce"}:
        asked = {name: member for name, member in parts.items() if name not in {"ts", "nonce"}} | {
            part: value
        }
        assert not verify(PARSED, **asked)


def test_no_body_is_the_empty_body():
    assert body_digest(b"") == EMPTY_BODY
    with_none = sign_request(KEY, "GET", "/", "aim.example", ts=TS, nonce=NONCE)
    assert with_none == sign_request(KEY, "GET", "/", "aim.example", b"", ts=TS, nonce=NONCE)


@pytest.mark.requirement("AIM-S16.3")
def test_no_signing_string_is_as_short_as_what_signs_an_envelope():
    # An envelope's signature is over 32 bytes; whatever is signed for HTTP is longer, and begins with its label.
    shortest = signing_string("GET", "/", "a", EMPTY_BODY, 0, "A" * 22)
    assert len(shortest) > 32
    assert shortest.startswith(b"AIM2-HTTP\n")
