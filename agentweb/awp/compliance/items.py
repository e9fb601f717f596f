"""One line of the checklist, and what was found for it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final

from agentweb.awp.compliance.counts import CountedDocuments
from agentweb.awp.compliance.problems import Problem, Severity


class Outcome(StrEnum):
    """PASSED: nothing is to be done. WARNED: met, but something could be better, or a recommendation that is not met.
    FAILED: a requirement that is not met."""

    PASSED = "passed"
    WARNED = "warned"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Measured:
    """``value`` is what was seen, in a few words."""

    value: str
    problems: list[Problem] = field(default_factory=list)


Measure = Callable[[CountedDocuments], Measured]


@dataclass(frozen=True, slots=True)
class Item:
    """``id`` is stable: reports in other tools are compared by it. ``title`` says what holds when it is met."""

    id: str
    is_required: bool
    title: str
    measure: Measure = field(repr=False)
    about: str = ""


MAX_PROBLEMS: Final = 100
"""Problems of one item that are told."""


@dataclass(frozen=True, slots=True)
class Line:
    """An item as it was measured. ``left_out`` counts problems that are not told, because there are too many."""

    item: Item
    measured: str
    problems: tuple[Problem, ...]
    left_out: int = 0

    @property
    def outcome(self) -> Outcome:
        severities = {problem.severity for problem in self.problems}
        if Severity.ERROR in severities:
            return Outcome.FAILED if self.item.is_required else Outcome.WARNED
        return Outcome.WARNED if Severity.WARNING in severities else Outcome.PASSED

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "id": self.item.id,
            "level": "required" if self.item.is_required else "recommended",
            "title": self.item.title,
            "outcome": str(self.outcome),
            "measured": self.measured,
            "problems": [problem.as_dict() for problem in self.problems],
            "left_out": self.left_out,
        }


def measured_line(item: Item, documents: CountedDocuments) -> Line:
    """Measure an item. Errors come first, so that what is left out is the lesser."""
    found = item.measure(documents)
    ordered = sorted(found.problems, key=lambda each: list(Severity).index(each.severity))
    return Line(item, found.value, tuple(ordered[:MAX_PROBLEMS]), max(0, len(ordered) - MAX_PROBLEMS))
