"""A number that the tokens of a text surely do not exceed, in a moment and without the tokenizer.

The tokenizer cuts a text into words and begins each with its bytes. As long as two neighbours are together a token, it
joins those of the least rank, which are the commonest. Here it is done with the COMMON commonest tokens alone: they
are joined in the same order, and what the tokenizer would go on to join only makes tokens fewer. Of English a bound is
about a fifth above the count. What is not ASCII counts by its bytes: whether a sign is a letter depends on the version
of Unicode, and with it where a word ends.
"""

from __future__ import annotations

import base64
import re
from functools import cache, lru_cache
from importlib.resources import files
from itertools import islice, pairwise
from typing import Final

from agentweb.wire.tokens import COUNTER

COMMON: Final = 10_000
"""Tokens that are known here, which take some milliseconds to read; all of them take a hundred times as long."""

_LONGEST_WORD: Final = 64
"""Bytes up to which a word is looked at; it takes time by their square."""
# A word begins at a space behind what is none, whatever stands around it.
_RUN: Final = re.compile(r"(?<=[!-~])(?= )")
# How the tokenizer cuts a text that is ASCII (``tokens``), in the signs that its classes then have.
_WORD: Final = re.compile(
    r"'(?i:[sdmt]|ll|ve|re)|[^\r\nA-Za-z0-9]?+[A-Za-z]++|[0-9]{1,3}+| ?[^ \t-\rA-Za-z0-9]++[\r\n]*+|[ \t-\r]++\Z"
    r"|[ \t-\r]*[\r\n]|[ \t-\r]+(?![^ \t-\r])|[ \t-\r]"
)


def at_most(text: str) -> int:
    """At least as many as ``tokens.count`` would say, of a text of any length."""
    return sum(
        sum(len(word) if len(word) > _LONGEST_WORD else _of_word(word) for word in _WORD.findall(run))
        if run.isascii()
        else len(run.encode("utf-8", "surrogatepass"))
        for run in _RUN.split(text)
    )


@lru_cache(maxsize=4_096)
def _of_word(word: str) -> int:
    ranks = _ranks()
    whole = word.encode()
    if whole in ranks:
        return 1
    found = [whole[at : at + 1] for at in range(len(whole))]
    while True:
        joined = [ranks.get(one + other, COMMON) for one, other in pairwise(found)]
        least = min(joined, default=COMMON)
        if least == COMMON:
            return len(found)
        at = joined.index(least)
        found[at : at + 2] = [found[at] + found[at + 1]]


@cache
def _ranks() -> dict[bytes, int]:
    """The commonest tokens with their ranks, by which the file is sorted."""
    found = {}
    with (files("agentweb.wire") / "data" / f"{COUNTER}.tiktoken").open("rb") as lines:
        for line in islice(lines, COMMON):
            word, _, rank = line.partition(b" ")
            found[base64.b64decode(word)] = int(rank)
    return found
