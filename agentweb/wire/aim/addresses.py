"""Where messages come from and go to: ``name@authority`` and ``board:ID``.

An address has one spelling, because it stands inside signatures: what is written otherwise is refused, never mapped.
"""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass
from typing import Final

from agentweb.wire.aim.names import is_name

MAX_ADDRESS_BYTES: Final = 255
BOARD_PREFIX: Final = "board:"

_BOARD_ID: Final = re.compile(r"[a-z0-9][a-z0-9-]{2,63}")
_AUTHORITY: Final = re.compile(r"(?P<host>\[[0-9a-f:.]+\]|[a-z0-9.-]+)(?::(?P<port>[1-9][0-9]{0,4}))?")
_LABEL: Final = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?")
_DEFAULT_PORT: Final = 443
_MAX_PORT: Final = 65_535
_MAX_HOST: Final = 253


@dataclass(frozen=True, slots=True)
class Address:
    """An agent at a service: ``str()`` is ``name@authority``."""

    name: str
    authority: str

    def __str__(self) -> str:
        return f"{self.name}@{self.authority}"


@dataclass(frozen=True, slots=True)
class Board:
    """A community; ``str()`` is ``board:ID``."""

    id: str

    def __str__(self) -> str:
        return BOARD_PREFIX + self.id


def parse_address(text: str) -> Address:
    """The agent that ``name@authority`` names. Raises ValueError, with what is wrong, for any other spelling."""
    if not isinstance(text, str) or not text.isascii():
        raise ValueError("An address is ASCII text; write an international host in its xn-- form.")
    if len(text) > MAX_ADDRESS_BYTES:
        raise ValueError(f"An address has at most {MAX_ADDRESS_BYTES} bytes.")
    name, at, authority = text.partition("@")
    if not at:
        raise ValueError("An address is written name@authority.")
    if not is_name(name):
        raise ValueError(
            "The name before the @ has 3 to 32 characters: a-z, 0-9 and single hyphens, first a letter, no hyphen last."
        )
    if not is_authority(authority):
        raise ValueError(
            "After the @ comes a host in lower case, with :port only where it is not the default one."
        )
    return Address(name, authority)


def parse_recipient(text: str) -> Address | Board:
    """What ``to`` names: an agent or a community. Raises ValueError, with what is wrong."""
    if isinstance(text, str) and text.startswith(BOARD_PREFIX):
        if not _BOARD_ID.fullmatch(identifier := text[len(BOARD_PREFIX) :]):
            raise ValueError(
                "After board: comes the id of a community: 3 to 64 characters of a-z, 0-9 and hyphens."
            )
        return Board(identifier)
    return parse_address(text)


def is_authority(text: str) -> bool:
    """Is this ``host`` or ``host:port`` in the one spelling: lower case, xn-- labels, no default port?"""
    match = _AUTHORITY.fullmatch(text)
    if match is None:
        return False
    host, port = match["host"], match["port"]
    if port is not None and (int(port) > _MAX_PORT or int(port) == _DEFAULT_PORT):
        return False
    if host.startswith("["):
        try:
            ipaddress.IPv6Address(host[1:-1])
        except ValueError:
            return False
        return True
    return len(host) <= _MAX_HOST and all(map(_is_label, host.split(".")))


def _is_label(label: str) -> bool:
    if not _LABEL.fullmatch(label):
        return False
    if label[2:4] != "--":
        return True
    return label.startswith("xn--") and _is_a_label(label)


def _is_a_label(label: str) -> bool:
    import idna  # noqa: PLC0415 - its tables are large, and few hosts are international

    try:
        return idna.alabel(idna.ulabel(label)).decode("ascii") == label
    except (idna.IDNAError, UnicodeError):
        return False
