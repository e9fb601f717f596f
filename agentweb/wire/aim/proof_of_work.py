"""The work a newcomer does before it registers: a number that gives a hash so many leading zero bits.

The hash is SHA-256 of ``AIM2-POW``, the challenge, the public key and the solution, each on a line of its own. With
the key inside, nobody can use another's solution.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from typing import Final

ALGORITHM: Final = "sha256-leading-zero-bits"
LABEL: Final = "AIM2-POW"
MAX_DIFFICULTY: Final = 64
"""More bits than this are no proof of work but a refusal."""

_CHALLENGE: Final = re.compile(r"[A-Za-z0-9_.-]{1,400}")
_SOLUTION: Final = re.compile(r"0|[1-9][0-9]{0,19}")
_ATTEMPTS_BETWEEN_REPORTS: Final = 50_000


def is_challenge(text: object) -> bool:
    """Is this written as a challenge: 1 to 400 characters of ``A-Za-z0-9_.-``?"""
    return isinstance(text, str) and _CHALLENGE.fullmatch(text) is not None


def is_solved(challenge: str, public: str, difficulty: int, solution: str) -> bool:
    """Does the solution have the work? False, never an exception, for whatever is no solution. One hash."""
    if not is_challenge(challenge) or not isinstance(public, str) or not public.isascii():
        return False
    if not isinstance(solution, str) or not _SOLUTION.fullmatch(solution):
        return False
    hashed = hashlib.sha256(_prefix(challenge, public) + solution.encode("ascii")).digest()
    return leading_zero_bits(hashed) >= difficulty


def solve(challenge: str, public: str, difficulty: int, progress: Callable[[int], None] | None = None) -> str:
    """The smallest solution. ``progress`` is told the attempts so far now and then, and may raise to give up.

    On average 2 to the power of ``difficulty`` hashes, a second for 19 or so. Raises ValueError for a challenge that
    is none and for a difficulty that nobody means.
    """
    if not is_challenge(challenge):
        raise ValueError("A challenge is 1 to 400 characters of A-Z, a-z, 0-9, '_', '.' and '-'.")
    if not 0 <= difficulty <= MAX_DIFFICULTY:
        raise ValueError(f"A difficulty is between 0 and {MAX_DIFFICULTY} bits.")
    begun = hashlib.sha256(_prefix(challenge, public))
    # The digest as a number is below this exactly when its leading bits are zero; only its first 8 bytes decide.
    limit = (1 << (64 - difficulty)).to_bytes(9, "big")
    attempt = 0
    while True:
        for number in range(attempt, attempt + _ATTEMPTS_BETWEEN_REPORTS):
            hashed = begun.copy()
            hashed.update(b"%d" % number)
            if b"\x00" + hashed.digest()[:8] < limit:
                return str(number)
        attempt += _ATTEMPTS_BETWEEN_REPORTS
        if progress is not None:
            progress(attempt)


def leading_zero_bits(data: bytes) -> int:
    """How many zero bits come before the first one."""
    return len(data) * 8 - int.from_bytes(data, "big").bit_length()


def _prefix(challenge: str, public: str) -> bytes:
    return f"{LABEL}\n{challenge}\n{public}\n".encode("ascii")
