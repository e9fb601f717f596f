"""Names of agents: chosen ones, and those that follow from a key.

A chosen name is 3 to 32 characters: lower-case ASCII letters, digits and single hyphens, a letter first, no hyphen
last. Nothing is folded or mapped: names are inside signatures.
"""

from __future__ import annotations

import hashlib
import re
from base64 import b32encode
from collections.abc import Collection
from typing import Final

from agentweb.wire.aim.keys import parse_public

MAX_LENGTH: Final = 32
_KEY_NAME_LETTERS: Final = 26
_KEY_NAME_LABEL: Final = b"AIM2-KEY-NAME\n"

_NAME: Final = re.compile(r"[a-z](?:[a-z0-9]|-(?=[a-z0-9])){1,30}[a-z0-9]")
_KEY_NAME: Final = re.compile(rf"k-[a-z2-7]{{{_KEY_NAME_LETTERS}}}")

RESERVED: Final = frozenset(
    {
        *(
            "abuse",
            "admin",
            "administrator",
            "aim",
            "all",
            "anonymous",
            "board",
            "everybody",
            "everyone",
            "help",
        ),
        *(
            "hostmaster",
            "mailer-daemon",
            "me",
            "moderator",
            "moderators",
            "no-reply",
            "nobody",
            "noreply",
            "null",
        ),
        *(
            "official",
            "operator",
            "postmaster",
            "register",
            "root",
            "security",
            "self",
            "service",
            "staff",
            "support",
        ),
        *("sysadmin", "system", "undefined", "webmaster"),
    }
)
"""Names that somebody might take for the service itself, for a group or for nobody."""

# One character first, so that what it turns into is seen by the pairs: "c1ick" looks like "click".
_LOOK_ALIKES: Final = str.maketrans({"-": "", "0": "o", "1": "l", "i": "l", "5": "s"})
_LOOK_ALIKE_PAIRS: Final = (("rn", "m"), ("vv", "w"), ("cl", "d"))


class NameRefusedError(ValueError):
    """The name cannot be chosen; ``reason`` is ``format``, ``reserved`` or ``key_name``."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason


def is_name(text: str) -> bool:
    """Is this written as a name, chosen or derived? Whether it may be chosen is another question."""
    return isinstance(text, str) and _NAME.fullmatch(text) is not None


def check_name(text: str, *, reserved: Collection[str] = ()) -> str:
    """The name, if an agent may choose it; ``reserved`` are names that are refused beside the built-in ones.

    Raises NameRefusedError (a ValueError with ``reason``).
    """
    if not is_name(text):
        raise NameRefusedError(
            "format",
            "A name has 3 to 32 characters: a-z, 0-9 and single hyphens, first a letter, no hyphen last.",
        )
    if _KEY_NAME.fullmatch(text):
        raise NameRefusedError(
            "key_name", "Names of this form follow from keys; leave name out to get that of your key."
        )
    if text in RESERVED or text in reserved:
        raise NameRefusedError("reserved", "This name is reserved; choose another.")
    return text


def key_name(public: str) -> str:
    """The name that follows from a public key: ``k-`` and 26 base32 letters. ValueError for what is no key."""
    hashed = hashlib.sha256(_KEY_NAME_LABEL + parse_public(public)).digest()
    return "k-" + b32encode(hashed).decode("ascii").lower()[:_KEY_NAME_LETTERS]


def is_key_name(text: str) -> bool:
    """Is the name one of those that follow from a key? Such a name belongs to that key only."""
    return isinstance(text, str) and _KEY_NAME.fullmatch(text) is not None


def skeleton(name: str) -> str:
    """What the eye sees of a name: two names of one skeleton look alike."""
    seen = name.translate(_LOOK_ALIKES)
    for pair, letter in _LOOK_ALIKE_PAIRS:
        seen = seen.replace(pair, letter)
    return seen
