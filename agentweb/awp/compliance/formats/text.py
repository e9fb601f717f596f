"""The report for a person at a terminal: a line for each item, what is wrong and the fix, and bars for the budgets."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import groupby
from typing import Final

from agentweb.awp.compliance.counts import Row
from agentweb.awp.compliance.items import Line, Outcome
from agentweb.awp.compliance.problems import Problem
from agentweb.awp.compliance.report import Report
from agentweb.awp.compliance.site import Site

Paint = Callable[[Outcome, str], str]
"""Colours a text by what it tells."""

_TITLE: Final = 66
_BAR: Final = 24
_NAMES: Final = 30
_ADDRESS: Final = 60
_MOST: Final = 5
"""Problems with the same fix that are told one by one."""


class Signs:
    """The marks and bars, in Unicode or for terminals that cannot show it."""

    def __init__(self, *, is_unicode: bool) -> None:
        self.outcomes = (
            {Outcome.PASSED: "✓", Outcome.WARNED: "!", Outcome.FAILED: "✗"}
            if is_unicode
            else {Outcome.PASSED: "ok  ", Outcome.WARNED: "warn", Outcome.FAILED: "FAIL"}
        )
        self.full, self.empty = ("█", "░") if is_unicode else ("#", ".")


def can_show(encoding: str | None) -> bool:
    """Whether a stream of this encoding can show the signs."""
    try:
        "✓✗█░".encode(encoding or "ascii")
    except (LookupError, UnicodeEncodeError):
        return False
    return True


class TextReport:
    """``paint`` colours; without one nothing is coloured."""

    def __init__(self, *, is_unicode: bool, paint: Paint = lambda _outcome, text: text) -> None:
        self._signs = Signs(is_unicode=is_unicode)
        self._paint = paint

    def heading(self, site: Site) -> str:
        where = "in process" if site.is_own else "over the network"
        return f"AWP 1.0 on {site.origin}{site.prefix}, {where}"

    def section(self, line: Line, before: Line | None) -> Iterator[str]:
        """The heading above a line that is the first of its kind."""
        if before is None or before.item.is_required is not line.item.is_required:
            yield ""
            yield "Required" if line.item.is_required else "Recommended"

    def line(self, line: Line) -> Iterator[str]:
        """The line of an item, and its problems below it."""
        mark = self._paint(line.outcome, self._signs.outcomes[line.outcome])
        yield f"  {mark} {line.item.title:<{_TITLE}}  {line.measured}".rstrip()
        for fix, group in groupby(line.problems, key=lambda each: each.fix):
            yield from _problems(fix, list(group))
        if line.left_out:
            yield f"      … and {line.left_out} more"

    def budgets(self, rows: Iterable[Row]) -> Iterator[str]:
        """The table: name, bar of the fullest text, its count of the budget, and where it is."""
        yield ""
        yield "Token budgets, by the text that comes closest"
        for row in rows:
            yield f"  {row.budget.title:<{_NAMES}}  {self._bar(row)}"

    def summary(self, report: Report) -> str:
        required, recommended = report.met(required=True), report.met(required=False)
        outcome = Outcome.PASSED if report.score == 100 else Outcome.WARNED
        outcome = outcome if report.is_compliant else Outcome.FAILED
        said = "keeps AWP 1.0" if report.is_compliant else "does not keep AWP 1.0"
        pages = ""
        if report.pages_read < report.pages_listed:
            pages = f" {report.pages_read} of {report.pages_listed:,} content pages were read."
        return (
            self._paint(outcome, f"Score {report.score} of 100: the site {said}.")
            + f" Required {required[0]} of {required[1]}, recommended {recommended[0]} of {recommended[1]};"
            + f" {report.asked:,} requests.{pages}"
        )

    def _bar(self, row: Row) -> str:
        if row.most is None:
            return f"{self._signs.empty * _BAR}  no text"
        tokens, budget = row.most.count.tokens, row.budget.tokens
        filled = min(_BAR, -(-_BAR * tokens // budget))
        bar = self._signs.full * filled + self._signs.empty * (_BAR - filled)
        outcome = Outcome.FAILED if row.over else Outcome.PASSED
        counted = f"{row.most.count} of {budget:,}"
        many = f"{row.texts:,} text{'' if row.texts == 1 else 's'}"
        over = f", {row.over:,} over" if row.over else ""
        return f"{self._paint(outcome, bar)}  {counted:<14}  {many}{over}  {_cut(row.most.address)}".rstrip()


def _problems(fix: str, problems: list[Problem]) -> Iterator[str]:
    for problem in problems[:_MOST]:
        yield f"      {_where(problem)}{problem.message}"
    if len(problems) > _MOST:
        yield f"      … and {len(problems) - _MOST} more of the same"
    yield f"      Fix: {fix}"


def _where(problem: Problem) -> str:
    if not problem.address:
        return ""
    place = "" if problem.spot is None else f":{problem.spot.line}:{problem.spot.column}"
    return f"{problem.address}{place}: "


def _cut(address: str) -> str:
    return address if len(address) <= _ADDRESS else f"{address[: _ADDRESS - 1]}…"
