"""Standard input and output as they may be: closed, of an encoding without the letters of an answer, or full."""

from __future__ import annotations

import codecs
import io
import os
import re
import sys
from contextlib import suppress
from typing import Final

_ESCAPING: Final = "agentweb-escape"


def make_ready() -> None:
    """See to it that there are three streams, and that both outputs take every text.

    Who starts a program may have closed them (supervisors, cron): then nothing is read, and what is written is lost.
    A letter that the encoding lacks is written as JSON escapes it, so that the answer to a call that was made is not
    lost, and stays JSON.
    """
    # In this order, because a file that is opened gets the lowest number that is free.
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115 - as long as the process
    codecs.register_error(_ESCAPING, _escape)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper) and stream.errors != _ESCAPING:
            stream.reconfigure(errors=_ESCAPING)


def drop_output() -> None:
    """Nobody takes what is left in the buffer: it must not be written when the process ends."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def escaped(match: re.Match[str]) -> str:
    """The characters as JSON escapes them."""
    return _units(match[0])


def _escape(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return _units(error.object[error.start : error.end]), error.end


def _units(text: str) -> str:
    # "surrogatepass": what a file system or an argument had that is no Unicode stands here as half a pair.
    units = text.encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{units[at : at + 4]}" for at in range(0, len(units), 4))
