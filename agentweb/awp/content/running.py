"""A run: every page of the site looked at, and its content stored where it has changed.

Two runs are never at work at once (``runs``), and one that was killed leaves nothing half done: each page is one
transaction, and the next run begins at the first page, where what is done already costs a look. A page that is for
nobody any more goes when it is seen; one that is nowhere any more, at the end of a run that saw all there is; one that
failed stays as it was.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final

from django.conf import settings
from django.db import reset_queries

from agentweb import conf
from agentweb.awp.content import convert, languages, robots, runs, sources, storing
from agentweb.awp.content.making import Looked, Made, Maker, Unchanged
from agentweb.awp.content.outcomes import Failed, LeftOut, Reason, Report
from agentweb.awp.content.rendering import Renderer
from agentweb.awp.content.sources import Candidate
from agentweb.awp.content.transactions import depths, leave_as_found
from agentweb.awp.content.workers import look
from agentweb.awp.publishing import counting
from agentweb.awp.search import indexing
from agentweb.http.asking import own_place

REMOVED: Final = "removed"
LEFT_OUT: Final = "left_out"
FAILED: Final = "failed"
SELECTOR: Final = "AGENTWEB['AWP']['SELECTOR']"
COUNTED: Final = (*storing.Stored, REMOVED, LEFT_OUT, FAILED)


@dataclass(frozen=True, slots=True)
class Summary:
    """``counts`` are pages of each language by what became of them, COUNTED. ``is_complete``: every page was seen and
    confirmed. ``reports`` tell of all that are not published, ``remarks`` of what is odd about those that are."""

    run: int
    is_complete: bool
    counts: dict[str, int]
    reports: list[Report]
    seconds: float
    remarks: list[str] = field(default_factory=list)


@dataclass
class Run:
    """One run, for which ``begin`` vouches. ``pages`` does the work, ``summary`` is what came of it."""

    key: int
    workers: int
    candidates: list[Candidate] = field(default_factory=list)
    reports: list[Report] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
    is_done: bool = False
    _is_whole: bool = True
    _maker: Maker | None = None
    _selected: Counter[bool] = field(default_factory=Counter)
    _unchanged: list[int] = field(default_factory=list)
    _done: set[tuple[str, str]] = field(default_factory=set)
    _renewed: float = field(default_factory=time.monotonic)
    _began: float = field(default_factory=time.monotonic)

    @property
    def total(self) -> int:
        return len(self.candidates)

    def find(self) -> None:
        """Learn which pages there are, and what robots allow."""
        origin, of_the_site = own_place().origin, languages.of_the_site()
        renderer = Renderer(origin)
        rules = robots.read(renderer, origin, of_the_site.default)
        if isinstance(rules, Failed):
            # Until the site says what robots may have, everything stays as it is.
            self._is_whole = False
            self._note(Report(robots.PATH, "", rules))
            return
        selector = conf.get_in("AWP", "SELECTOR")
        wrong = convert.problem_of(selector) if selector else None
        if wrong is not None:
            self._is_whole = False
            self._note(Report(SELECTOR, "", Failed(Reason.SELECTOR, wrong)))
            return
        self._maker = Maker(origin, rules, of_the_site, selector)
        before = depths()
        found = sources.find(renderer, of_the_site, origin, self._tick)
        leave_as_found(before)
        self.candidates, self._is_whole = found.candidates, found.is_whole
        for report in found.reports:
            self._note(report)

    def pages(self) -> Iterator[Candidate]:
        """Look at every page; each is given when it is done. Raises Superseded."""
        if self._maker is not None:
            for candidate, found in look(self.candidates, self._maker, self.workers, self._tick):
                for looked in found:
                    self._take(candidate, looked)
                self._tick()
                yield candidate
        self._confirm()
        runs.renew(self.key)
        if self._is_whole:
            self.counts[REMOVED] += storing.remove_unseen(self.key)
        # What an earlier run was killed before, too.
        indexing.catch_up(tick=self._tick)
        counting.count_texts(self._tick)
        self.is_done = True

    def summary(self) -> Summary:
        is_complete = self.is_done and self._is_whole and not self.counts[FAILED]
        counts = {str(name): self.counts[name] for name in COUNTED}
        seconds = time.monotonic() - self._began
        return Summary(self.key, is_complete, counts, self.reports, seconds, list(self._remarks()))

    def _remarks(self) -> Iterator[str]:
        # Of unchanged pages nobody knows what it found; a new selector leaves none unchanged.
        if self._selected[False] and not self._selected[True] and not self.counts[storing.Stored.UNCHANGED]:
            yield (
                f"{SELECTOR} finds nothing on any of the {self._selected[False]:,} pages that were converted: their "
                "main content was looked for as if it were unset"
            )

    def _take(self, candidate: Candidate, looked: Looked) -> None:
        slug, language, outcome = looked.slug, looked.language, looked.outcome
        if isinstance(outcome, Failed):
            self._note(Report(candidate.path, language, outcome))
            storing.keep(self.key, looked.asked)
            return
        if isinstance(outcome, LeftOut):
            self._note(Report(candidate.path, language, outcome))
            self.counts[REMOVED] += storing.remove(self.key, looked.asked, language, self._done)
            return
        if (slug, language) in self._done:
            return
        self._done.add((slug, language))
        if isinstance(outcome, Unchanged):
            self.counts[storing.Stored.UNCHANGED] += 1
            self._unchanged.append(outcome.key)
            if len(self._unchanged) >= storing.BATCH:
                self._confirm()
        elif isinstance(outcome, Made):
            if outcome.is_selected is not None:
                self._selected[outcome.is_selected] += 1
            self.counts[storing.write(self.key, slug, language, looked.asked, outcome)] += 1

    def _confirm(self) -> None:
        if self._unchanged:
            storing.confirm(self.key, self._unchanged)
            self._unchanged = []

    def _tick(self) -> None:
        """Stay alone at work, and let nothing heap up."""
        # Under DEBUG Django keeps every statement, with all the text in it, until a request begins.
        reset_queries()
        if time.monotonic() - self._renewed > runs.RENEW_SECONDS:
            self._renewed = time.monotonic()
            runs.renew(self.key)

    def _note(self, report: Report) -> None:
        self.counts[FAILED if isinstance(report.why, Failed) else LEFT_OUT] += 1
        self.reports.append(report)


class Nameless(Exception):
    """AGENTWEB["ORIGIN"] is not set: all pages would be looked at, and linked to, under a host that is not theirs."""


@contextmanager
def begin(workers: int = 1) -> Iterator[Run]:
    """The run that is at work in the block. Raises Busy while another one is, and Nameless.

    What came of it is noted at the end; of one whose ``pages`` were not all looked at, only that it is over.
    """
    if conf.get("ORIGIN") is None and not settings.DEBUG:
        raise Nameless
    before = depths()
    run = Run(runs.begin(), workers)
    try:
        run.find()
        yield run
    except runs.Superseded:
        raise
    except BaseException:
        # Whatever state the site's own code left the connection in, the next run is not to wait for this one.
        leave_as_found(before)
        runs.give_up(run.key)
        raise
    summary = run.summary()
    if not run.is_done:
        runs.give_up(run.key)
        return
    runs.finish(
        run.key,
        is_complete=summary.is_complete,
        counts=summary.counts,
        reports=summary.reports,
    )


def run(workers: int = 1) -> Summary | None:
    """One whole run; None while another one is at work, or when it was taken for dead in the middle."""
    try:
        with begin(workers) as found:
            for _ in found.pages():
                pass
    except (runs.Busy, runs.Superseded):
        return None
    return found.summary()
