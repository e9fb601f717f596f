"""The counts of each day as a chart: SVG in the page itself, no script, and nothing that its table does not say."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Final

WIDTH: Final = 900
HEIGHT: Final = 240
_LEFT: Final = 56
_BOTTOM: Final = 24
_TOP: Final = 12
_MOST_LABELS: Final = 8
_GAP: Final = 0.2
"""Of the room of a day, what stays empty."""


@dataclass(frozen=True, slots=True)
class Bar:
    """A piece of a day's column; ``series`` is its number in the legend, from 0; ``label`` what it says."""

    x: float
    y: float
    width: float
    height: float
    series: int
    label: str


@dataclass(frozen=True, slots=True)
class Line:
    """A line across the chart with its value."""

    y: float
    label: str


@dataclass(frozen=True, slots=True)
class Tick:
    """A day below its column."""

    x: float
    label: str


@dataclass(frozen=True, slots=True)
class Chart:
    """What the template draws, in units of its view box of WIDTH and HEIGHT."""

    series: tuple[str, ...]
    bars: tuple[Bar, ...]
    lines: tuple[Line, ...]
    ticks: tuple[Tick, ...]
    width: int = WIDTH
    height: int = HEIGHT
    left: int = _LEFT
    bottom: int = HEIGHT - _BOTTOM


def columns(by_day: Mapping[date, Mapping[str, int]], series: Sequence[str]) -> Chart:
    """A column for each day, made of a piece for each of ``series`` that has requests on it."""
    most = max((sum(counts.values()) for counts in by_day.values()), default=0)
    top = _round_up(most)
    room = (WIDTH - _LEFT) / max(1, len(by_day))
    bars: list[Bar] = []
    ticks: list[Tick] = []
    every = math.ceil(len(by_day) / _MOST_LABELS)
    for place, (day, counts) in enumerate(by_day.items()):
        x = _LEFT + place * room
        below = 0
        for number, name in enumerate(series):
            count = counts.get(name, 0)
            if not count:
                continue
            height = _height(count, top)
            y = HEIGHT - _BOTTOM - _height(below, top) - height
            bars.append(
                Bar(
                    round(x + room * _GAP / 2, 2),
                    round(y, 2),
                    round(room * (1 - _GAP), 2),
                    round(height, 2),
                    number,
                    f"{day.isoformat()} {name}: {count:,}",
                )
            )
            below += count
        if place % every == 0:
            ticks.append(Tick(round(x + room / 2, 2), f"{day:%m-%d}"))
    lines = tuple(
        Line(round(HEIGHT - _BOTTOM - _height(value, top), 2), f"{value:,}")
        for value in dict.fromkeys((0, top // 2, top))
    )
    return Chart(tuple(series), tuple(bars), lines, tuple(ticks))


def _height(count: int, top: int) -> float:
    return (HEIGHT - _BOTTOM - _TOP) * count / top


def _round_up(most: int) -> int:
    """The next of 2, 4, 10, 20, 40, 100, …: even, for half of it is named too."""
    size = 1
    while True:
        for step in (2, 4, 10):
            if most <= step * size:
                return step * size
        size *= 10
