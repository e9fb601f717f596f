"""What is typed at a terminal: any bytes, and any alphabet's digits.

The name begins with an underscore, so that Django does not take the module for a command.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable
from typing import Any, Final

from django.core.management.base import BaseCommand, CommandError

_WHOLE: Final = re.compile(r"-?[0-9]{1,18}")


class TextCommand(BaseCommand):
    """A command whose arguments are texts that can be printed and stored; with others it ends before it begins."""

    def execute(self, *args: Any, **options: Any) -> str | None:
        wrong = [name for name, value in options.items() if not all(map(_is_text, _texts(value)))]
        if wrong:
            names = ", ".join(name.replace("_", "-") for name in sorted(wrong))
            raise CommandError(f"Not in UTF-8, or with a NUL character: {names}. Type it anew.")
        try:
            result = super().execute(*args, **options)
            sys.stdout.flush()
        except BrokenPipeError:
            # Whoever read has read enough, as "| head" does. The rest must not be written when the process ends.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return None
        return result


def whole(text: str) -> int | None:
    """The whole number that ASCII digits write, with "-" before them; None for every other text."""
    return int(text) if _WHOLE.fullmatch(text) else None


def _texts(value: Any) -> Iterable[str]:
    if isinstance(value, str):
        return [value]
    return [each for each in value if isinstance(each, str)] if isinstance(value, (list, tuple)) else []


def _is_text(text: str) -> bool:
    # Bytes of the command line that are not UTF-8 arrive as lone surrogates.
    return "\0" not in text and not any("\ud800" <= char <= "\udfff" for char in text)
