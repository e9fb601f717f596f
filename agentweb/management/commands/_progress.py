"""A progress bar on a terminal, and nothing anywhere else."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final, TextIO, TypeVar

_T = TypeVar("_T")
_WIDTH: Final = 30


def progress(items: Iterable[_T], total: int, *, to: TextIO) -> Iterator[_T]:
    """The items, with a bar on ``to`` while they are worked on; it is wiped out at the end."""
    if not to.isatty() or total < 1:
        yield from items
        return
    try:
        for count, item in enumerate(items):
            _draw(count, total, to)
            yield item
    finally:
        to.write("\r\x1b[K")
        to.flush()


def _draw(count: int, total: int, to: TextIO) -> None:
    filled = min(_WIDTH, _WIDTH * count // total)
    to.write(f"\r[{'#' * filled}{'.' * (_WIDTH - filled)}] {count}/{total}")
    to.flush()
