"""Counting the tokens of a text as GPT-4's tokenizer does, with no network: the ranks are beside this module.

tiktoken by itself would download them at first use. They are those whose SHA-256 it checks, and are shared under the
MIT licence by tiktoken and by the ports of it.
"""

from __future__ import annotations

import base64
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from tiktoken import Encoding

COUNTER: Final = "cl100k_base"
"""The name of the counter, to be told wherever a count is."""
MAX_CHARACTERS: Final = 1_000_000
"""A text of letters without a space takes about three seconds at this length."""

# How the tokenizer cuts a text into words, before it looks for pairs in them.
_WORDS: Final = (
    r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]"
    r"|\s+(?!\S)|\s"
)


def count(text: str) -> int:
    """The number of tokens; a special token in the text is text like any other.

    The first call in a process loads the ranks, which takes a moment. Raises ValueError for a text that is too long.
    """
    if len(text) > MAX_CHARACTERS:
        raise ValueError(f"A text of more than {MAX_CHARACTERS:,} characters is counted in parts.")
    return len(_encoding().encode_ordinary(text))


@cache
def _encoding() -> Encoding:
    # Here, because it is heavy and most processes never count.
    from tiktoken import Encoding  # noqa: PLC0415

    ranks = {}
    for line in (files("agentweb.wire") / "data" / f"{COUNTER}.tiktoken").read_bytes().splitlines():
        word, _, rank = line.partition(b" ")
        ranks[base64.b64decode(word)] = int(rank)
    return Encoding(COUNTER, pat_str=_WORDS, mergeable_ranks=ranks, special_tokens={})
