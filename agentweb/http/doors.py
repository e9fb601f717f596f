"""What the rooms offer and where, so that a room can name another's address without knowing the room.

A room registers its doors where its URLs are declared: what is advertised is what answers.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from agentweb.http.documents import Place


@dataclass(frozen=True, slots=True)
class Door:
    """``path`` as under the origin, without the prefix of a site that is mounted under one.

    ``is_well_known`` says that the path is at the origin's root wherever the site itself is mounted. ``is_open`` is
    asked whenever somebody looks: a door may depend on what the site declares.
    """

    name: str
    path: str
    media_type: str
    is_well_known: bool = False
    is_open: Callable[[], bool] = field(default=lambda: True, compare=False)

    def path_at(self, place: Place) -> str:
        """The whole path of its URL."""
        return self.path if self.is_well_known else place.prefix + self.path


_doors: Final[dict[str, Door]] = {}


def advertise(door: Door) -> None:
    """Register a door, or put another in its place."""
    _doors[door.name] = door


def advertised(name: str) -> Door | None:
    """The door of this name, None when no room that is on has it, or it is not open."""
    door = _doors.get(name)
    return door if door is not None and door.is_open() else None


def all_doors() -> tuple[Door, ...]:
    """Every open door, sorted by name."""
    return tuple(_doors[name] for name in sorted(_doors) if _doors[name].is_open())
