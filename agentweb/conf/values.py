"""What values a setting may have: each function answers what is wrong with one, or None."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from ipaddress import IPv4Network, IPv6Network, ip_network
from typing import Any, Final
from urllib.parse import urlsplit

from django.conf import settings
from django.utils.functional import Promise

from agentweb.wire.http_signature import authority_of


@dataclass(frozen=True, slots=True)
class Check:
    """Called with a value it answers what is wrong with it, or None. ``takes``: what it lets through, in words."""

    takes: str
    wrong_with: Callable[[Any], str | None]

    def __call__(self, value: Any) -> str | None:
        return self.wrong_with(value)


def _takes(words: str) -> Callable[[Callable[[Any], str | None]], Check]:
    return lambda wrong_with: Check(words, wrong_with)


@dataclass(frozen=True, slots=True)
class Setting:
    """``check`` answers what is wrong with a value, or None; ``check.takes`` says it in words."""

    group: str
    default: Any
    sentence: str
    check: Check


@_takes("scheme and host, or `None`")
def origin(value: Any) -> str | None:
    if value is None:
        return None
    if not isinstance(value, str):
        return "must be a string like 'https://shop.example'"
    try:
        parts = urlsplit(value)
        _ = parts.port
    except ValueError:
        return "is not a URL"
    if parts.scheme not in {"https", "http"} or not parts.hostname:
        return "must begin with https:// (or http://) and name a host"
    if parts.path not in {"", "/"} or parts.query or parts.fragment or parts.username is not None:
        return "must be scheme and host only, without a path, query or user"
    try:
        authority_of(value)
    except ValueError:
        return "must be plain ASCII without spaces, and name one host; write other letters in their xn-- form"
    return None


def whole(low: int, high: int) -> Check:
    def check(value: Any) -> str | None:
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
            return f"must be a whole number from {low} to {high}"
        return None

    return Check(f"{low:,} to {high:,}", check)


LEAST_RATE: Final = 0.0001
MOST_RATE: Final = 1_000_000


@_takes(f"{LEAST_RATE} to {MOST_RATE:,} a second, burst 1 to {MOST_RATE:,}")
def rate(value: Any) -> str | None:
    # (steady requests a second, burst); beyond these bounds the arithmetic of a bucket means nothing
    if not isinstance(value, (tuple, list)) or len(value) != 2 or not all(map(_is_number, value)):
        return "must be (requests a second, burst), for example (20, 60)"
    steady, burst = value
    if not LEAST_RATE <= steady <= MOST_RATE or not 1 <= burst <= MOST_RATE or burst != int(burst):
        return (
            f"must be (requests a second, burst), for example (20, 60): from {LEAST_RATE} to {MOST_RATE} a second, "
            f"and a whole number from 1 to {MOST_RATE}"
        )
    return None


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


@_takes("a list of names")
def names(value: Any) -> str | None:
    if isinstance(value, str) or not all(isinstance(name, str) and name for name in _iterable(value)):
        return "must be a list of names"
    return None


def _iterable(value: Any) -> list[Any]:
    return list(value) if isinstance(value, (list, tuple, set, frozenset)) else [None]


_DOTTED: Final = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+")
UNIX: Final = "unix"
"""In TRUSTED_PROXIES: whoever comes by a Unix socket, which has no address."""
Proxy = IPv4Network | IPv6Network | str


def proxy_of(value: Any) -> Proxy | None:
    """The network (or UNIX) that one entry of TRUSTED_PROXIES names; None for what may not be trusted."""
    if value == UNIX:
        return UNIX
    try:
        # Of text only: a number would be an address too.
        network = ip_network(value) if isinstance(value, str) else None
    except ValueError:
        return None
    return network if network is None or network.prefixlen else None


@_takes("a list of addresses and networks")
def proxies(value: Any) -> str | None:
    if not isinstance(value, (list, tuple)):
        return "must be a list of networks, for example ['10.0.0.0/8', '2001:db8::/32']"
    wrong = [entry for entry in value if proxy_of(entry) is None]
    if not wrong:
        return None
    return (
        f"has what is no network of proxies: {', '.join(map(repr, wrong))}; write addresses or networks such as "
        "'10.0.0.7' or '10.0.0.0/8' (no bits behind the prefix, and not the whole internet), or 'unix'"
    )


ROOMS: Final = ("aip", "awp", "aim", "index", "agent_actions")
"""The protocols that there are, in the order in which they are asked for a URL."""

UNLESS_NAMED: Final = frozenset({"index"})
"""Those that are off unless ROOMS names them: with them the site calls other sites, which no shop means to."""


@_takes("a list of protocols, or `None`")
def rooms(value: Any) -> str | None:
    if value is None:
        return None
    wrong = sorted({str(name) for name in _iterable(value)} - set(ROOMS))
    if not isinstance(value, (list, tuple)) or wrong:
        return f"must be a list of these: {', '.join(ROOMS)}"
    return None


@_takes("a list of hosts")
def authorities(value: Any) -> str | None:
    if not isinstance(value, (list, tuple)):
        return "must be a list of hosts, for example ['chat.example', 'chat.example:8443']"
    for host in value:
        try:
            right = isinstance(host, str) and authority_of(f"https://{host}") == host
        except ValueError:
            right = False
        if not right:
            return (
                f"has what is no host as agents write it: {host!r}; write 'chat.example' or 'chat.example:8443', "
                "in lower case, without a scheme and without its usual port"
            )
    return None


def url_or_empty(*schemes: str) -> Check:
    def check(value: Any) -> str | None:
        if value == "" or (
            isinstance(value, str) and value.partition("://")[0] in schemes and "://" in value
        ):
            return None
        return f"must be empty or a URL that begins with {' or '.join(f'{each}://' for each in schemes)}"

    return Check(f"empty, or a URL that begins with {' or '.join(f'{each}://' for each in schemes)}", check)


@_takes("`True` or `False`")
def switch(value: Any) -> str | None:
    return None if isinstance(value, bool) else "must be True or False"


def text_or_none(longest: int) -> Check:
    def check(value: Any) -> str | None:
        # A lazy translation is a text once it is asked for.
        if value is None or (isinstance(value, (str, Promise)) and 0 < len(str(value).strip()) <= longest):
            return None
        return f"must be a text of 1 to {longest:,} characters"

    return Check(f"1 to {longest:,} characters, or `None`", check)


@_takes("a dict, where it is, or `None`")
def sitemaps(value: Any) -> str | None:
    if value is None or (isinstance(value, str) and _DOTTED.fullmatch(value)):
        return None
    if isinstance(value, Mapping) and all(isinstance(name, str) for name in value):
        return None
    return "must be the dict of the site's sitemaps, or where it is: 'shop.urls.sitemaps'"


def dotted_or_none(example: str) -> Check:
    """Of where something is in the site's code. Whether it is there, a system check says."""

    def check(value: Any) -> str | None:
        if value is None or (isinstance(value, str) and _DOTTED.fullmatch(value)):
            return None
        return f"must say where it is, for example {example!r}"

    return Check("where it is, or `None`", check)


@_takes("a list of language codes, or `None`")
def languages(value: Any) -> str | None:
    if value is None:
        return None
    if not isinstance(value, (list, tuple)) or not value or not all(isinstance(each, str) for each in value):
        return "must be a list of language codes, for example ['en', 'nl']"
    known = dict(settings.LANGUAGES)
    wrong = [code for code in value if code not in known]
    return f"has what is not in LANGUAGES: {', '.join(map(repr, wrong))}" if wrong else None


@_takes("a path without slashes at its ends")
def prefix(value: Any) -> str | None:
    if not isinstance(value, str) or not value or value != value.strip("/") or "//" in value:
        return "must be a path without slashes at its ends, for example 'agent'"
    return None


def dict_of(keys: Iterable[str]) -> Check:
    """Of a dict with settings of its own, which ``conf.problems`` looks at one by one."""

    def check(value: Any) -> str | None:
        return None if isinstance(value, Mapping) else f"must be a dict of {', '.join(keys)}"

    return Check("a dict of the keys below", check)
