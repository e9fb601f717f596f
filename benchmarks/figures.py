"""Figures of several rounds, and tables of them."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass, field


@dataclass(slots=True)
class Series:
    """One contestant's rounds. ``cpu`` is microseconds of server CPU for one request, ``rate`` requests a second."""

    name: str
    cpu: list[float] = field(default_factory=list)
    rate: list[float] = field(default_factory=list)

    @property
    def cpu_median(self) -> float:
        return statistics.median(self.cpu)

    @property
    def rate_median(self) -> float:
        return statistics.median(self.rate)


@dataclass(frozen=True, slots=True)
class Goal:
    """``name``'s CPU is at most ``most`` times that of ``against``."""

    name: str
    against: str
    most: float


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Columns in line: the first one to the left, figures to the right."""
    widths = [max(len(row[at]) for row in (header, *rows)) for at in range(len(header))]

    def line(cells: Sequence[str]) -> str:
        first, *others = (
            cell.ljust(widths[0]) if at == 0 else cell.rjust(widths[at]) for at, cell in enumerate(cells)
        )
        return "  ".join([first, *others]).rstrip()

    return "\n".join([line(header), "  ".join("-" * width for width in widths), *map(line, rows)])


def comparison(series: Sequence[Series], *, base: str) -> str:
    """Rate and CPU of every contestant, and its CPU as a ratio to that of ``base``."""
    reference = next(each for each in series if each.name == base).cpu_median
    rows = [
        [
            each.name,
            f"{each.rate_median:.0f}",
            f"{each.cpu_median:.0f}",
            f"{min(each.cpu):.0f}–{max(each.cpu):.0f}",
            f"{each.cpu_median / reference:.2f}",
        ]
        for each in series
    ]
    return table(["", "req/s", "CPU µs/req", "min–max", f"CPU / {base}"], rows)


def judged(rows: Sequence[tuple[str, float, str, float, str]]) -> str:
    """Goals of any kind beside what was measured: name, figure, ``"≤"`` or ``"≥"``, goal, unit."""
    lines = [
        [
            name,
            _written(found, unit),
            f"{sign} {_written(goal, unit)}",
            "met" if (found <= goal if sign == "≤" else found >= goal) else "NOT met",
        ]
        for name, found, sign, goal, unit in rows
    ]
    return table(["", "measured", "goal", ""], lines)


def _written(value: float, unit: str) -> str:
    digits = 0 if abs(value) >= 100 else 2 if unit == "x" else 1
    return f"{value:,.{digits}f} {unit}".strip()


def verdicts(series: Sequence[Series], goals: Sequence[Goal]) -> str:
    """Each goal beside what was measured."""
    by_name = {each.name: each for each in series}
    rows = []
    for goal in goals:
        if goal.name in by_name and goal.against in by_name:
            ratio = by_name[goal.name].cpu_median / by_name[goal.against].cpu_median
            said = "met" if ratio <= goal.most else "NOT met"
            rows.append([f"{goal.name} / {goal.against}", f"{ratio:.2f}", f"≤ {goal.most:.2f}", said])
    return table(["CPU ratio", "measured", "goal", ""], rows) if rows else ""
