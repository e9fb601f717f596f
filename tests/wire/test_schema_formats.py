"""Formats beyond the official vectors: whole-text matches, ASCII digits, calendar."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentweb.wire.schema import compile_schema
from agentweb.wire.schema.formats import FORMATS


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("date", "2024-02-29", True),
        ("date", "2023-02-29", False),
        ("date", "0000-02-29", True),
        ("date", "2024-02-29\n", False),
        ("date", "٢٠٢٤-02-29", False),
        ("date-time", "2024-02-29t23:59:60z", True),
        ("date-time", "2024-02-29 23:59:59Z", False),
        ("date-time", "2024-02-29T23:59:59", False),
        ("date-time", "2024-02-29T24:00:00Z", False),
        ("time", "01:29:60+01:30", True),
        ("time", "23:59:60-01:00", False),
        ("uuid", "123E4567-e89b-42d3-a456-426614174000", True),
        ("uuid", "{123e4567-e89b-42d3-a456-426614174000}", False),
        ("email", "a@b", True),
        ("email", '"a b"@example.com', True),
        ("email", "a..b@example.com", False),
        ("email", "a@[127.0.0.1]", True),
        ("email", "a@[IPv6:::1]", True),
        ("email", "a@example.com\n", False),
        ("email", f"{'a' * 65}@example.com", False),
        ("hostname", "xn--bcher-kva.example", True),
        ("hostname", "xn--X", False),
        ("hostname", "a" * 64, False),
        ("hostname", ".".join(["a" * 63] * 4), False),
        ("hostname", "example.com.", False),
        ("ipv4", "127.0.0.01", False),
        ("ipv4", "127.1", False),
        ("ipv6", "::ffff:127.0.0.1", True),
        ("ipv6", "fe80::1%eth0", False),
        ("uri", "https://user:pw@example.com:8443/a?b#c", True),
        ("uri", "https://[2001:db8::1]:80/", True),
        ("uri", "https://[::1", False),
        ("uri", "https://[v7.a:b]/", True),
        ("uri", "//example.com", False),
        ("uri", "a b:c", False),
        ("uri", "https://example.com/ä", False),
        ("uri", "https://example.com/%zz", False),
        ("uri", "javascript:alert(1)", True),  # a URI by its grammar; whoever shows it decides on schemes
        ("password", "", True),  # an annotation
        ("made-up", "", True),
    ],
)
def test_a_format_is_asserted_exactly(name, text, expected):
    for accelerate in (True, False):
        assert compile_schema({"format": name}, accelerate=accelerate).is_valid(text) is expected
        assert compile_schema({"format": name}, accelerate=accelerate).is_valid(5)


@given(st.sampled_from(sorted(FORMATS)), st.text())
def test_no_text_makes_a_format_check_fail_with_an_exception(name, text):
    assert FORMATS[name](text) in {True, False}


@pytest.mark.parametrize("part", ["a", "-", "a@", '"\\', "::", "%", "a.", "1:"])
def test_long_texts_are_answered_at_once(part):
    started = time.thread_time()
    for check in FORMATS.values():
        check(part * 200_000)
    assert time.thread_time() - started < 5
