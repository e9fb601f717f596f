"""What an oracle finds: breaches by their rules."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

EXAMPLES: Final = 5


@dataclass(frozen=True)
class Breach:
    """``count`` breaches of one rule, with the first of them in words."""

    rule: StrEnum
    count: int
    examples: tuple[str, ...]


@dataclass
class Breaches:
    """Those of one look, collected."""

    _found: dict[StrEnum, list[str]] = field(default_factory=lambda: defaultdict(list))

    def add(self, rule: StrEnum, words: str) -> None:
        self._found[rule].append(words)

    def clear(self) -> None:
        self._found.clear()

    def in_order(self, rules: type[StrEnum]) -> list[Breach]:
        return [
            Breach(rule, len(found), tuple(found[:EXAMPLES]))
            for rule in rules
            if (found := self._found.get(rule))
        ]
