"""Which hosts a client may reach: a URL from elsewhere must not lead into the user's own network."""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Collection
from typing import Final
from urllib.parse import urlsplit

from agentweb.client.errors import UnreachableError
from agentweb.wire.errors import ClientError, Code

LOOPBACK: Final = frozenset({"localhost", "127.0.0.1", "::1"})
"""Hosts that may be called without TLS, and although they are not public: whoever writes them means them."""

_NAT64: Final = ipaddress.IPv6Network("64:ff9b::/96")

Address = ipaddress.IPv4Address | ipaddress.IPv6Address


def check_url(url: str, allowed: Collection[str] = (), *, loopback: bool = True) -> None:
    """Refuse what must not be fetched: other schemes than https (http to loopback), hosts that are not public.

    ``allowed`` are hosts the caller vouches for. Without ``loopback`` this machine is called only when it is among
    them, and they may be called without TLS: for a server that fetches what strangers name. Raises ClientError
    ``site_unreachable`` with a ``reason``: ``scheme``, ``host`` for a name that leads nowhere, ``address``.
    """
    parts = urlsplit(url)
    host = (parts.hostname or "").lower()
    if parts.scheme != "https" and not (
        parts.scheme == "http" and host in (LOOPBACK if loopback else allowed)
    ):
        raise ClientError(
            Code.SITE_UNREACHABLE,
            "Sites are reached by https://"
            + ("; http:// is for localhost, 127.0.0.1 and [::1]." if loopback else "."),
            reason="scheme",
        )
    if (loopback and host in LOOPBACK) or host in allowed:
        return
    for address in _addresses(host, parts.port or 443):
        if not is_public(address):
            raise ClientError(
                Code.SITE_UNREACHABLE,
                f"{host} leads to an address that is not public; it is not called.",
                reason="address",
            )


def is_public(address: Address) -> bool:
    """Is this an address of the open internet, also when it carries another address inside?"""
    if isinstance(address, ipaddress.IPv6Address):
        inner = address.ipv4_mapped or address.sixtofour
        if inner is None and address in _NAT64:
            inner = ipaddress.IPv4Address(int(address) & 0xFFFF_FFFF)
        if inner is not None:
            return is_public(inner)
        if address.teredo is not None:
            return False
    return address.is_global and not address.is_multicast


def _addresses(host: str, port: int) -> list[Address]:
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        raise UnreachableError(
            f"The host {host} was not found.", may_have_arrived=False, reason="host"
        ) from None
    # An address with a scope ("fe80::1%eth0") is link-local whatever the scope.
    return [ipaddress.ip_address(str(sockaddr[0]).partition("%")[0]) for *_, sockaddr in found]
