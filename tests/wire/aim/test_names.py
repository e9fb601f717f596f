import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentweb.wire.aim.keys import public_of
from agentweb.wire.aim.names import (
    RESERVED,
    NameRefusedError,
    check_name,
    is_key_name,
    is_name,
    key_name,
    skeleton,
)
from agentweb.wire.signing import SigningKey

KEY_NAME = "k-vmrcw24cizyyqclot64yqdg5uh"
WRONG = {
    "empty": "",
    "two characters": "ab",
    "33 characters": "a" * 33,
    "upper case": "Alice",
    "a digit first": "1alice",
    "a hyphen first": "-alice",
    "a hyphen last": "alice-",
    "two hyphens": "al--ice",
    "punycode": "xn--bcher-kva",
    "an underscore": "al_ice",
    "a dot": "al.ice",
    "a line feed after it": "bob\n",
    "a carriage return after it": "bob\r",
    "a NUL": "bo\x00b",
    "a space": "bob ",
    "a Cyrillic letter": "\u0430lice",
    "an accent": "alicé",
    "a full-width letter": "\uff41lice",
    "the Kelvin sign": "\u212aelvin",
    "an Arabic digit": "alice\u0661",
    "no text": None,
    "bytes": b"alice",
}


@pytest.mark.parametrize(
    "name", ["bob", "alice", "a1b", "agent-smith", "a-b-c", "a" * 32, "abc-1", "k-short"]
)
def test_ordinary_names_can_be_chosen(name):
    assert check_name(name) == name
    assert is_name(name)


@pytest.mark.parametrize("wrong", WRONG)
def test_what_is_not_written_as_a_name_is_refused_and_never_mapped(wrong):
    assert not is_name(WRONG[wrong])
    with pytest.raises(NameRefusedError) as refused:
        check_name(WRONG[wrong])
    assert refused.value.reason == "format"


@pytest.mark.parametrize("name", sorted(RESERVED - {"me"}))
def test_names_that_seem_to_speak_for_the_service_are_reserved(name):
    with pytest.raises(NameRefusedError) as refused:
        check_name(name)
    assert refused.value.reason == "reserved"
    assert is_name(name)


def test_a_site_reserves_more_names():
    assert check_name("acme") == "acme"
    with pytest.raises(NameRefusedError) as refused:
        check_name("acme", reserved=("acme", "billing"))
    assert refused.value.reason == "reserved"


def test_nobody_chooses_the_name_that_follows_from_a_key():
    assert is_name(KEY_NAME)
    assert is_key_name(KEY_NAME)
    with pytest.raises(NameRefusedError) as refused:
        check_name(KEY_NAME)
    assert refused.value.reason == "key_name"


@pytest.mark.parametrize(
    "name", ["k-" + "a" * 25, "k-" + "a" * 27, "k-" + "1" * 26, "j-" + "a" * 26, KEY_NAME + "\n", None]
)
def test_what_only_looks_like_a_key_name_is_none(name):
    assert not is_key_name(name)


@pytest.mark.requirement("AIM-S11.3")
@given(st.binary(min_size=32, max_size=32))
def test_every_key_has_a_name_of_its_own_that_is_a_name_and_always_the_same(seed):
    public = public_of(SigningKey.from_seed(seed))
    name = key_name(public)
    assert name == key_name(public)
    assert is_key_name(name)
    assert is_name(name)
    assert name != key_name(public_of(SigningKey.from_seed(bytes(31) + b"\x01")))


def test_only_keys_have_key_names():
    for text in ("", "A" * 43, "é" * 43, None):
        with pytest.raises(ValueError, match="public key"):
            key_name(text)


@given(st.text(alphabet="abkz019-_.@ AZ\n\r\x00é\u212a", max_size=34))
def test_a_name_is_what_the_rule_says_in_other_words(text):
    letters = set("abcdefghijklmnopqrstuvwxyz")
    inside = letters | set("0123456789-")
    rule = (
        3 <= len(text) <= 32
        and set(text) <= inside
        and text[0] in letters
        and text[-1] != "-"
        and "--" not in text
    )
    assert is_name(text) == rule


@pytest.mark.parametrize(
    ("name", "like"),
    [
        ("a1ice", "alice"),
        ("limes11", "iimes11"),
        ("modern", "modem"),
        ("vvest", "west"),
        ("cloud", "doud"),
        ("r0b0t", "robot"),
        ("al-ice", "alice"),
        ("c1ick", "click"),
        ("5am", "sam"),
        ("r-n0w", "mow"),
    ],
)
def test_names_that_look_alike_have_one_skeleton(name, like):
    assert skeleton(name) == skeleton(like)


@pytest.mark.parametrize(
    ("name", "other"), [("alice", "alise"), ("bob", "rob"), ("anna", "hanna"), ("mail", "mall-e")]
)
def test_names_that_do_not_look_alike_have_different_skeletons(name, other):
    assert skeleton(name) != skeleton(other)


@given(st.from_regex(re.compile(r"[a-z](?:[a-z0-9]|-(?=[a-z0-9])){1,30}[a-z0-9]", re.ASCII), fullmatch=True))
def test_a_skeleton_is_its_own_skeleton_and_no_longer_than_the_name(name):
    seen = skeleton(name)
    assert skeleton(seen) == seen
    assert 1 <= len(seen) <= len(name)
