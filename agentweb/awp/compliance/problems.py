"""One thing that is to be said of a document or an answer: how bad it is, where it is, and what to do about it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any, Final

from agentweb.awp.compliance.reading import Spot


class Severity(StrEnum):
    """An error breaks the specification, a warning does what it advises against; a note is good to know."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


WORST_FIRST: Final = tuple(Severity)


@dataclass(frozen=True, slots=True)
class Problem:
    """``pointer`` (RFC 6901) and ``spot`` are of the document, where it is about a place in one.

    ``address`` is the path of the document or answer on the site, with its query; empty for a file.
    """

    severity: Severity
    code: str
    message: str
    fix: str
    pointer: str = ""
    spot: Spot | None = None
    address: str = ""

    def as_dict(self) -> dict[str, Any]:
        """For JSON: ``{"severity", "code", "message", "fix", "pointer"?, "line"?, "column"?, "address"?}``."""
        told: dict[str, Any] = {
            "severity": str(self.severity),
            "code": str(self.code),
            "message": self.message,
            "fix": self.fix,
        }
        if self.spot is not None:
            told |= {"pointer": self.pointer, **asdict(self.spot)}
        if self.address:
            told["address"] = self.address
        return told


def counts(problems: Iterable[Problem]) -> dict[str, int]:
    """How many there are of each severity."""
    found = {str(each): 0 for each in Severity}
    for problem in problems:
        found[str(problem.severity)] += 1
    return found


def in_order(problems: Iterable[Problem]) -> list[Problem]:
    """As they stand in the document; those of one place, the worst first."""
    return sorted(
        problems,
        key=lambda each: (each.spot or Spot(0, 0), WORST_FIRST.index(each.severity), each.pointer, each.code),
    )
