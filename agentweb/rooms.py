"""Which protocol rooms are on, and what each brings to the front door.

A room is a package that has ``urls`` (``urlpatterns``, and ``well_known`` for what must answer at the root of the
host; importing it registers the room's doors) and ``checks`` (``CHECKS``, functions as Django's system checks are).
It may have ``documents`` (``documents()``, its public documents), ``probes`` (``PROBES``, for the doctor) and
``retention`` (``clear_expired(at)``, rows deleted of each kind) and ``background`` (``run(stopping)``, work that the
worker and Celery do once in a while and that may take minutes; what was done of each kind).
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import TYPE_CHECKING, Final

from django.core.checks import CheckMessage
from django.urls import URLPattern, URLResolver

from agentweb import conf

if TYPE_CHECKING:
    # Not at run time: they bring models, and the front door first says whether the app is installed.
    from agentweb.http.documents import PublicDocument
    from agentweb.http.probes import Probe

ROOMS: Final = conf.ROOMS
"""Every room. They are asked in this order for a URL: an address of a page is more exact than the path of an action,
``/orders/{id}``."""


def switched_on() -> tuple[str, ...]:
    """The rooms that are on, by the setting ROOMS: where it is unset, all but those that have to be named."""
    wanted = conf.get("ROOMS")
    return tuple(
        room for room in ROOMS if (room in wanted if wanted is not None else room not in conf.UNLESS_NAMED)
    )


def takes_grants() -> bool:
    """Whether a room is on in which agents act under grants; the messenger knows keys alone."""
    return not {"aip", "agent_actions"}.isdisjoint(switched_on())


_Patterns = list[URLPattern | URLResolver]


def checks() -> list[Callable[..., list[CheckMessage]]]:
    """The system checks of every room that is on. They are loaded when checks are run, and not by a server."""
    return [check for room in switched_on() for check in import_module(f"agentweb.{room}.checks").CHECKS]


def urlpatterns() -> _Patterns:
    """The URLs of every room that is on, for wherever the site includes them."""
    return [
        pattern for room in switched_on() for pattern in import_module(f"agentweb.{room}.urls").urlpatterns
    ]


def well_known() -> _Patterns:
    """The ``/.well-known/`` URLs of every room that is on, for the root of the host."""
    return [
        pattern for room in switched_on() for pattern in import_module(f"agentweb.{room}.urls").well_known
    ]


def documents() -> list[PublicDocument]:
    """The public documents of every room that is on, as they are at the moment."""
    return [document for module in _those_with("documents") for document in module.documents()]


def probes() -> list[Probe]:
    """What every room that is on has for the doctor to look at."""
    return [probe for module in _those_with("probes") for probe in module.PROBES]


def clear_expired(at: datetime) -> dict[str, int]:
    """Delete what is over of every room that is on; rows deleted of each kind."""
    found: dict[str, int] = {}
    for module in _those_with("retention"):
        found |= module.clear_expired(at)
    return found


def has_background() -> bool:
    """Whether a room that is on does anything in the background."""
    return bool(_those_with("background"))


def background(stopping: Callable[[], bool]) -> dict[str, int]:
    """Do what every room that is on does in the background and is due, until it is done or ``stopping``."""
    found: dict[str, int] = {}
    for module in _those_with("background"):
        found |= module.run(stopping)
    return found


def _those_with(name: str) -> list[ModuleType]:
    """The modules of this name, of the rooms that have one."""
    names = [f"agentweb.{room}.{name}" for room in switched_on()]
    return [import_module(each) for each in names if find_spec(each) is not None]
