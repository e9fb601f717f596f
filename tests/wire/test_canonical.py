import hashlib
import json
import math
import os
import random
import struct
from decimal import Decimal
from enum import IntEnum, StrEnum

import pytest
import rfc8785

from agentweb.wire import canonical
from agentweb.wire.canonical import CanonicalError, canonicalize, digest
from agentweb.wire.strict_json import loads
from tests.vectors_dir import VECTORS

CYBERPHONE = VECTORS / "jcs/cyberphone"
NAMES = sorted(path.stem for path in (CYBERPHONE / "input").iterdir())
# The long run belongs to a release, the short one to every change.
GENERATED = 400_000 if os.environ.get("AGENTWEB_LONG") else 25_000


@pytest.fixture(params=["json", "orjson"])
def encoder(request, monkeypatch):
    """Run with and without the optional accelerator."""
    if request.param == "json":
        monkeypatch.setattr(canonical, "orjson", None)
    else:
        pytest.importorskip("orjson")
    return request.param


@pytest.mark.parametrize("name", NAMES)
def test_published_documents_have_the_published_form(name, encoder):
    value = loads((CYBERPHONE / f"input/{name}.json").read_bytes(), floats="float")
    expected = bytes.fromhex((CYBERPHONE / f"outhex/{name}.txt").read_text())
    assert canonicalize(value) == expected
    assert expected == (CYBERPHONE / f"output/{name}.json").read_bytes()


def test_all_published_documents_are_there():
    assert NAMES == ["arrays", "french", "structures", "unicode", "values", "weird"]


@pytest.mark.parametrize(
    ("bits", "text"),
    [  # RFC 8785 appendix B
        ("0000000000000000", "0"),
        ("8000000000000000", "0"),
        ("0000000000000001", "5e-324"),
        ("8000000000000001", "-5e-324"),
        ("7fefffffffffffff", "1.7976931348623157e+308"),
        ("ffefffffffffffff", "-1.7976931348623157e+308"),
        ("4340000000000000", "9007199254740992"),
        ("c340000000000000", "-9007199254740992"),
        ("4430000000000000", "295147905179352830000"),
        ("44b52d02c7e14af5", "9.999999999999997e+22"),
        ("44b52d02c7e14af6", "1e+23"),
        ("44b52d02c7e14af7", "1.0000000000000001e+23"),
        ("444b1ae4d6e2ef4e", "999999999999999700000"),
        ("444b1ae4d6e2ef4f", "999999999999999900000"),
        ("444b1ae4d6e2ef50", "1e+21"),
        ("3eb0c6f7a0b5ed8c", "9.999999999999997e-7"),
        ("3eb0c6f7a0b5ed8d", "0.000001"),
        ("41b3de4355555553", "333333333.3333332"),
        ("41b3de4355555554", "333333333.33333325"),
        ("41b3de4355555555", "333333333.3333333"),
        ("41b3de4355555556", "333333333.3333334"),
        ("41b3de4355555557", "333333333.33333343"),
        ("becbf647612f3696", "-0.0000033333333333333333"),
        ("43143ff3c1cb0959", "1424953923781206.2"),
    ],
)
def test_doubles_are_written_as_the_rfc_lists_them(bits, text):
    assert canonicalize(struct.unpack(">d", bytes.fromhex(bits))[0]) == text.encode()


ALPHABET = 'ab"\\/\b\f\n\r\t\x00\x1f\x7fé€\u2028\ud7ff\ue000\ufffd😀𐀀'


def random_value(rng, depth=0):
    kind = rng.randrange(8 if depth < 4 else 6)
    if kind < 2:
        return random_text(rng)
    if kind == 2:
        return rng.choice([0, 1, -1, 2**53 - 1, 1 - 2**53, rng.randrange(-(10**6), 10**6)])
    if kind == 3:
        return rng.choice([None, True, False])
    if kind == 4:
        return random_double(rng) if rng.random() < 0.3 else rng.choice([1, 0.5, Decimal("19.90")])
    if kind == 5:
        return rng.choice(["", [], {}])
    size = rng.randrange(5)
    if kind == 6:
        return [random_value(rng, depth + 1) for _ in range(size)]
    return {random_key(rng): random_value(rng, depth + 1) for _ in range(size)}


def random_text(rng):
    return "".join(rng.choices(ALPHABET, k=rng.randrange(6)))


def random_key(rng):
    if rng.random() < 0.15:
        return random_text(rng)
    return "".join(rng.choices('aAbB_-"\\\n\x00\x7f 019', k=rng.randrange(4)))


def random_double(rng):
    while True:
        number = rng.choice(
            [
                struct.unpack(">d", rng.randbytes(8))[0],
                rng.random(),
                float(rng.randrange(10**22)),
                rng.choice([-1, 1]) * 10 ** rng.uniform(-7, 22),
                rng.randrange(10**6) / 100,
            ]
        )
        if math.isfinite(number):
            return Decimal(rng.choice([repr(number), str(Decimal(number))])) if rng.random() < 0.3 else number


def with_doubles(value):
    if isinstance(value, Decimal):
        return float(value)
    if isinstance(value, list):
        return [with_doubles(item) for item in value]
    return {key: with_doubles(item) for key, item in value.items()} if isinstance(value, dict) else value


def test_generated_values_have_the_form_that_rfc8785_gives(encoder):
    rng = random.Random(8785)
    plain = 0
    for _ in range(GENERATED):
        value = random_value(rng)
        plain += canonical._is_plain(value, 100)
        assert canonicalize(value) == rfc8785.dumps(with_doubles(value))
    # The fast path is really what is compared.
    assert plain > GENERATED / 2


def test_numbers_of_every_size_have_the_form_that_rfc8785_gives(encoder):
    rng = random.Random(1985)
    for _ in range(GENERATED):
        number = random_double(rng)
        assert canonicalize(number) == canonicalize([number])[1:-1] == rfc8785.dumps(float(number))


def test_the_form_changes_where_the_notation_changes(encoder):
    for exponent in range(-9, 24):
        middle = 10.0**exponent
        for number in (
            middle,
            math.nextafter(middle, 0),
            math.nextafter(middle, math.inf),
            middle * 1.5,
            middle / 3,
        ):
            for signed in (number, -number):
                assert canonicalize(signed) == canonicalize(Decimal(signed)) == rfc8785.dumps(signed)


def test_a_canonical_form_is_its_own_canonical_form(encoder):
    rng = random.Random(3)
    for _ in range(2000):
        form = canonicalize(random_value(rng))
        assert canonicalize(loads(form, floats="float", safe_integers=True, allow_nul=True)) == form


def test_members_sort_by_utf_16_code_units(encoder):
    assert canonicalize({"\ufffd": 1, "𐀀": 2, "a": 3}) == '{"a":3,"𐀀":2,"\ufffd":1}'.encode()


def test_a_decimal_counts_as_its_nearest_double(encoder):
    assert (
        canonicalize([Decimal("19.99"), Decimal("25.00"), Decimal("1E+22"), Decimal("0.1")])
        == b"[19.99,25,1e+22,0.1]"
    )
    assert canonicalize({"a": Decimal("0.1000000000000000000000001")}) == b'{"a":0.1}'
    assert canonicalize(Decimal("-0.0")) == b"0"


def test_equal_numbers_have_equal_forms(encoder):
    assert canonicalize([1, 1.0, Decimal("1.00"), 1e0]) == b"[1,1,1,1]"


class Word(StrEnum):
    YES = "yes"


class Number(IntEnum):
    ONE = 1


def test_subclasses_are_written_as_what_they_are(encoder):
    assert canonicalize({Word.YES: [Word.YES, Number.ONE]}) == b'{"yes":["yes",1]}'


@pytest.mark.parametrize(
    "value",
    [
        float("nan"),
        [float("inf")],
        {"a": Decimal("NaN")},
        Decimal("sNaN"),
        Decimal("1e400"),
        2**53,
        [-(2**53)],
        [10**5000],
        "\ud800",
        {"\udfff": 1},
        {"a": ["é\ud800"]},
        {1: "a"},
        {"é": {None: 1}},
        {"a": {1, 2}},
        b"bytes",
        object(),
    ],
)
def test_what_has_no_canonical_form_is_a_canonical_error(value, encoder):
    with pytest.raises(CanonicalError):
        canonicalize(value)


def test_depth_and_cycles_are_canonical_errors(encoder):
    deep = []
    for _ in range(50_000):
        deep = [deep]
    with pytest.raises(CanonicalError, match="too deep"):
        canonicalize(deep)
    loop = {}
    loop["self"] = loop
    with pytest.raises(CanonicalError, match="contains itself"):
        canonicalize(loop)


@pytest.mark.parametrize("depth", [64, 99, 100, 101, 200])
def test_every_depth_that_a_request_may_have_is_written(depth, encoder):
    value = 1
    for _ in range(depth):
        value = [value]
    assert canonicalize(value) == b"[" * depth + b"1" + b"]" * depth


def test_the_digest_is_the_sha_256_of_the_canonical_form():
    assert digest({"b": 1, "a": [True]}) == "sha256:" + hashlib.sha256(b'{"a":[true],"b":1}').hexdigest()


def test_the_value_is_left_as_it_was(encoder):
    value = {"b": [Decimal("1.50")], "a": {"d": 1, "c": 2}}
    canonicalize(value)
    assert json.dumps(value, default=str) == '{"b": ["1.50"], "a": {"d": 1, "c": 2}}'
