"""The report on a site: the measured checklist, its score, and the table of budgets."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from agentweb.awp import protocol
from agentweb.awp.compliance.checklist import CHECKLIST, measure
from agentweb.awp.compliance.counts import CountedDocuments, Row
from agentweb.awp.compliance.items import Line, Outcome
from agentweb.awp.compliance.problems import Problem
from agentweb.awp.compliance.site import Site

_POINTS: Final = {
    True: {Outcome.PASSED: 4, Outcome.WARNED: 3, Outcome.FAILED: 0},
    False: {Outcome.PASSED: 1, Outcome.WARNED: 0, Outcome.FAILED: 0},
}
"""Of an item, by whether it is required: a requirement weighs four times a recommendation."""


@dataclass(frozen=True, slots=True)
class Report:
    """``origin`` with ``prefix`` is the site, ``is_own`` says that it was asked in process. ``asked`` counts requests;
    of ``pages_listed`` content pages ``pages_read`` were read."""

    origin: str
    prefix: str
    is_own: bool
    lines: tuple[Line, ...]
    budgets: tuple[Row, ...]
    asked: int
    pages_read: int
    pages_listed: int

    @property
    def score(self) -> int:
        """From 0 to 100; 100 when every item passed."""
        got = sum(_POINTS[line.item.is_required][line.outcome] for line in self.lines)
        most = sum(_POINTS[line.item.is_required][Outcome.PASSED] for line in self.lines)
        return 100 * got // most

    @property
    def is_compliant(self) -> bool:
        """Whether every requirement is met."""
        return not self.with_outcome(Outcome.FAILED)

    @property
    def problems(self) -> list[Problem]:
        return [problem for line in self.lines for problem in line.problems]

    def with_outcome(self, *outcomes: Outcome) -> list[Line]:
        return [line for line in self.lines if line.outcome in outcomes]

    def met(self, *, required: bool) -> tuple[int, int]:
        """(met, all) of the requirements, or of the recommendations."""
        lines = [line for line in self.lines if line.item.is_required is required]
        unmet = {Outcome.FAILED} if required else {Outcome.FAILED, Outcome.WARNED}
        return sum(line.outcome not in unmet for line in lines), len(lines)

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        required, recommended = self.met(required=True), self.met(required=False)
        return {
            "awp": protocol.VERSION,
            "site": self.origin + self.prefix,
            "in_process": self.is_own,
            "compliant": self.is_compliant,
            "score": self.score,
            "required": {"met": required[0], "of": required[1]},
            "recommended": {"met": recommended[0], "of": recommended[1]},
            "items": [line.as_dict() for line in self.lines],
            "budgets": [row.as_dict() for row in self.budgets],
            "requests": self.asked,
            "pages": {"listed": self.pages_listed, "read": self.pages_read},
        }


def analyze(site: Site, *, seen: Callable[[Line], None] = lambda _line: None) -> Report:
    """Measure the whole checklist; ``seen`` is told each line as soon as it is known.

    Raises NotReachedError when the site answers nothing at all.
    """
    documents = CountedDocuments(site)
    lines = []
    for line in measure(documents):
        lines.append(line)
        seen(line)
    if len(lines) != len(CHECKLIST):
        raise RuntimeError("A line of the checklist was not measured.")
    counts = documents.counts
    return Report(
        site.origin,
        documents.prefix,
        site.is_own,
        tuple(lines),
        tuple(counts.rows()),
        site.asked,
        counts.pages_read,
        counts.pages_listed,
    )
