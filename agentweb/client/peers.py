"""The address that a connection really has: a name may lead elsewhere when it is asked a second time.

``addresses`` looks at what a host's name leads to before anything is sent. The connection asks the name again, and a
hostile name server then gives another answer (DNS rebinding). So each new connection is looked at once more when it
stands, before TLS or a byte of the request.
"""

from __future__ import annotations

import ipaddress
import threading
from collections.abc import Collection
from typing import Any

from agentweb.client.addresses import LOOPBACK, is_public
from agentweb.wire.errors import ClientError, Code


class PeerGuard:
    """Ends connections to addresses that are not public. ``allowed`` are hosts the caller vouches for; ``loopback``:
    this machine's own names too."""

    def __init__(self, allowed: Collection[str] = (), *, loopback: bool = True) -> None:
        self._trusted = frozenset(allowed) | (LOOPBACK if loopback else frozenset())
        self._local = threading.local()

    def trace(self, name: str, info: dict[str, Any], *, host: str) -> None:
        """For httpcore's extension ``trace``; ``host`` is that of the URL in ASCII, as it is connected to.

        A connection to another host is one to a proxy of the caller's own, which is theirs to choose. Raises
        ClientError ``site_unreachable``, with the ``reason`` ``rebinding``, after closing the connection.
        """
        if name.endswith(".connect_tcp.started"):
            self._local.host = str(info.get("host", "")).lower()
        elif name.endswith(".connect_tcp.complete") and getattr(self._local, "host", "") == host.lower():
            self._check(host.lower(), info["return_value"])

    def _check(self, host: str, stream: Any) -> None:
        if host in self._trusted:
            return
        peer = stream.get_extra_info("server_addr")
        if not peer or not is_public(ipaddress.ip_address(str(peer[0]).partition("%")[0])):
            stream.close()
            raise ClientError(
                Code.SITE_UNREACHABLE,
                f"{host} led to an address that is not public when it was called; nothing was sent to it.",
                reason="rebinding",
            )
