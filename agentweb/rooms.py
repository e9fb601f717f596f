"""Which protocol rooms are on, and what each brings to the front door.

A room is a package that has ``urls`` (``urlpatterns``, and ``well_known`` for what must answer at the root of the
host; importing it registers the room's doors) and ``checks`` (``CHECKS``, functions as Django's system checks are).
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Final

from django.core.checks import CheckMessage
from django.urls import URLPattern, URLResolver

ROOMS: Final = ("agent_actions",)

_Patterns = list[URLPattern | URLResolver]


def checks() -> list[Callable[..., list[CheckMessage]]]:
    """The system checks of every room that is on. They are loaded when checks are run, and not by a server."""
    return [check for room in ROOMS for check in import_module(f"agentweb.{room}.checks").CHECKS]


def urlpatterns() -> _Patterns:
    """The URLs of every room that is on, for wherever the site includes them."""
    return [pattern for room in ROOMS for pattern in import_module(f"agentweb.{room}.urls").urlpatterns]


def well_known() -> _Patterns:
    """The ``/.well-known/`` URLs of every room that is on, for the root of the host."""
    return [pattern for room in ROOMS for pattern in import_module(f"agentweb.{room}.urls").well_known]
