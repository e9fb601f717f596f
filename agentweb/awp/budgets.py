"""How many tokens each text may have, and a text cut to what it may have.

AWP.md speaks of eight budgets of the seed; the seed's table has seven rows, which are these. Tokens are those of the
GPT-4 tokenizer, ``agentweb.wire.tokens``. What is served never exceeds its budget; a source that does is said by a
check, with ``Fitted.source_tokens`` and ``Fitted.overflow``.

The tokenizer takes a moment to load, for which no request should wait. So whoever fits a text says how it is measured:
by ``count``; without the tokenizer by ``at_most``, with which the same rules keep what surely fits; or by the counts
that are kept of the site's texts (``publishing.counted``).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Final

from agentweb.awp.sentences import sentences
from agentweb.wire import tokens
from agentweb.wire.token_bounds import at_most

__all__ = [
    "API_DESCRIPTION",
    "BUDGETS",
    "DISCOVERY_DESCRIPTION",
    "FUNCTION_DESCRIPTION",
    "INSTRUCTIONS",
    "LLMS_INTRO",
    "MAX_BYTES_IN_TOKEN",
    "PAGE",
    "SUMMARY",
    "Budget",
    "Fitted",
    "Measure",
    "at_most",
    "count",
    "fit",
    "fits",
]

MAX_BYTES_IN_TOKEN: Final = 128
"""The longest token of ``cl100k_base``: a text with more bytes than this times its budget need not be counted."""

_CUT_MARK: Final = "…"
_WORD: Final = re.compile(r"\s*\S+")
_SLICE: Final = 200_000


@dataclass(frozen=True, slots=True)
class Budget:
    """One row of the seed's table: ``name`` is ours, ``title`` the seed's."""

    name: str
    title: str
    tokens: int


DISCOVERY_DESCRIPTION: Final = Budget("discovery_description", "Discovery manifest description", 200)
SUMMARY: Final = Budget("summary", "Content summary (summary.md)", 500)
INSTRUCTIONS: Final = Budget("instructions", "Agent instructions", 300)
PAGE: Final = Budget("page", "Per-page content", 2_000)
API_DESCRIPTION: Final = Budget("api_description", "API endpoint description", 100)
FUNCTION_DESCRIPTION: Final = Budget("function_description", "Function description", 150)
LLMS_INTRO: Final = Budget("llms_intro", "llms.txt intro", 200)

BUDGETS: Final[tuple[Budget, ...]] = (
    DISCOVERY_DESCRIPTION,
    SUMMARY,
    INSTRUCTIONS,
    PAGE,
    API_DESCRIPTION,
    FUNCTION_DESCRIPTION,
    LLMS_INTRO,
)
"""The table, in the seed's order."""


@dataclass(frozen=True, slots=True)
class Fitted:
    """A text as it is served.

    ``tokens`` are those of ``text``, ``source_tokens`` those of what it was made from, as they were measured;
    ``overflow`` is the rest of the source that is not in ``text``, empty where nothing was cut.
    """

    text: str
    tokens: int
    is_cut: bool
    overflow: str
    source_tokens: int


def count(text: str) -> int:
    """The tokens of a text of any length.

    Beyond a million characters it is counted in slices, cut where a line ends, so that a token may be counted twice
    at a cut.
    """
    if len(text) <= tokens.MAX_CHARACTERS:
        return tokens.count(text)
    total = start = 0
    while start < len(text):
        end = min(start + _SLICE, len(text))
        if end < len(text):
            end = text.rfind("\n", start, end) + 1 or end
        total += tokens.count(text[start:end])
        start = end
    return total


Measure = Callable[[str], int]
"""The tokens of a text, or a number that they surely do not exceed: ``count``, ``at_most``, or of some texts each."""


def fits(text: str, most: int, measure: Measure = count) -> bool:
    """Whether the text has at most this many tokens; one that is surely too long or short enough is not measured."""
    # A token has a byte at least.
    if len(text) <= most and len(text.encode("utf-8", "surrogatepass")) <= most:
        return True
    return len(text) <= most * MAX_BYTES_IN_TOKEN and measure(text) <= most


def fit(text: str, budget: Budget | int, pointer: str = "", measure: Measure = count) -> Fitted:
    """The text where it is within the budget, else its longest run of whole sentences that is, and the pointer.

    The pointer says where the rest is, and follows a space unless it begins with white space itself. Where not even
    the first sentence fits, whole words are kept, then characters, before an ellipsis. Raises ValueError for a
    pointer that fills the budget by itself.
    """
    most = budget.tokens if isinstance(budget, Budget) else budget
    source = measure(text)
    if source <= most:
        return Fitted(text, source, False, "", source)
    ending = pointer if not pointer or pointer[0].isspace() else f" {pointer}"
    if measure(_CUT_MARK + ending) >= most:
        raise ValueError(f"The pointer leaves no room in a budget of {most} tokens.")
    for lengths, mark in (
        (_lengths(sentences(text)), ""),
        # At blanks that nothing follows, each of them would look for a word as far as the end.
        (_lengths(_WORD.findall(text.rstrip())), _CUT_MARK),
        (range(1, len(text)), _CUT_MARK),
    ):
        kept = _longest(text, lengths, mark + ending, most, measure)
        if kept:
            served = _ended(text, kept, mark + ending)
            return Fitted(served, measure(served), True, text[kept:].strip(), source)
    served = ending.lstrip()
    return Fitted(served, measure(served), True, text.strip(), source)


def _longest(text: str, lengths: Sequence[int], ending: str, most: int, measure: Measure) -> int:
    """The greatest of these lengths, which ascend, at which the text fits before its ending; 0 where none does."""
    low, high = 0, len(lengths)
    while low < high:
        middle = (low + high) // 2
        if fits(_ended(text, lengths[middle], ending), most, measure):
            low = middle + 1
        else:
            high = middle
    kept = lengths[low - 1] if low else 0
    return kept if text[:kept].strip() else 0


def _ended(text: str, kept: int, ending: str) -> str:
    return text[:kept].rstrip() + ending


def _lengths(pieces: Iterable[str]) -> list[int]:
    return list(accumulate(map(len, pieces)))
