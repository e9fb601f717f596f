import base64
import gzip
import json
import time
from decimal import Decimal
from enum import IntEnum, StrEnum

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentweb.wire.canonical import canonicalize
from agentweb.wire.errors import RequestError
from agentweb.wire.strict_json import check_value, dumps, loads
from tests.vectors_dir import VECTORS


def suite(folder):
    entries = json.loads((VECTORS / "json-parsing/jsontestsuite.json").read_text())
    return {
        name.removeprefix(folder): (
            base64.b64decode(entry["b64"])
            if "b64" in entry
            else gzip.decompress(base64.b64decode(entry["b64gz"]))
        )
        for name, entry in entries.items()
        if name.startswith(folder)
    }


PARSING = suite("test_parsing/")
TRANSFORM = suite("test_transform/")

# RFC 8259 section 4 lets a parser do as it likes with them; two readers would see two documents.
DUPLICATE_KEYS = {"y_object_duplicated_key.json", "y_object_duplicated_key_and_value.json"}
# Numbers that the guard of exact decimals refuses: 80 characters, 10^67, 10^47 and 10^80.
BEYOND_EXACT = {
    "y_number.json",
    "y_number_double_close_to_zero.json",
    "y_number_real_exponent.json",
    "y_number_real_fraction_exponent.json",
}
UNDECIDED = {
    "i_number_double_huge_neg_exp.json": "accepted",  # underflows to 0
    "i_number_huge_exp.json": "number_out_of_range",
    "i_number_neg_int_huge_exp.json": "number_out_of_range",
    "i_number_pos_double_huge_exp.json": "number_out_of_range",
    "i_number_real_neg_overflow.json": "number_out_of_range",
    "i_number_real_pos_overflow.json": "number_out_of_range",
    "i_number_real_underflow.json": "accepted",  # underflows to 0
    "i_number_too_big_neg_int.json": "accepted",
    "i_number_too_big_pos_int.json": "accepted",
    "i_number_very_big_negative_int.json": "number_out_of_range",  # more than 40 characters
    "i_object_key_lone_2nd_surrogate.json": "invalid_unicode",
    "i_string_1st_surrogate_but_2nd_missing.json": "invalid_unicode",
    "i_string_1st_valid_surrogate_2nd_invalid.json": "invalid_unicode",
    "i_string_UTF-16LE_with_BOM.json": "invalid_unicode",
    "i_string_UTF-8_invalid_sequence.json": "invalid_unicode",
    "i_string_UTF8_surrogate_U+D800.json": "invalid_unicode",
    "i_string_incomplete_surrogate_and_escape_valid.json": "invalid_unicode",
    "i_string_incomplete_surrogate_pair.json": "invalid_unicode",
    "i_string_incomplete_surrogates_escape_valid.json": "invalid_unicode",
    "i_string_invalid_lonely_surrogate.json": "invalid_unicode",
    "i_string_invalid_surrogate.json": "invalid_unicode",
    "i_string_invalid_utf-8.json": "invalid_unicode",
    "i_string_inverted_surrogates_U+1D11E.json": "invalid_unicode",
    "i_string_iso_latin_1.json": "invalid_unicode",
    "i_string_lone_second_surrogate.json": "invalid_unicode",
    "i_string_lone_utf8_continuation_byte.json": "invalid_unicode",
    "i_string_not_in_unicode_range.json": "invalid_unicode",
    "i_string_overlong_sequence_2_bytes.json": "invalid_unicode",
    "i_string_overlong_sequence_6_bytes.json": "invalid_unicode",
    "i_string_overlong_sequence_6_bytes_null.json": "invalid_unicode",
    "i_string_truncated-utf-8.json": "invalid_unicode",
    "i_string_utf16BE_no_BOM.json": "invalid_unicode",
    "i_string_utf16LE_no_BOM.json": "invalid_unicode",
    "i_structure_500_nested_arrays.json": "too_deep",
    "i_structure_UTF-8_BOM_empty_object.json": "invalid_unicode",
}


def code(data, **options):
    """The error code of a document, or "accepted"."""
    try:
        loads(data, **options)
    except RequestError as error:
        return error.code if error.status in {400, 413} else f"{error.code} with status {error.status}"
    return "accepted"


def named(prefix):
    return sorted(name for name in PARSING if name.startswith(prefix))


def test_the_suite_is_complete():
    assert (len(named("n_")), len(named("y_")), len(named("i_"))) == (188, 95, 35)
    assert len(TRANSFORM) == 22


@pytest.mark.parametrize("floats", ["decimal", "float"])
@pytest.mark.parametrize("name", named("n_"))
def test_every_document_that_must_be_refused_is_refused(name, floats):
    assert code(PARSING[name], floats=floats) in {"malformed_json", "invalid_unicode", "too_deep"}


@pytest.mark.parametrize("name", sorted(set(named("y_")) - DUPLICATE_KEYS))
def test_every_document_that_must_be_accepted_is_accepted(name):
    assert code(PARSING[name], floats="float", allow_nul=True) == "accepted"
    expected = "number_out_of_range" if name in BEYOND_EXACT else "accepted"
    assert code(PARSING[name], floats="decimal", allow_nul=True) == expected


@pytest.mark.parametrize("name", sorted(DUPLICATE_KEYS))
def test_duplicate_keys_of_the_suite_are_refused(name):
    assert code(PARSING[name]) == "duplicate_key"


@pytest.mark.parametrize("name", named("i_"))
def test_our_choice_where_the_suite_leaves_it_open(name):
    assert code(PARSING[name], floats="float") == UNDECIDED[name]


@pytest.mark.parametrize("name", sorted(TRANSFORM))
def test_accepted_documents_of_the_transform_suite_mean_what_the_standard_library_reads(name):
    data = TRANSFORM[name]
    if code(data, floats="float", allow_nul=True) == "accepted":
        assert loads(data, floats="float", allow_nul=True) == json.loads(data)
    else:
        assert code(data, floats="float", allow_nul=True) in {
            "duplicate_key",
            "invalid_unicode",
            "number_out_of_range",
        }


# --- size, encoding, depth ---


def test_a_document_over_the_cap_is_refused_before_it_is_read():
    with pytest.raises(RequestError) as caught:
        loads(b"\xff" * 11, max_bytes=10)
    assert (caught.value.code, caught.value.status, caught.value.extra) == (
        "payload_too_large",
        413,
        {"limit": 10},
    )
    assert loads(b'"' + b"a" * 8 + b'"', max_bytes=10) == "a" * 8


@pytest.mark.parametrize("data", ["{}", bytearray(b"{}"), memoryview(b"{}"), None])
def test_only_bytes_are_read(data):
    with pytest.raises(TypeError, match="reads bytes"):
        loads(data)


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "latin-1"])
def test_other_encodings_than_plain_utf_8_are_refused(encoding):
    assert code('{"name":"é"}'.encode(encoding)) in {"invalid_unicode", "malformed_json"}


def test_utf_7_is_never_decoded():
    assert code(b"+AHsAfQ-") == "malformed_json"
    assert loads('{"name":"é"}'.encode("utf-7")) == {"name": "+AOk"}


def test_a_byte_order_mark_is_named():
    with pytest.raises(RequestError, match="byte order mark"):
        loads(b"\xef\xbb\xbf{}")


@pytest.mark.parametrize("opening", [b"[", b'{"a":', b'[{"a":'])
def test_forty_kilobytes_of_open_brackets_are_too_deep(opening):
    assert code(opening * (40_000 // len(opening))) == "too_deep"


@pytest.mark.parametrize(("opening", "closing"), [(b"[", b"]"), (b'{"a":', b"}")])
def test_depth_is_counted_exactly(opening, closing):
    def nested(depth):
        return opening * depth + b"1" + closing * depth

    assert code(nested(64)) == "accepted"
    assert code(nested(65)) == "too_deep"
    assert code(nested(3), max_depth=2) == "too_deep"
    assert code(b"1", max_depth=0) == "accepted"
    assert code(b"[]", max_depth=0) == "too_deep"


@pytest.mark.parametrize(
    "text",
    [
        "[" * 500,
        '"' * 300 + "[" * 500,
        "\\" + "[" * 500,
        '\\"' + "{" * 500 + '"',
        "[" * 500 + "\\",
        '\\\\"["[',
        'é"[',
    ],
)
def test_brackets_inside_strings_do_not_count(text):
    value = {text: [text, text], "b": [[text]] * 50}
    assert loads(json.dumps(value).encode()) == value
    assert loads(json.dumps(value, ensure_ascii=False).encode()) == value


def test_many_shallow_brackets_are_not_deep():
    assert code(b"[" + b"[[]]," * 20_000 + b"[]]") == "accepted"


def test_a_depth_beyond_the_interpreter_is_still_too_deep():
    assert code(b"[" * 500_000, max_depth=10**6) == "too_deep"


@given(
    st.recursive(
        st.text('[]{}"\\a,', max_size=8),
        lambda inner: st.lists(inner) | st.dictionaries(st.text('["\\'), inner),
    )
)
def test_the_scan_finds_the_depth_that_the_value_has(value):
    def depth(item):
        if isinstance(item, dict):
            return 1 + max(map(depth, item.values()), default=0)
        return 1 + max(map(depth, item), default=0) if isinstance(item, list) else 0

    data = json.dumps(value).encode()
    assert code(data, max_depth=depth(value)) == "accepted"
    if depth(value):
        assert code(data, max_depth=depth(value) - 1) == "too_deep"


# --- members, numbers ---


@pytest.mark.parametrize(
    "data", [b'{"a":1,"a":1}', b'[{"x":{"a":1,"b":2,"a":3}}]', b'{"a":1,"\\u0061":2}', b'{"":1,"":2}']
)
def test_a_member_twice_is_refused_at_every_level(data):
    assert code(data) == "duplicate_key"


def test_the_duplicate_member_is_named():
    with pytest.raises(RequestError) as caught:
        loads(b'{"price":1,"price":2}')
    assert caught.value.field == "price"
    assert "'price'" in caught.value.message


def test_an_unprintable_duplicate_is_named_in_ascii():
    with pytest.raises(RequestError) as caught:
        loads(b'{"\\ud800":1,"\\ud800":2}')
    assert caught.value.field is None
    assert caught.value.message.isascii()


@pytest.mark.parametrize("data", [b"NaN", b"[Infinity]", b'{"a":-Infinity}'])
def test_nan_and_infinity_are_not_json(data):
    assert code(data) == code(data, floats="float") == "malformed_json"


def test_integers_are_int_and_other_numbers_exact_decimals():
    value = loads(b"[1,-0,1.10,1E2,-0.0,1e-30]")
    assert [repr(item) for item in value] == [
        "1",
        "0",
        "Decimal('1.10')",
        "Decimal('1E+2')",
        "Decimal('-0.0')",
        "Decimal('1E-30')",
    ]


@pytest.mark.parametrize(
    "literal", [b"1e31", b"1e-31", b"0e31", b"1e99999999999999999999", b"0.%s1" % (b"0" * 40), b"9" * 41]
)
def test_numbers_beyond_forty_characters_or_thirty_powers_of_ten_are_refused(literal):
    assert code(literal) == "number_out_of_range"


def test_numbers_at_the_limits_are_read():
    assert loads(b"9" * 40) == 10**40 - 1
    assert loads(b"1e30") == Decimal("1e30")
    assert loads(b"-1." + b"2" * 37) == Decimal("-1." + "2" * 37)


@pytest.mark.parametrize(
    ("literal", "expected"),
    [(b"1e400", "number_out_of_range"), (b"-1e400", "number_out_of_range"), (b"1e308", "accepted")],
)
def test_floats_that_overflow_are_refused(literal, expected):
    assert code(literal, floats="float") == expected


@pytest.mark.parametrize(
    "literal",
    [
        "9007199254740992",
        "-9007199254740992",
        "100000000000000000000",
        "1152921504606847000",
        "999999999999999900000",
    ],
)
def test_a_large_integer_in_its_canonical_form_is_its_double(literal):
    value = loads(literal.encode(), safe_integers=True)
    assert isinstance(value, float)
    assert canonicalize(value) == literal.encode()


@pytest.mark.parametrize(
    "literal",
    [
        "9007199254740993",
        "-9007199254740993",
        "1152921504606846976",
        "100000000000000000001",
        "1" + "0" * 21,
        "9" * 30,
        "9" * 400,
    ],
)
def test_any_other_large_integer_is_refused_in_signed_documents(literal):
    assert code(literal.encode(), safe_integers=True) == "number_out_of_range"
    assert (
        code(b'{"text":"%s","n":%s}' % (b"1" * 20, literal.encode()), safe_integers=True)
        == "number_out_of_range"
    )


def test_safe_integers_stay_integers():
    assert loads(b"[9007199254740991,-9007199254740991,0]", safe_integers=True) == [2**53 - 1, 1 - 2**53, 0]


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_canonical_document_always_parses_to_the_same_canonical_form(number):
    canonical = canonicalize([number])
    again = loads(canonical, safe_integers=True, floats="float")
    assert canonicalize(again) == canonical


# --- text ---


@pytest.mark.parametrize(
    "literal",
    [
        r'"\ud800"',
        r'"\uDFFF"',
        r'"\udc00\ud800"',
        r'"\ud800\ud800\udc00"',
        r'"\ud800\u0041"',
        r'"\ud800\n"',
        r'"\\\ud800"',
        r'"\\ud800\udc00"',  # an escaped backslash, the letters ud800, and a lone low half
        r'"a\ud83d\ude00\ud83d"',
        r'"\ud83d \ude00"',
    ],
)
def test_half_a_surrogate_pair_is_refused_in_keys_and_values(literal):
    assert code(literal.encode()) == "invalid_unicode"
    assert code(f"{{{literal}:1}}".encode()) == "invalid_unicode"
    assert code(f'[[{{"a":{literal}}}]]'.encode()) == "invalid_unicode"


@pytest.mark.parametrize(
    "literal", [r'"\ud83d\ude00"', r'"\\ud800"', r'"\\\\ud800"', r'"\ud7ff\ue000"', r'"\uD83D\uDE00\\"']
)
def test_whole_pairs_and_escaped_backslashes_are_text(literal):
    assert loads(literal.encode()) == json.loads(literal)


def test_nul_is_refused_unless_it_is_allowed():
    for literal in (rb'"\u0000"', rb'"a\\\u0000"', rb'{"\u0000":1}'):
        assert code(literal) == "invalid_unicode"
        assert code(literal, allow_nul=True) == "accepted"
    assert loads(rb'"\\u0000"') == r"\u0000"
    assert code(b'"\x00"', allow_nul=True) == "malformed_json"


@given(st.text(st.characters(codec=None, categories=None), max_size=20))
def test_text_is_accepted_exactly_when_it_is_unicode_without_nul(text):
    try:
        text.encode()
        sound = "\x00" not in text
    except UnicodeEncodeError:
        # An escaped pair is one character, so compare with what the escapes mean.
        sound = "\x00" not in text and not any(
            "\ud800" <= c <= "\udfff" for c in json.loads(json.dumps(text))
        )
    assert code(json.dumps(text).encode()) == ("accepted" if sound else "invalid_unicode")


# --- order ---


def test_the_first_rule_that_is_broken_gives_the_code():
    faults = [
        (b'"\\u0000"', "invalid_unicode"),
        (b'"\\ud800"', "invalid_unicode"),
        (b"1e999", "number_out_of_range"),
        (b"NaN", "malformed_json"),
        (b'{"a":1,"a":2}', "duplicate_key"),
        (b"nul", "malformed_json"),
        (b"[" * 70, "too_deep"),
        (b'"\xff"', "invalid_unicode"),
    ]
    parts = []
    for part, expected in faults:
        parts.append(part)
        for order in (parts, parts[::-1]):
            data = b"[" + b",".join(order) + b"]"
            assert code(data) == expected
    assert code(b"[" + b",".join(parts) + b"]", max_bytes=50) == "payload_too_large"


def test_a_syntax_error_is_located():
    with pytest.raises(RequestError, match=r"line 2, column 6"):
        loads(b'{"a": 1,\n"b": tru}')


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b" ",
        b"{} {}",
        b"'a'",
        b"{'a':1}",
        b"[1,]",
        b"01",
        b"+1",
        b".5",
        b"1.",
        b"0x1",
        b"\x0c{}",
        "\u00a0{}".encode(),
        "１".encode(),
    ],
)
def test_near_json_is_malformed(data):
    assert code(data) == "malformed_json"


@pytest.mark.parametrize(
    "data",
    [
        b"9" * 1_000_000,
        b"-" + b"9" * 999_999,
        b"1." + b"9" * 999_998,
        b"1e" + b"9" * 999_998,
        b'["' + b"\\\\" * 499_000 + b'\\u0000"]',
        b'["' + b"\\ud83d\\ude00" * 83_000 + b'\\ud83d"]',
        b"[" + b'"[",' * 249_000 + b"1]",
        b"[" + b"[]," * 340_000 + b"1]",
        b"[" + b'{"a":1,"a":2},' * 70_000 + b"1]",
        b"[" * 1_000_000,
    ],
    ids=[
        "digits",
        "negative",
        "fraction",
        "exponent",
        "backslashes",
        "surrogates",
        "strings",
        "brackets",
        "duplicates",
        "deep",
    ],
)
def test_a_megabyte_made_to_be_slow_is_answered_quickly(data):
    started = time.process_time()
    code(data, safe_integers=True)
    assert time.process_time() - started < 5


# --- dumps ---


def test_answers_are_compact_and_keep_the_order_of_members():
    assert dumps({"b": [1, True, None, "é\n"], "a": {}}) == '{"b":[1,true,null,"é\\n"],"a":{}}'.encode()


@pytest.mark.parametrize(
    ("number", "text"),
    [
        ("19.99", "19.99"),
        ("19.90", "19.9"),
        ("25.00", "25"),
        ("0.00", "0"),
        ("1E+3", "1000"),
        ("0.1", "0.1"),
        ("123456789012345678901234567890.5", "123456789012345678901234567890.5"),
        ("1.00000000000000000001", "1.00000000000000000001"),
        ("0.10000000000000000000000000000000000001", "0.10000000000000000000000000000000000001"),
        ("-1.50E-400", "-1.5e-400"),
        ("1E+400", "1e400"),
    ],
)
def test_a_decimal_is_written_as_a_number_of_its_exact_value(number, text):
    assert dumps([Decimal(number)]) == f"[{text}]".encode()
    assert dumps({"k": Decimal(number), "π": [1.5]}) == f'{{"k":{text},"π":[1.5]}}'.encode()


@given(st.decimals(allow_nan=False, allow_infinity=False, min_value=-(10**25), max_value=10**25))
def test_decimals_are_read_back_exactly(number):
    assert json.loads(dumps([number]), parse_float=Decimal) == [number]


@pytest.mark.parametrize(
    "value",
    [
        float("nan"),
        [float("inf")],
        {"a": Decimal("NaN")},
        Decimal("-Infinity"),
        Decimal("sNaN"),
        {1: "a"},
        [{"a": {None: 1}}],
        {True: 1},
        {1.5: 1, "n": Decimal("1.00000000000000000001")},
        {("a",): 1},
        {"a": {1, 2}},
        object(),
        b"bytes",
        "\ud800",
        {"\udfff": 1},
    ],
)
def test_what_is_not_json_is_not_written(value):
    with pytest.raises(ValueError):  # noqa: PT011 - the messages are the encoder's
        dumps(value)


def test_cycles_are_not_written():
    loop = [Decimal("1.00000000000000000001")]
    loop.append(loop)
    with pytest.raises(ValueError, match="too deep"):
        dumps(loop)
    plain = {}
    plain["self"] = [plain]
    with pytest.raises(ValueError, match="Circular"):
        dumps(plain)


# --- check_value ---


class Colour(StrEnum):
    RED = "red"


class Level(IntEnum):
    HIGH = 3


@pytest.mark.parametrize(
    "value",
    [
        None,
        True,
        0,
        -1,
        1.5,
        Decimal("19.99"),
        "é😀",
        [],
        {},
        {"a": [1, {"b": None}]},
        Colour.RED,
        Level.HIGH,
        10**40 - 1,
        "\x00",
    ],
)
def test_plain_json_values_pass(value):
    check_value(value)
    assert dumps(value)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (object(), "The value is of type object"),
        ({"a": [1, {"b/c~": {1, 2}}]}, "The value at '/a/1/b~1c~0' is of type set"),
        ([(1, 2)], "The value at '/0' is of type tuple"),
        ({"a": {1: 2}}, "The value at '/a' has a member name of type int"),
        ({"a": float("nan")}, "The value at '/a' is not a finite number"),
        ([Decimal("Infinity")], "The value at '/0' is not a finite number"),
        ([Decimal("1e31")], "The value at '/0' is a Decimal beyond"),
        ([Decimal("1." + "1" * 40)], "The value at '/0' is a Decimal beyond"),
        ([10**41], "The value at '/0' is an integer with more than 40 digits"),
        ([1 << 10**6], "The value at '/0' is an integer with more than 40 digits"),
        (["\ud800"], "The value at '/0' holds half of a surrogate pair"),
        ({"\ud800": 1}, "The value has a member name with half"),
        ({"\u00e9": [b""]}, "The value at '/\\\\xe9/0' is of type bytes"),
        ("\ud800", "The value holds half"),
    ],
)
def test_other_values_are_refused_with_their_place_and_type(value, message):
    with pytest.raises(ValueError, match=message):
        check_value(value)


def test_depth_is_limited_and_cycles_end():
    deep = leaf = []
    for _ in range(63):
        leaf.append([])
        leaf = leaf[0]
    check_value(deep)
    leaf.append({})
    with pytest.raises(ValueError, match="nests deeper than 64"):
        check_value(deep)
    loop = {}
    loop["again"] = loop
    with pytest.raises(ValueError, match="contains itself"):
        check_value(loop)


def test_the_number_of_parts_is_limited():
    check_value([0] * 100, max_nodes=100)
    with pytest.raises(ValueError, match="too many parts"):
        check_value([[0] * 50, [0] * 50], max_nodes=100)
    bush = []
    for _ in range(60):
        bush = [bush, bush]  # 2^60 paths through 60 lists
    with pytest.raises(ValueError, match="too many parts"):
        check_value(bush)
