"""Which hosts a client may reach: a URL from elsewhere must not lead into the user's own network."""

from __future__ import annotations

import ipaddress
from collections.abc import Collection
from typing import Final
from urllib.parse import urlsplit

from agentweb.client.lookups import addresses_of
from agentweb.wire.errors import ClientError, Code

LOOPBACK: Final = frozenset({"localhost", "127.0.0.1", "::1"})
"""Hosts that may be called without TLS, and although they are not public: whoever writes them means them."""

_NAT64: Final = ipaddress.IPv6Network("64:ff9b::/96")
_UNICAST: Final = ipaddress.IPv6Network("2000::/3")
"""All that is given out of IPv6 (IANA, IPv6 Global Unicast Address Assignments). Python calls more than that global:
``::127.0.0.1`` and ``::ffff:0:127.0.0.1``, which carry another address inside, and ``fec0::/10``, somebody's own."""

Address = ipaddress.IPv4Address | ipaddress.IPv6Address


def check_url(
    url: str, allowed: Collection[str] = (), *, loopback: bool = True, seconds: float = 10.0
) -> None:
    """Refuse what must not be fetched: other schemes than https (http to loopback), hosts that are not public.

    ``allowed`` are hosts the caller vouches for. Without ``loopback`` this machine is called only when it is among
    them, and they may be called without TLS: for a server that fetches what strangers name. The host is looked up
    within ``seconds``. Raises ClientError ``site_unreachable`` with a ``reason``: ``scheme``, ``host`` for a name that
    leads nowhere, ``time``, ``address``.
    """
    check_scheme(url, allowed, loopback=loopback)
    parts = urlsplit(url)
    host = (parts.hostname or "").lower()
    if (loopback and host in LOOPBACK) or host in allowed:
        return
    for address in addresses_of(host, parts.port or 443, seconds):
        if not is_public(read_address(address)):
            raise ClientError(
                Code.SITE_UNREACHABLE,
                f"{host} leads to an address that is not public; it is not called.",
                reason="address",
            )


def check_scheme(url: str, allowed: Collection[str] = (), *, loopback: bool = True) -> None:
    """Refuse other schemes than https, as ``check_url`` does, asking nobody."""
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


def is_public(address: Address) -> bool:
    """Is this an address of the open internet, also when it carries another address inside?"""
    if isinstance(address, ipaddress.IPv6Address):
        inner = address.ipv4_mapped or address.sixtofour
        if inner is None and address in _NAT64:
            inner = ipaddress.IPv4Address(int(address) & 0xFFFF_FFFF)
        if inner is not None:
            return is_public(inner)
        if address.teredo is not None or address not in _UNICAST:
            return False
    return address.is_global and not address.is_multicast


def read_address(text: str) -> Address:
    """An address as a look-up or a socket has it. One with a scope, "fe80::1%eth0", is link-local whatever that is."""
    return ipaddress.ip_address(text.partition("%")[0])
