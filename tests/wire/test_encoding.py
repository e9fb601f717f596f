import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentweb.wire.encoding import b64url, b64url_decode, new_nonce, random_id


@given(st.binary(max_size=100))
def test_bytes_survive_the_round_trip(data):
    assert b64url_decode(b64url(data), length=len(data)) == data


@pytest.mark.parametrize(
    "text",
    [
        "QQ==",  # padding
        "QR",  # non-zero unused bits of one byte
        "QUJ",  # non-zero unused bits of two bytes
        "Q",  # no number of bytes
        "QQQQQ",
        "Q+",
        "Q/",
        "Q Q",
        "QQ\n",
        "\nQQ",
        "QQ\x00",
        "ＱＱ",
        "é",
        "\ud800",
    ],
)
def test_what_is_not_canonical_base64url_is_refused(text):
    with pytest.raises(ValueError, match=r"(?i)base64url"):
        b64url_decode(text)


def test_only_text_is_decoded():
    with pytest.raises(ValueError, match="Base64url is written"):
        b64url_decode(b"QQ")


def test_only_one_text_in_the_alphabet_decodes_to_a_byte():
    alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
    accepted = []
    for first in "Q":
        for second in alphabet:
            try:
                accepted.append(b64url_decode(first + second))
            except ValueError:
                continue
    assert accepted == [b"@", b"A", b"B", b"C"]


def test_another_length_than_demanded_is_refused():
    with pytest.raises(ValueError, match="3 bytes instead of 4"):
        b64url_decode("QUJD", length=4)


def test_empty_text_is_no_bytes():
    assert b64url_decode("") == b""


def test_identifiers_are_fresh_and_have_128_random_bits():
    ids = {random_id("rc_") for _ in range(1000)}
    assert len(ids) == 1000
    assert all(text.startswith("rc_") and len(b64url_decode(text[3:], length=16)) == 16 for text in ids)


def test_nonces_are_fresh_and_have_128_random_bits():
    nonces = {new_nonce() for _ in range(1000)}
    assert len(nonces) == 1000
    assert all(len(b64url_decode(nonce, length=16)) == 16 for nonce in nonces)
