"""The client's IP address: the peer's, or behind the site's own proxies the one that they saw.

Every proxy appends the address that called it to ``X-Forwarded-For``, and whoever calls first may have written
anything there before. So the list is read from its right end, only while each hop is one of TRUSTED_PROXIES; what
an untrusted hop says of those before it is never looked at. The ``Forwarded`` field (RFC 7239) is not read: where
a proxy does not write it, it is the client's.
"""

from __future__ import annotations

import logging
from functools import lru_cache
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from typing import Any, Final

from django.http import HttpRequest

from agentweb import conf

logger = logging.getLogger("agentweb.http")

_HEADER: Final = "HTTP_X_FORWARDED_FOR"
_Address = IPv4Address | IPv6Address
_LONGEST: Final = 100


def address_of(request: HttpRequest) -> str:
    """The client's address; ``""`` where there is none, as at the other end of a Unix socket.

    Behind proxies that are all trusted it is the leftmost address. An entry that is no address ends the list: the
    hop that passed it on stands for it.
    """
    peer = str(request.META.get("REMOTE_ADDR") or "")
    networks = _networks()
    if not networks or not _is_trusted(peer, networks):
        return peer
    found = peer
    rest = str(request.META.get(_HEADER, ""))
    while rest:
        rest, _, entry = rest.rpartition(",")
        address = _read(entry)
        if address is None:
            break
        found = str(address)
        if not _is_trusted(found, networks):
            break
    return found


def is_one_client(request: HttpRequest) -> bool:
    """Whether ``address_of`` tells clients apart: False behind a proxy that the site has not declared.

    What is counted to close the door for an address must not close it for everybody. A client of the open
    internet cannot escape by writing the header itself, for its own address is no private one.
    """
    found = address_of(request)
    address = _read(found)
    if address is None or _is_trusted(found, _networks()):
        return False
    if address.is_global or _HEADER not in request.META:
        return True
    if address != _read(str(request.META.get("REMOTE_ADDR") or "")):
        return True
    _say_once(found)
    return False


def _networks() -> tuple[conf.Proxy, ...]:
    configured: Any = conf.get("TRUSTED_PROXIES")
    return _parsed(tuple(configured)) if isinstance(configured, (list, tuple)) and configured else ()


@lru_cache(maxsize=8)
def _parsed(texts: tuple[Any, ...]) -> tuple[conf.Proxy, ...]:
    # What cannot be read is reported by the check, and trusted by nobody.
    return tuple(found for found in map(conf.proxy_of, texts) if found is not None)


def _is_trusted(address: str, networks: tuple[conf.Proxy, ...]) -> bool:
    if not address:
        return conf.UNIX in networks
    parsed = _read(address)
    return parsed is not None and any(
        parsed in network for network in networks if isinstance(network, (IPv4Network, IPv6Network))
    )


@lru_cache(maxsize=1_024)
def _read(text: str) -> _Address | None:
    """An address as proxies write it: with a port, in brackets, with a zone, as IPv6 of an IPv4 address."""
    text = text.strip()
    if len(text) > _LONGEST:
        return None
    if text.startswith("["):
        text = text[1:].partition("]")[0]
    elif text.count(":") == 1:
        text = text.partition(":")[0]
    try:
        parsed = ip_address(text.partition("%")[0])
    except ValueError:
        return None
    return parsed.ipv4_mapped or parsed if isinstance(parsed, IPv6Address) else parsed


@lru_cache(maxsize=64)
def _say_once(address: str) -> None:
    logger.warning(
        "X-Forwarded-For comes from %s, which is not in AGENTWEB['TRUSTED_PROXIES']: all clients behind it count as "
        "one address.",
        address,
    )
