"""What the commands share that write one JSON document: how it looks, whether a file is it, and writing it whole.

The name begins with an underscore, so that Django does not take the module for a command.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from difflib import unified_diff
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from agentweb.wire.json_types import Json
from agentweb.wire.json_writing import dumps


def pretty(document: Json) -> str:
    """The document for people and for version control: two spaces, one line end at the end, every number exact."""
    return _written(document, "") + "\n"


def _written(value: Any, margin: str) -> str:
    inner = f"{margin}  "
    if isinstance(value, Mapping) and value:
        members = (f"{inner}{_scalar(name)}: {_written(each, inner)}" for name, each in value.items())
        return "{\n" + ",\n".join(members) + f"\n{margin}}}"
    if isinstance(value, (list, tuple)) and value:
        return "[\n" + ",\n".join(f"{inner}{_written(each, inner)}" for each in value) + f"\n{margin}]"
    return _scalar(value)


def _scalar(value: Any) -> str:
    # Our own writer knows Decimal; json would write a float.
    return dumps(value).decode()


def compared(command: BaseCommand, path: Path, text: str) -> None:
    """Raises CommandError, after a diff, when the file is not this text."""
    try:
        there = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise CommandError(f"{path} is missing.") from None
    except (OSError, UnicodeDecodeError) as error:
        raise CommandError(f"{path} cannot be read: {error}") from None
    if there == text:
        command.stdout.write(f"{path} is up to date.")
        return
    lines = unified_diff(
        there.splitlines(keepends=True), text.splitlines(keepends=True), f"{path} (there)", f"{path} (now)"
    )
    command.stdout.write("".join(lines), ending="")
    raise CommandError(f"{path} is not up to date; run the command without --check.")


def written(path: Path, text: str) -> None:
    """The whole file or none of it."""
    try:
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name[:100]}.", suffix=".tmp")
        try:
            with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as file:
                file.write(text)
            # mkstemp makes it private, and a web server is to read it.
            Path(temporary).chmod(0o644)
            Path(temporary).replace(path)
        except BaseException:
            Path(temporary).unlink(missing_ok=True)
            raise
    except OSError as error:
        raise CommandError(f"{path} cannot be written: {error.strerror or error}.") from None
