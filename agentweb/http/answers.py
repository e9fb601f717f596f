"""Who hears of every answer of ours, so that a room can count them and this floor knows nothing of it.

A listener is called when the answer is finished, in the thread that made it. It costs every request what it costs, so
it asks no database; what it raises is logged and changes nothing.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from django.http import HttpResponse

if TYPE_CHECKING:  # views announce here
    from agentweb.http.views import AgentView

logger = logging.getLogger("agentweb.http")

Listener = Callable[["AgentView", HttpResponse], None]

_listeners: Final[list[Listener]] = []


def listen(listener: Listener) -> None:
    """Let it hear of every answer from now on, once however often it is said."""
    if listener not in _listeners:
        _listeners.append(listener)


def announce(view: AgentView, response: HttpResponse) -> None:
    """Tell of a finished answer."""
    for listener in _listeners:
        try:
            listener(view, response)
        except Exception:
            logger.exception("%s: a listener failed; the answer stays as it is", view.request_id)
