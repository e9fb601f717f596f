import hashlib
import json
import math
from datetime import UTC, datetime
from decimal import Decimal

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from agentweb.wire import clock
from agentweb.wire.aim import keys
from agentweb.wire.aim.addresses import Address, Board
from agentweb.wire.aim.envelope import (
    ENVELOPE_BYTES,
    ID,
    NESTING_MAX,
    REQUEST_BYTES,
    _is_longer,
    compose,
    new_id,
    parse_request,
    read,
    read_ts,
    sign,
    signature_is_valid,
    write_ts,
)
from agentweb.wire.canonical import canonicalize
from agentweb.wire.encoding import b64url
from agentweb.wire.errors import InputError, RequestError
from agentweb.wire.signing import SigningKey
from tests.support.examples import examples
from tests.support.node import messenger_verdict

KEY = SigningKey.from_seed(bytes(range(32)))
PUBLIC = keys.public_of(KEY)
OTHER = keys.public_of(SigningKey.from_seed(bytes(32)))
ALICE = "alice@aim.example"
BOB = "bob@aim.example"
ID_1 = "m" + "0" * 22
TS = "2026-01-01T00:00:00.000Z"


def signed(body="hello", **members):
    return sign(compose(ALICE, BOB, body, **{"id": ID_1, "ts": TS} | members), KEY)


ENVELOPE = signed({"text": "hello"}, reply_to="r" * 16, thread_id="t" * 16)


def problems_of(value):
    with pytest.raises(InputError) as refused:
        read(value)
    return refused.value


def wrapped(levels):
    body = 1
    for _ in range(levels):
        body = [body]
    return body


def test_an_envelope_is_read_with_everything_that_is_in_it():
    envelope = read(ENVELOPE)
    assert envelope.id == ID_1
    assert envelope.sender == Address("alice", "aim.example")
    assert envelope.to == Address("bob", "aim.example")
    assert (envelope.type, envelope.body) == ("message", {"text": "hello"})
    assert (envelope.reply_to, envelope.thread_id) == ("r" * 16, "t" * 16)
    assert envelope.ts == datetime(2026, 1, 1, tzinfo=UTC)
    assert envelope.ts_text == TS
    assert envelope.text == canonicalize(ENVELOPE).decode()
    assert envelope.size == len(envelope.text.encode())
    unsigned = {name: member for name, member in ENVELOPE.items() if name != "sig"}
    assert envelope.digest == hashlib.sha256(canonicalize(unsigned)).hexdigest()
    assert signature_is_valid(envelope, PUBLIC)
    assert read({**signed(), "to": "board:news"}).to == Board("news")


@pytest.mark.requirement("AIM-S14.1")
@pytest.mark.parametrize("member", ["id", "from", "to", "type", "ts", "body", "sig"])
def test_an_envelope_without_one_of_its_members_is_refused(member):
    refused = problems_of({name: value for name, value in ENVELOPE.items() if name != member})
    assert refused.code == "invalid_envelope"
    assert refused.status == 422
    assert [problem["pointer"] for problem in refused.problems] == [f"/{member}"]


WRONG = {
    "id": [
        "",
        "a" * 15,
        "a" * 65,
        "-" + "a" * 15,
        "_" + "a" * 15,
        "a" * 16 + "\n",
        "a" * 15 + "é",
        "a" * 15 + ".",
        1,
        None,
    ],
    "type": ["", "Message", "1a", ".a", "a" * 65, "a\n", "a b", "mess\u0430ge", 1, None, []],
    "ts": [
        "2026-01-01T00:00:00",
        "2026-01-01T00:00:00.0000Z",
        "2026-01-01T00:00:00.Z",
        "2026-01-01T00:00:60Z",
        "2026-01-01T24:00:00Z",
        "2026-02-29T00:00:00Z",
        "2026-13-01T00:00:00Z",
        "0000-01-01T00:00:00Z",
        "2026-01-01 00:00:00Z",
        "2026-01-01T00:00:00z",
        "2026-01-01t00:00:00Z",
        "2026-01-01T00:00:00+00:00",
        "2026-01-01T00:00:00Z\n",
        "26-01-01T00:00:00Z",
        "\u0662026-01-01T00:00:00Z",
        1767225600,
        None,
    ],
    "reply_to": [None, "", "short", "a" * 65, 1, {}],
    "thread_id": [None, "", "short", "a" * 16 + "\n", 1, []],
    "sig": [
        None,
        "",
        "A" * 85,
        "A" * 87,
        b64url(bytes(64)) + "==",
        b64url(bytes(64))[:-1] + "B",
        "+" * 86,
        1,
        "é" * 86,
    ],
    "body": [None],
}


@pytest.mark.parametrize(
    ("member", "number"),
    [(member, number) for member, values in WRONG.items() for number in range(len(values))],
)
def test_a_member_that_breaks_its_rule_is_refused(member, number):
    refused = problems_of({**ENVELOPE, member: WRONG[member][number]})
    assert refused.code == "invalid_envelope"
    assert [problem["pointer"] for problem in refused.problems] == [f"/{member}"]
    assert refused.message == refused.problems[0]["message"]


@pytest.mark.parametrize("member", ["from", "to"])
@pytest.mark.parametrize(
    "address", ["Alice@aim.example", "alice@AIM.example", "alice", "alice@aim.example:443", "board:A", ""]
)
def test_a_wrong_address_has_a_code_of_its_own(member, address):
    refused = problems_of({**ENVELOPE, member: address})
    assert refused.code == "invalid_address"
    assert refused.field == member


def test_a_board_writes_to_nobody():
    assert problems_of({**ENVELOPE, "from": "board:news"}).code == "invalid_address"


@pytest.mark.parametrize("name", ["x", "Id", "ID", "bodY", "sig ", "signature", "", "a/b~c", "\u0131d"])
def test_a_member_that_is_unknown_is_refused_and_not_passed_over(name):
    refused = problems_of({**ENVELOPE, name: 1})
    assert refused.code == "unknown_field"
    assert refused.status == 422


def test_types_of_the_service_are_reserved():
    assert problems_of({**ENVELOPE, "type": "aim.notice"}).code == "reserved_type"
    assert read(signed(type="aimless")).type == "aimless"


def test_every_problem_is_listed_at_once():
    refused = problems_of({"id": 1, "from": "A", "to": BOB, "type": "aim.x", "ts": TS, "more": 1})
    assert refused.code == "invalid_envelope"
    assert {(problem["pointer"], problem["code"]) for problem in refused.problems} == {
        ("/id", "invalid_envelope"),
        ("/from", "invalid_address"),
        ("/type", "reserved_type"),
        ("/body", "invalid_envelope"),
        ("/sig", "invalid_envelope"),
        ("/more", "unknown_field"),
    }


def test_endless_problems_are_cut_off_and_long_names_too():
    refused = problems_of({**ENVELOPE, **{str(n) * 1_000: n for n in range(300)}})
    assert len(refused.problems) == 100
    assert len(json.dumps(refused.problems)) < 40_000


@pytest.mark.parametrize("value", [None, [], "envelope", 1, True], ids=repr)
def test_what_is_no_object_is_no_envelope(value):
    assert problems_of(value).code == "invalid_envelope"


@pytest.mark.requirement("AIM-S14.6")
@pytest.mark.parametrize(
    "body", [{}, [], "", "text", 0, -1, 1.5, True, False, [None], {"a": None}, {"\x00": "\x00"}], ids=repr
)
def test_a_body_is_any_value(body):
    envelope = read(signed(body))
    assert envelope.body == body
    assert json.loads(envelope.text)["body"] == body
    assert signature_is_valid(envelope, PUBLIC)


@pytest.mark.requirement("AIM-S14.7")
def test_a_body_that_is_null_is_refused():
    with pytest.raises(InputError) as refused:
        signed(None)
    assert refused.value.code == "invalid_envelope"
    assert refused.value.field == "body"


@pytest.mark.requirement("AIM-S15.5")
def test_an_envelope_has_at_most_65536_bytes():
    room = ENVELOPE_BYTES - read(signed("")).size
    assert read(signed("é" * (room // 2) + "x" * (room % 2))).size == ENVELOPE_BYTES
    with pytest.raises(InputError) as refused:
        signed("x" * (room + 1))
    assert refused.value.code == "too_large"
    assert refused.value.status == 413


@pytest.mark.parametrize(
    "body",
    [
        "x" * 70_000,
        [1] * 40_000,
        {"a": [[None] * 200] * 400},
        {str(number) * 10: True for number in range(2_000)},
        {"x" * 70_000: 1},
        wrapped(40_000),
    ],
    ids=["text", "numbers", "lists", "names", "name", "deep"],
)
def test_what_is_far_too_long_is_refused_without_being_written(body, monkeypatch):
    written = []
    monkeypatch.setattr("agentweb.wire.aim.envelope.canonicalize", lambda body: written.append(body) or b"")
    refused = problems_of({**ENVELOPE, "body": body, "id": "short"})
    assert ([problem["code"] for problem in refused.problems], refused.status) == (["too_large"], 413)
    assert written == []


def test_the_size_is_that_of_the_canonical_text():
    room = ENVELOPE_BYTES - read(signed("")).size
    text = json.dumps({**signed(""), "body": "é" * (room // 2)}, indent=9)
    assert len(text) > ENVELOPE_BYTES
    assert read(parse_request(text.encode())).size <= ENVELOPE_BYTES


def test_an_envelope_nests_32_levels_its_own_braces_counted():
    assert read(signed(wrapped(NESTING_MAX - 1))).type == "message"
    with pytest.raises(InputError) as refused:
        signed(wrapped(NESTING_MAX))
    assert refused.value.code == "too_deep"
    assert refused.value.status == 400
    assert problems_of({**ENVELOPE, "body": wrapped(NESTING_MAX)}).code == "too_deep"


def test_nesting_is_counted_through_objects_and_lists_at_any_place():
    deep = {"a": 1, "b": {"c": [{"d": wrapped(NESTING_MAX - 5)}]}, "z": [[]]}
    assert read(signed(deep))
    assert problems_of({**ENVELOPE, "body": {"x": [1], "deep": deep}}).code == "too_deep"


@pytest.mark.requirement("AIM-S15.1", "AIM-S15.2")
def test_the_signature_is_over_the_digest_and_over_all_members_but_itself():
    envelope = read(ENVELOPE)
    data = canonicalize({name: member for name, member in ENVELOPE.items() if name != "sig"})
    assert ENVELOPE["sig"] == b64url(KEY.sign(hashlib.sha256(data).digest()))
    bare = read({**ENVELOPE, "sig": b64url(KEY.sign(data))})
    assert not signature_is_valid(bare, PUBLIC)
    in_hex = read({**ENVELOPE, "sig": b64url(KEY.sign(envelope.digest.encode()))})
    assert not signature_is_valid(in_hex, PUBLIC)
    changes = {
        "id": "x" * 16,
        "from": BOB,
        "to": ALICE,
        "type": "other",
        "ts": "2026-01-01T00:00:00Z",
        "body": {"text": "hullo"},
        "reply_to": "x" * 16,
        "thread_id": "x" * 16,
    }
    assert changes.keys() == ENVELOPE.keys() - {"sig"}
    for name, value in changes.items():
        assert not signature_is_valid(read({**ENVELOPE, name: value}), PUBLIC)
    for name in ("reply_to", "thread_id"):
        assert not signature_is_valid(read({k: v for k, v in ENVELOPE.items() if k != name}), PUBLIC)


def test_another_key_and_what_is_no_key_verify_nothing():
    assert not signature_is_valid(read(ENVELOPE), OTHER)
    assert not signature_is_valid(read(ENVELOPE), "")
    assert not signature_is_valid(read(ENVELOPE), "A" * 43)
    assert not signature_is_valid(read({**ENVELOPE, "sig": b64url(bytes(64))}), PUBLIC)


@pytest.mark.requirement("AIM-S16.3")
def test_a_signature_of_a_request_is_none_of_an_envelope():
    from agentweb.wire.aim.authorization import parse_header, sign_request

    credentials = parse_header(
        sign_request(KEY, "POST", "/v2/messages", "aim.example", canonicalize(ENVELOPE), ts=1)
    )
    assert not signature_is_valid(read({**ENVELOPE, "sig": b64url(credentials.sig)}), PUBLIC)


def test_other_spellings_of_the_same_document_are_the_same_message():
    text = canonicalize(ENVELOPE).decode()
    spellings = [
        json.dumps(ENVELOPE, indent=2),
        json.dumps(dict(reversed(ENVELOPE.items())), ensure_ascii=True),
        text.replace("hello", "h\\u0065llo"),
        text.replace("/", "\\/"),
    ]
    for spelling in spellings:
        envelope = read(parse_request(spelling.encode()))
        assert envelope.text == text
        assert signature_is_valid(envelope, PUBLIC)


def test_composed_and_decomposed_letters_are_different_messages():
    composed, decomposed = signed("\u00e9"), signed("e\u0301")
    assert read(composed).digest != read(decomposed).digest


def test_names_sort_by_utf_16_and_numbers_are_written_as_javascript_does():
    envelope = read(signed({"\ufffd": 1e-5, "\U00010000": 1e21, "a": -0.0, "b": 1e20}))
    assert envelope.text.startswith(
        '{"body":{"a":0,"b":100000000000000000000,"\U00010000":1e+21,"\ufffd":0.00001}'
    )


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ('{"a":1,"a":2}', "duplicate_key"),
        ('{"body":{"a":1,"\\u0061":1}}', "duplicate_key"),
        ('[{"x":[{"a":1,"a":1}]}]', "duplicate_key"),
        ('{"a":9007199254740993}', "number_out_of_range"),
        ('{"a":-9007199254740993}', "number_out_of_range"),
        ('{"a":1' + "0" * 400 + "}", "number_out_of_range"),
        ('{"a":1e400}', "number_out_of_range"),
        ('{"a":NaN}', "malformed_json"),
        ('{"a":-Infinity}', "malformed_json"),
        ('{"a":"\\ud800"}', "invalid_unicode"),
        ('{"\\udfff":1}', "invalid_unicode"),
        ("[" * 65 + "]" * 65, "too_deep"),
        ("[" * 100_000, "too_deep"),
        ("{", "malformed_json"),
        ("", "malformed_json"),
        ("{'a':1}", "malformed_json"),
        ('{"a":01}', "malformed_json"),
    ],
    ids=lambda x: str(x)[:24],
)
def test_a_request_that_could_be_read_in_two_ways_is_refused(text, code):
    with pytest.raises(RequestError) as refused:
        parse_request(text.encode())
    assert refused.value.code == code
    assert refused.value.status == 400


@pytest.mark.parametrize(
    "data",
    [
        b"\xef\xbb\xbf{}",
        b"\xff\xfe{\x00}\x00",
        '{"a":1}'.encode("utf-16"),
        b'{"a":"\xed\xa0\x80"}',
        b'{"a":"\xc0\x80"}',
        b"\xff",
    ],
)
def test_only_utf_8_without_a_mark_is_read(data):
    with pytest.raises(RequestError) as refused:
        parse_request(data)
    assert refused.value.code == "invalid_unicode"


def test_a_request_has_at_most_its_bytes():
    text = b'"' + b"x" * (REQUEST_BYTES - 2) + b'"'
    assert parse_request(text) == "x" * (REQUEST_BYTES - 2)
    with pytest.raises(RequestError) as refused:
        parse_request(text + b" ")
    assert (refused.value.code, refused.value.status) == ("too_large", 413)


def test_nul_may_be_inside_a_body_and_nowhere_else():
    assert read(parse_request(canonicalize(signed({"a": "\x00"})))).body == {"a": "\x00"}
    for name in ("id", "from", "to", "type", "ts", "reply_to", "thread_id", "sig"):
        assert problems_of({**ENVELOPE, name: f"{ENVELOPE[name]}\x00"}).problems[0]["pointer"] == f"/{name}"


@pytest.mark.parametrize(
    "literal", ["9007199254740992", "100000000000000000000", "-9007199254740994", "333333333333333300000"]
)
def test_an_integer_beyond_the_safe_ones_is_accepted_as_its_double_is_written(literal):
    value = parse_request(f"[{literal}]".encode())
    assert isinstance(value[0], float)
    assert canonicalize(value) == f"[{literal}]".encode()


@given(st.integers(-(2**80), 2**80))
@example(2**53)
@example(2**53 + 1)
@example(10**21)
@example(10**20)
@settings(max_examples=examples(300))
def test_two_integers_that_are_accepted_never_have_one_canonical_form(number):
    """Of all the integers that a double stands for, one spelling is accepted."""
    accepted = []
    for near in range(number - 3, number + 4):
        try:
            accepted.append((near, canonicalize(parse_request(f"[{near}]".encode()))))
        except RequestError as error:
            assert error.code == "number_out_of_range"  # noqa: PT017 - most are
    assert len({form for _near, form in accepted}) == len(accepted)
    for near, form in accepted:
        assert form == f"[{near}]".encode()


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53) + 1, 2**53 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(codec="utf-8"), max_size=12),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.text(st.characters(codec="utf-8"), max_size=6), inner, max_size=4)
    ),
    max_leaves=12,
)
BODIES = JSON.filter(lambda body: body is not None)


@given(BODIES, st.sampled_from([ALICE, BOB, "board:news"]), st.none() | st.just("r" * 16))
@settings(max_examples=examples(150))
def test_what_is_signed_is_read_by_everybody_alike_and_verifies(body, to, reply_to):
    envelope = read(sign(compose(ALICE, to, body, reply_to=reply_to), KEY))
    again = read(parse_request(envelope.text.encode()))
    assert (again.text, again.digest, again.size) == (envelope.text, envelope.digest, envelope.size)
    assert envelope.text.encode() == canonicalize(parse_request(envelope.text.encode()))
    assert signature_is_valid(again, PUBLIC)
    assert not signature_is_valid(again, OTHER)


@given(JSON)
@settings(max_examples=examples(200))
def test_nothing_is_held_to_be_longer_than_it_is(body):
    assert not _is_longer(body, len(canonicalize(body)))


@given(st.binary(max_size=300) | JSON.map(lambda value: json.dumps(value).encode()))
@settings(max_examples=examples(200))
def test_what_is_accepted_parses_again_from_its_canonical_form(data):
    try:
        value = parse_request(data)
    except RequestError:
        return
    form = canonicalize(value)
    assert canonicalize(parse_request(form)) == form


@given(st.dictionaries(st.sampled_from([*ENVELOPE, "more"]), JSON, max_size=9))
@settings(max_examples=examples(200))
def test_whatever_is_sent_is_read_or_refused_with_problems(members):
    try:
        read({**ENVELOPE, **members})
    except InputError as error:
        assert (bool(error.problems), error.status in {400, 413, 422}) == (True, True)  # noqa: PT017 - most are


@settings(max_examples=examples(3))
@given(st.lists(BODIES, min_size=60, max_size=60))
def test_node_writes_the_same_canonical_forms(bodies):
    from agentweb.wire.aim.vector import signing_vector

    envelopes = [read(sign(compose(ALICE, BOB, body), KEY)) for body in bodies]
    sent = [json.dumps(json.loads(each.text), indent=1) for each in envelopes]
    wrong, texts = messenger_verdict(signing_vector(), sent)
    assert wrong == []
    assert texts == [each.text for each in envelopes]


def test_a_decimal_is_signed_as_the_double_that_everybody_reads():
    envelope = signed({"price": Decimal("4.02"), "long": Decimal("0.1000000000000000055511151231257827")})
    assert envelope["body"] == {"price": 4.02, "long": 0.1}
    assert signature_is_valid(read(envelope), PUBLIC)


@pytest.mark.parametrize(
    "body",
    [math.nan, math.inf, 2**53, "\ud800", {1: 2}, object(), b"x"],
    ids=["NaN", "infinity", "2**53", "surrogate", "name", "object", "bytes"],
)
def test_what_is_not_json_is_refused_by_the_author_too(body):
    with pytest.raises(InputError) as refused:
        signed(body)
    assert refused.value.code == "invalid_envelope"


def test_a_body_that_contains_itself_is_refused():
    body = []
    body.append(body)
    with pytest.raises(RequestError):
        signed(body)


def test_signing_again_replaces_the_signature():
    other = SigningKey.from_seed(bytes(32))
    assert sign(sign(ENVELOPE, other), KEY) == ENVELOPE


def test_a_new_envelope_has_an_id_and_the_time_of_its_own():
    with clock.clock(lambda: 1_767_225_600.0):
        first, second = compose(ALICE, BOB, 1), compose(ALICE, BOB, 1)
    assert first["ts"] == second["ts"] == TS
    assert first["type"] == "message"
    assert first["id"] != second["id"]
    assert first.keys() == {"id", "from", "to", "type", "ts", "body"}
    assert all(ID.fullmatch(new_id()) for _ in range(100))


@given(st.integers(0, 4_102_444_800_000))
def test_times_are_written_to_the_millisecond_and_read_back(milliseconds):
    seconds = milliseconds / 1000
    assert abs(read_ts(write_ts(seconds)).timestamp() - seconds) < 0.0011


@pytest.mark.parametrize(
    ("text", "microseconds"),
    [("59Z", 0), ("59.5Z", 500_000), ("59.05Z", 50_000), ("59.005Z", 5_000), ("59.999Z", 999_000)],
)
def test_fractions_have_up_to_three_digits(text, microseconds):
    assert read_ts(f"2024-02-29T23:59:{text}") == datetime(2024, 2, 29, 23, 59, 59, microseconds, tzinfo=UTC)
