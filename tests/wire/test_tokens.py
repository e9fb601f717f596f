"""Counting tokens without a network."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from importlib.resources import files

import pytest

from agentweb.wire import tokens

RANKS = "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7"


def test_the_ranks_are_those_that_tiktoken_checks() -> None:
    data = (files("agentweb.wire") / "data" / "cl100k_base.tiktoken").read_bytes()
    assert hashlib.sha256(data).hexdigest() == RANKS


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", 0),
        ("hello world", 2),
        ("tiktoken is great!", 6),
        ("2 + 2 = 4", 7),
        ("お誕生日おめでとう", 9),
        ("I'll   wait\n\n", 5),
        ("1234567", 3),
    ],
)
@pytest.mark.requirement("AWP-4.2", "AWP-4.3")
def test_counts_are_those_of_the_tokenizer(text: str, expected: int) -> None:
    assert tokens.count(text) == expected


def test_a_special_token_is_counted_as_text() -> None:
    assert tokens.count("<|endoftext|>") > 1


def test_a_text_that_would_take_long_is_refused() -> None:
    with pytest.raises(ValueError, match="counted in parts"):
        tokens.count("a" * (tokens.MAX_CHARACTERS + 1))


def test_the_tokenizer_is_loaded_by_the_first_count_only() -> None:
    code = "import sys; from agentweb.wire import tokens; sys.exit('tiktoken' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
