"""What is counted of an answer: its protocol and the kind of agent. Preflights of browsers are nobody's request,
and those of our own tools that measure a site are no agent's."""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from django.http import HttpResponse

from agentweb import conf
from agentweb.awp.analytics import counting
from agentweb.awp.analytics.families import family_of
from agentweb.http import answers
from agentweb.http.asking import MEASURING, OWN
from agentweb.http.views import AgentView

_REFUSED: Final = 401


def begin() -> None:
    """Count from now on: said where the room's URLs are declared, so it counts where the room is on."""
    answers.listen(heard)


def is_on() -> bool:
    """Whether requests are counted."""
    return bool(conf.get_in("AWP", "ANALYTICS"))


def heard(view: AgentView, response: HttpResponse) -> None:
    """Count the request that was answered."""
    if not is_on() or view.http_request.method == "OPTIONS":
        return
    meta = view.http_request.META
    protocol = protocol_of(type(view))
    if protocol is None or OWN in meta or meta.get("HTTP_USER_AGENT") in MEASURING:
        return
    is_signed = not view.caller.is_anonymous or (
        # The messenger's agents are nobody to the other floors.
        response.status_code != _REFUSED and str(meta.get("HTTP_AUTHORIZATION", "")).startswith("AIM ")
    )
    counting.counts.add(protocol, family_of(str(meta.get("HTTP_USER_AGENT", "")), is_signed=is_signed))


def protocol_of(view: type[AgentView]) -> str | None:
    """The room that a view belongs to, None for one of no room."""
    return _room_of(view.__module__)


@lru_cache(maxsize=512)
def _room_of(module: str) -> str | None:
    package, _, rest = module.partition(".")
    room = rest.partition(".")[0]
    return room if package == __name__.partition(".")[0] and room in conf.ROOMS else None
