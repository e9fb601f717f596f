"""The same questions over the network, to see what stands before Django: proxies, TLS, another process's settings.

Through the client's own guarded transport: bounded in time and size, without cookies, following no redirect. What the
site writes for such a call, such as the bucket of the caller's address, it keeps.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Final
from urllib.parse import urlsplit

from agentweb import rooms
from agentweb.client.transport import Transport
from agentweb.http.probes import WITH_ANSWERS, Answer, Examined, Level, Probe, Problem
from agentweb.wire.errors import ClientError
from agentweb.wire.http_signature import authority_of

REACHED: Final = "D045"
_LARGEST: Final = 50_000_000


class Calling:
    """``origin`` is scheme and host of what is called. Raises ValueError when it is no such thing."""

    def __init__(self, origin: str) -> None:
        parts = urlsplit(origin)
        authority_of(origin)
        if parts.path not in {"", "/"} or parts.query or parts.fragment or parts.username is not None:
            raise ValueError("it must be scheme and host only")
        self._origin = origin.rstrip("/")
        # Whoever runs the command named this host, so it may be one of their own network.
        self._transport = Transport(allowed=[parts.hostname or ""])

    def ask(self, method: str, path: str, headers: Mapping[str, str], body: bytes) -> Answer:
        """See ``Examined.ask``. Raises ClientError when no answer comes."""
        typed = {"Content-Type": "application/json"} if body else {}
        answer = self._transport.send(
            method,
            self._transport.wire_url(self._origin + path),
            headers={**typed, **headers},
            body=body,
            max_bytes=_LARGEST,
        )
        cookie = answer.headers.get("set-cookie")
        return Answer(
            status=answer.status,
            headers={name: value for name, value in answer.headers.items() if name != "set-cookie"},
            body=answer.body,
            cookies=() if cookie is None else (cookie,),
        )


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
