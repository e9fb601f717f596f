"""Which probes can be run over the network, after one that tells whether the site is reached there."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Final

from agentweb import rooms
from agentweb.http.probes import WITH_ANSWERS, Examined, Level, Probe, Problem
from agentweb.wire.errors import ClientError

REACHED: Final = "D045"


def over_the_network(probes: Iterable[Probe]) -> list[Probe]:
    """Those that can be run over the network, after one that tells whether the site can be reached there."""
    first = Probe(REACHED, Level.ERROR, "The site answers over the network.", _unreached)
    return [
        first,
        *(
            replace(each, after=(REACHED,))
            for each in probes
            if each.after == WITH_ANSWERS and not each.looks_inside
        ),
    ]


def _unreached(site: Examined) -> Iterable[Problem]:
    document = next(iter(rooms.documents()), None)
    path = "/" if document is None else document.path_at(site.place)
    try:
        site.ask("GET", path)
    except ClientError as error:
        yield Problem(
            error.message, "Look at the address, the proxy and its certificate, and whether the server runs."
        )
