"""The formats that are asserted: date-time, date, time, uri, email, uuid, hostname, ipv4, ipv6.

JSON Schema leaves ``format`` to the implementation; jsonschema checks none of these by default, and some of
its optional checks are loose (an email is anything with an ``@``). Every check here is linear in the text's
length. Other formats are annotations and assert nothing.
"""

from __future__ import annotations

import ipaddress
import re
from calendar import monthrange
from collections.abc import Callable
from typing import Final

import idna

_DATE: Final = re.compile(r"([0-9]{4})-([0-9]{2})-([0-9]{2})")
_TIME: Final = re.compile(
    r"([0-9]{2}):([0-9]{2}):([0-9]{2})(?:\.[0-9]+)?(?:[Zz]|([+-])([0-9]{2}):([0-9]{2}))"
)
_UUID: Final = re.compile(r"[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}")
_LABEL: Final = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?")
_ATEXT: Final = re.compile(r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+")
_QUOTED: Final = re.compile(r'"(?:[ !#-\[\]-~]|\\[ -~])*"')
_SCHEME: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*")
_PATH: Final = re.compile(r"(?:[A-Za-z0-9._~!$&'()*+,;=:@/-]|%[0-9A-Fa-f]{2})*")
_QUERY: Final = re.compile(r"(?:[A-Za-z0-9._~!$&'()*+,;=:@/?-]|%[0-9A-Fa-f]{2})*")
_USERINFO: Final = re.compile(r"(?:[A-Za-z0-9._~!$&'()*+,;=:-]|%[0-9A-Fa-f]{2})*")
_REG_NAME: Final = re.compile(r"(?:[A-Za-z0-9._~!$&'()*+,;=-]|%[0-9A-Fa-f]{2})*")
_FUTURE_ADDRESS: Final = re.compile(r"[Vv][0-9A-Fa-f]+\.[A-Za-z0-9._~!$&'()*+,;=:-]+")
_PORT: Final = re.compile(r"[0-9]*")


def is_date(text: str) -> bool:
    """RFC 3339 full-date: a day that exists. The year 0000 is allowed there, so it is here."""
    found = _DATE.fullmatch(text)
    if found is None:
        return False
    year, month, day = int(found[1]), int(found[2]), int(found[3])
    # The calendar repeats after 400 years; Python's has no year 0.
    return 1 <= month <= 12 and 1 <= day <= monthrange(year or 400, month)[1]


def is_time(text: str) -> bool:
    """RFC 3339 full-time: with an offset; second 60 only where UTC is 23:59."""
    found = _TIME.fullmatch(text)
    if found is None:
        return False
    hour, minute, second = int(found[1]), int(found[2]), int(found[3])
    offset_hour, offset_minute = int(found[5] or 0), int(found[6] or 0)
    if hour > 23 or minute > 59 or second > 60 or offset_hour > 23 or offset_minute > 59:
        return False
    if second < 60:
        return True
    offset = offset_hour * 60 + offset_minute
    utc = hour * 60 + minute + (offset if found[4] == "-" else -offset)
    return utc % (24 * 60) == 24 * 60 - 1


def is_date_time(text: str) -> bool:
    """RFC 3339 date-time: date, ``T``, time."""
    return text[10:11] in {"T", "t"} and is_date(text[:10]) and is_time(text[11:])


def is_uuid(text: str) -> bool:
    """RFC 9562 section 4: 8-4-4-4-12 hexadecimal digits."""
    return _UUID.fullmatch(text) is not None


def is_ipv4(text: str) -> bool:
    """Four decimal numbers up to 255 without leading zeros."""
    try:
        ipaddress.IPv4Address(text)
    except ValueError:
        return False
    return True


def is_ipv6(text: str) -> bool:
    """RFC 4291 section 2.2, without a zone."""
    if "%" in text:
        return False
    try:
        ipaddress.IPv6Address(text)
    except ValueError:
        return False
    return True


def is_hostname(text: str) -> bool:
    """RFC 1123 section 2.1 labels, up to 253 characters; ``xn--`` labels must decode (RFC 5891)."""
    if not 1 <= len(text) <= 253:
        return False
    return all(_is_label(label) for label in text.split("."))


def _is_label(label: str) -> bool:
    if _LABEL.fullmatch(label) is None:
        return False
    if label[2:4] != "--":
        return True
    if label[:2].lower() != "xn":
        return False  # RFC 5891 4.2.3.1: no other use of these hyphens
    try:
        return idna.alabel(idna.ulabel(label.lower())).decode("ascii") == label.lower()
    except (idna.IDNAError, UnicodeError):
        return False


def is_email(text: str) -> bool:
    """RFC 5321 Mailbox: a dotted or quoted local part, then a host name or a bracketed address."""
    local, at, domain = text.rpartition("@")
    if not at or len(local) > 64 or len(text) > 254:
        return False
    if _QUOTED.fullmatch(local) is None and not all(_ATEXT.fullmatch(part) for part in local.split(".")):
        return False
    if domain.startswith("[") and domain.endswith("]"):
        inner = domain[1:-1]
        return is_ipv6(inner[5:]) if inner[:5].lower() == "ipv6:" else is_ipv4(inner)
    return is_hostname(domain)


def is_uri(text: str) -> bool:
    """RFC 3986 URI: absolute, with a scheme; a fragment is allowed."""
    scheme, colon, rest = text.partition(":")
    if not colon or _SCHEME.fullmatch(scheme) is None:
        return False
    rest, _, fragment = rest.partition("#")
    rest, _, query = rest.partition("?")
    if _QUERY.fullmatch(fragment) is None or _QUERY.fullmatch(query) is None:
        return False
    if rest.startswith("//"):
        authority, slash, path = rest[2:].partition("/")
        return _is_authority(authority) and _PATH.fullmatch(slash + path) is not None
    return _PATH.fullmatch(rest) is not None


def _is_authority(text: str) -> bool:
    userinfo, at, host_port = text.rpartition("@")
    if at and _USERINFO.fullmatch(userinfo) is None:
        return False
    if host_port.startswith("["):
        host, closing, port = host_port[1:].partition("]")
        if not closing or (port and not port.startswith(":")):
            return False
        return (is_ipv6(host) or _FUTURE_ADDRESS.fullmatch(host) is not None) and bool(
            _PORT.fullmatch(port[1:])
        )
    host, _, port = host_port.partition(":")
    return _REG_NAME.fullmatch(host) is not None and _PORT.fullmatch(port) is not None


FORMATS: Final[dict[str, Callable[[str], bool]]] = {
    "date-time": is_date_time,
    "date": is_date,
    "time": is_time,
    "uri": is_uri,
    "email": is_email,
    "uuid": is_uuid,
    "hostname": is_hostname,
    "ipv4": is_ipv4,
    "ipv6": is_ipv6,
}
"""The check of each asserted format; every one takes any string and answers without raising."""

SAMPLES: Final[dict[str, str]] = {
    "date-time": "2026-01-31T12:00:00Z",
    "date": "2026-01-31",
    "time": "12:00:00Z",
    "uri": "https://example.com/",
    "email": "name@example.com",
    "uuid": "123e4567-e89b-42d3-a456-426614174000",
    "hostname": "example.com",
    "ipv4": "192.0.2.1",
    "ipv6": "2001:db8::1",
}
"""A valid text of each asserted format, also shown in messages."""
