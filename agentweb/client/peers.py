"""The address that a connection really has: a name may lead elsewhere when it is asked a second time.

``addresses`` looks at what a host's name leads to before anything is sent. For the connection the name is asked again,
and a hostile name server then gives another answer (DNS rebinding). So each new connection is made to an address that
was looked up and judged here, one after the other where there are several, and is looked at once more when it stands,
before TLS or a byte of the request.
"""

from __future__ import annotations

import threading
from collections.abc import Collection
from typing import Any, Final

from agentweb.client.addresses import LOOPBACK, is_public, read_address
from agentweb.client.lookups import addresses_of
from agentweb.wire.errors import ClientError, Code

_MOST_TRIED: Final = 4
"""Addresses of one host."""


class PeerGuard:
    """Has connections made to public addresses only. ``allowed`` are hosts the caller vouches for; ``loopback``: this
    machine's own names too."""

    def __init__(self, allowed: Collection[str] = (), *, loopback: bool = True) -> None:
        self._trusted = frozenset(allowed) | (LOOPBACK if loopback else frozenset())
        self._local = threading.local()

    def begin(self) -> None:
        """A request of this thread begins: what names led to for the one before counts no more."""
        self._local.untried = None

    @property
    def has_untried(self) -> bool:
        """Whether the host has addresses to which no connection was tried yet."""
        return bool(getattr(self._local, "untried", None))

    def trace(self, name: str, info: dict[str, Any], *, host: str, seconds: float) -> None:
        """For httpcore's extension ``trace``; ``host`` is that of the URL in ASCII, as it is connected to, and
        ``seconds`` are left.

        A connection to another host is one to a proxy of the caller's own, which is theirs to choose. Raises
        ClientError ``site_unreachable``, with the ``reason`` ``rebinding``, before there is a connection, or after
        closing it; UnreachableError as ``lookups``.
        """
        host = host.lower()
        if name.endswith(".connect_tcp.started"):
            self._local.host = str(info.get("host", "")).lower()
            if self._local.host == host:
                self._lead(host, info, seconds)
        elif name.endswith(".connect_tcp.complete") and getattr(self._local, "host", "") == host:
            peer = info["return_value"].get_extra_info("server_addr")
            if not peer or not self._may_be(host, str(peer[0])):
                info["return_value"].close()
                raise _elsewhere(host)

    def _lead(self, host: str, info: dict[str, Any], seconds: float) -> None:
        """Let the connection be made to the next address of the host."""
        untried = getattr(self._local, "untried", None)
        if untried is None:
            found = addresses_of(host, info["port"], seconds)
            if not all(self._may_be(host, address) for address in found):
                raise _elsewhere(host)
            untried = self._local.untried = found[:_MOST_TRIED]
        if untried:
            # None of several takes the time of the others.
            info["timeout"] = seconds / len(untried)
            info["host"] = untried.pop(0)

    def _may_be(self, host: str, address: str) -> bool:
        return host in self._trusted or is_public(read_address(address))


def _elsewhere(host: str) -> ClientError:
    return ClientError(
        Code.SITE_UNREACHABLE,
        f"{host} led to an address that is not public when it was called; nothing was sent to it.",
        reason="rebinding",
    )
