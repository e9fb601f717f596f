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


class FileError(CommandError):
    """A file that is not as it is to be. ``code`` is for machines; ``diff`` shows a file that is another one."""

    def __init__(self, code: str, message: str, diff: str = "") -> None:
        super().__init__(message)
        self.code = code
        self.diff = diff

    def as_dict(self) -> dict[str, str]:
        found = {"code": self.code, "message": str(self)}
        return found | {"diff": self.diff} if self.diff else found


def compared(path: Path, text: str) -> None:
    """Raises FileError ``missing``, ``unreadable`` or ``different`` when the file is not this text."""
    try:
        there = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise FileError("missing", f"{path} is missing.") from None
    except (OSError, UnicodeDecodeError) as error:
        raise FileError("unreadable", f"{path} cannot be read: {error}") from None
    if there != text:
        lines = unified_diff(
            there.splitlines(keepends=True),
            text.splitlines(keepends=True),
            f"{path} (there)",
            f"{path} (now)",
        )
        raise FileError(
            "different", f"{path} is not up to date; run the command without --check.", "".join(lines)
        )


def delivered(command: BaseCommand, path: Path, text: str, what: str, *, is_check: bool) -> None:
    """Write the file, or with ``is_check`` compare it, and say so; ``what`` is what is in it, as "7 actions"."""
    if not is_check:
        written(path, text)
        command.stdout.write(f"{path} is written: {what}.")
        return
    try:
        compared(path, text)
    except FileError as error:
        command.stdout.write(error.diff, ending="")
        raise
    command.stdout.write(f"{path} is up to date: {what}.")


def counted(manifest: Mapping[str, Any]) -> str:
    """``7 actions`` of a manifest, and its flows where it has some."""
    numbers = {"action": len(manifest["actions"]), "flow": len(manifest.get("flows", []))}
    return ", ".join(
        f"{count} {name}{'' if count == 1 else 's'}"
        for name, count in numbers.items()
        if count or name == "action"
    )


def written(path: Path, text: str) -> None:
    """The whole file or none of it. Raises FileError ``unwritable``."""
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
        raise FileError("unwritable", f"{path} cannot be written: {error.strerror or error}.") from None
