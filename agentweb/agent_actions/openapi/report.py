"""What an import says of a document: errors, for which nothing is written, and what gets lost on the way."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum


class Level(StrEnum):
    ERROR = "error"
    LOSS = "loss"
    """Something of the document has no place in a manifest."""
    NOTE = "note"
    """Nothing is lost, and somebody should look."""


@dataclass(frozen=True, slots=True)
class Finding:
    """``where`` is an operation, ``POST /orders (createOrder)``, or empty for the whole; ``code`` is for machines."""

    level: Level
    where: str
    code: str
    message: str

    def as_dict(self) -> dict[str, str]:
        return {"level": str(self.level), "where": self.where, "code": self.code, "message": self.message}


@dataclass(slots=True)
class Report:
    """Findings in the order of the document."""

    findings: list[Finding] = field(default_factory=list)

    def error(self, where: str, code: str, message: str) -> None:
        self.findings.append(Finding(Level.ERROR, where, code, message))

    def loss(self, where: str, code: str, message: str) -> None:
        self.findings.append(Finding(Level.LOSS, where, code, message))

    def note(self, where: str, code: str, message: str) -> None:
        self.findings.append(Finding(Level.NOTE, where, code, message))

    @property
    def has_errors(self) -> bool:
        return any(finding.level is Level.ERROR for finding in self.findings)
