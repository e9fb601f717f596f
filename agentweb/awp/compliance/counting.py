"""How a text stands to its budget. One that is far too long is not counted: a stranger's costs no more than ours."""

from __future__ import annotations

from dataclasses import dataclass

from agentweb.awp.budgets import MAX_BYTES_IN_TOKEN, Budget
from agentweb.wire import tokens


@dataclass(frozen=True, slots=True)
class Count:
    """``tokens`` of a text; when ``is_least`` it has at least as many, and more than its budget."""

    tokens: int
    is_least: bool = False

    def __str__(self) -> str:
        return f"more than {self.tokens - 1:,}" if self.is_least else f"{self.tokens:,}"


def count_for(text: str, budget: Budget) -> Count:
    """The tokens of a text, exact for every text that may be within the budget."""
    if len(text) > budget.tokens * MAX_BYTES_IN_TOKEN:
        return Count(budget.tokens + 1, is_least=True)
    return Count(tokens.count(text))
