"""Hashes of passwords are known by their form, in every text and every way in which they were ever written."""

from __future__ import annotations

import time
from typing import Any

import pytest
from django.contrib.auth.hashers import PBKDF2PasswordHasher, make_password

from agentweb.invoke.password_hashes import REMOVED, without_password_hashes
from agentweb.invoke.redaction import A_HASH, redact

HASHES = [
    "pbkdf2_sha256$1000000$salt$2Q5qDQH0tGKBbBrgFnvNLKfVYQqX8W0Z0hF0o0bYbXk=",
    "pbkdf2_sha1$260000$salt$YWJjZGVmZ2hpamtsbW5vcHFyc3Q=",
    "argon2$argon2id$v=19$m=102400,t=2,p=8$c2FsdHNhbHQ$YWJjZGVmZ2hpamtsbW5vcA",
    "$argon2id$v=19$m=65536,t=3,p=4$c2FsdHNhbHQ$YWJjZGVmZ2hpamtsbW5vcA",
    "bcrypt_sha256$$2b$12$abcdefghijklmnopqrstuuN9qo8uLOickgx2ZMRZoMyeIjZAgcfl7p",
    "bcrypt$$2b$12$abcdefghijklmnopqrstuuN9qo8uLOickgx2ZMRZoMyeIjZAgcfl7p",
    "$2y$10$abcdefghijklmnopqrstuuN9qo8uLOickgx2ZMRZoMyeIjZAgcfl7p",
    "scrypt$16384$salt$8$1$YWJjZGVmZ2hpamtsbW5vcHFyc3R1dnd4eXo=",
    "md5$salt$d41d8cd98f00b204e9800998ecf8427e",
    "sha1$salt$da39a3ee5e6b4b0d3255bfef95601890afd80709",
    "sha1$$da39a3ee5e6b4b0d3255bfef95601890afd80709",
    "$6$rounds=5000$saltsalt$abcdefghijklmnopqrstuvwxyz./0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuv",
    "$1$saltsalt$abcdefghijklmnopqrstuv",
    "pbkdf2:sha256:600000$saltsaltsalt$" + "0123456789abcdef" * 4,
    "scrypt:32768:8:1$saltsaltsalt$" + "0123456789abcdef" * 8,
]
ORDINARY = [
    "$5", "from $5 to $10", "US$100", "a$b$c$d", "$HOME/bin", "${name} and $1$2", "!", "!important", "md5", "scrypt",
    "bcrypt is $2b", "pbkdf2_sha256", "price$$$", "$y = $x", "0123456789abcdef0123456789abcdef", "!" + "a" * 39,
]  # fmt: skip


class OurHasher(PBKDF2PasswordHasher):
    algorithm = "our_own"


@pytest.mark.parametrize("text", HASHES)
def test_a_hash_is_removed_alone_and_among_words(text: str) -> None:
    assert without_password_hashes(text) == REMOVED
    assert without_password_hashes(f"ada:{text}") == f"ada:{REMOVED}"
    assert without_password_hashes(f'his "{text}" is') == f'his "{REMOVED}" is'


@pytest.mark.parametrize("text", ORDINARY)
def test_an_ordinary_text_is_the_same_object(text: str) -> None:
    assert redact({"a": text}) == ({"a": text}, [])
    assert without_password_hashes(text) is text


def test_what_the_site_s_own_hashers_write_is_known(settings: Any) -> None:
    for hasher in (
        "django.contrib.auth.hashers.PBKDF2PasswordHasher",
        "django.contrib.auth.hashers.PBKDF2SHA1PasswordHasher",
        "django.contrib.auth.hashers.ScryptPasswordHasher",
        "django.contrib.auth.hashers.MD5PasswordHasher",
        f"{__name__}.OurHasher",
    ):
        settings.PASSWORD_HASHERS = [hasher]
        assert without_password_hashes(make_password("hunter2")) == REMOVED
    assert without_password_hashes(make_password(None)) == REMOVED


def test_they_are_found_at_any_depth_and_in_names() -> None:
    value = {"a": [HASHES[0], 1], HASHES[1]: 2, "b": {"c": f"x {HASHES[8]}"}, "d": "tea"}
    assert redact(value) == (
        {"a": [REMOVED, 1], REMOVED: 2, "b": {"c": f"x {REMOVED}"}, "d": "tea"},
        [A_HASH] * 3,
    )
    assert redact(HASHES[0]) == (REMOVED, [A_HASH])


@pytest.mark.parametrize(
    "text",
    ["$" * 200_000, "pbkdf2_a$1$" * 20_000, "$2b$12$" * 30_000, "scrypt:1:1" * 20_000, "$y$a$" * 40_000,
     "-pbkdf2_" * 30_000 + "$", "$1$a$" * 40_000],
)  # fmt: skip
def test_long_texts_cost_little(text: str) -> None:
    started = time.process_time()
    without_password_hashes(text)
    assert time.process_time() - started < 5
