"""An examination: the probes run one after the other, and every one of them leaves a finding."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, Final

from django.conf import settings

from agentweb.http.asking import Asking, own_place
from agentweb.http.calling import Calling
from agentweb.http.documents import Place
from agentweb.http.probes import Answer, Level, Probe, Problem

RUNS: Final = "D001"
USER_AGENT: Final = "agentweb-doctor"


@dataclass(frozen=True, slots=True)
class Finding:
    """One line of the report. ``fix`` is empty when there is nothing to do."""

    level: Level
    id: str
    text: str
    fix: str = ""

    def as_dict(self) -> dict[str, Any]:
        return {**asdict(self), "level": str(self.level)}


class Examination:
    """The site as probes see it (``Examined``): where it is, and its answers, each question asked once.

    Questions go to ``calling`` over the network, else to this process.
    """

    def __init__(self, calling: Calling | None = None) -> None:
        self._place: Place | None = None
        self._asking: Asking | Calling | None = calling
        self._answers: dict[Any, Answer] = {}

    @property
    def place(self) -> Place:
        if self._place is None:
            self._place = own_place()
        return self._place

    def ask(
        self, method: str, path: str, headers: Mapping[str, str] | None = None, body: bytes = b""
    ) -> Answer:
        key = (method, path, tuple(sorted((headers or {}).items())), body)
        if key not in self._answers:
            if self._asking is None:
                self._asking = Asking(self.place.origin, user_agent=USER_AGENT)
            self._answers[key] = self._asking.ask(method, path, headers or {}, body)
        return self._answers[key]


def examine(probes: Iterable[Probe], calling: Calling | None = None) -> Iterator[Finding]:
    """The findings, in the order of the probes, each as soon as it is known.

    A probe that has nothing to look at here leaves none, nor does one that comes after one that found something; one
    that breaks is a finding of its own (D001). With ``calling`` the site is asked over the network.
    """
    site = Examination(calling)
    broke = False
    unsound: set[str] = set()
    for probe in probes:
        if unsound.intersection(probe.after):
            continue
        try:
            problems = probe.look(site)
            problems = None if problems is None else list(problems)
        except Exception as error:
            broke = True
            unsound.add(probe.id)
            yield Finding(
                Level.ERROR,
                RUNS,
                f"The probe {probe.id} broke: {type(error).__name__}: {error}",
                "Put right what the error names; what the probe would have seen is not known until then.",
            )
            continue
        if problems:
            unsound.add(probe.id)
        if problems is not None:
            for finding in _findings(probe, problems):
                yield (
                    finding if calling is None else replace(finding, text=f"Over the network: {finding.text}")
                )
    if not broke and calling is None:
        yield Finding(Level.OK, RUNS, "Every probe could be run.")


def _findings(probe: Probe, problems: list[Problem]) -> Iterator[Finding]:
    if not problems:
        yield Finding(Level.OK, probe.id, probe.healthy)
    for each in problems:
        if probe.is_for_production and settings.DEBUG:
            yield Finding(Level.OK, probe.id, f"Only noted under DEBUG: {each.text}", each.fix)
        else:
            yield Finding(probe.level, probe.id, each.text, each.fix)


def summary(findings: Iterable[Finding]) -> dict[str, int]:
    """How many findings there are of each level."""
    counts = {str(level): 0 for level in Level}
    for each in findings:
        counts[str(each.level)] += 1
    return counts
