"""Terms as numbers: short, of one length, and ordered alike in every database."""

from __future__ import annotations

import hashlib
from typing import Final

from agentweb.client.ranking_words import VERSION

EVERY: Final = ""
"""What everything has, once: how many have it is how many there are."""


def key_of(term: str, version: str = VERSION) -> int:
    """The number of a term: 64 bits of a digest, so of a million terms no two share one. Another version of terms has
    other numbers, so what is left of an old one is never found."""
    return number_of(f"{version}\0{term}")


def number_of(text: str) -> int:
    """A signed number of 64 bits that stands for a text, the same everywhere and always."""
    digest = hashlib.blake2b(text.encode(errors="surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "big", signed=True)
