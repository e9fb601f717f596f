"""What a process wrote down before it was killed: lines of JSON, each wholly there or not at all.

A line is in the page cache when ``write`` returns, and SIGKILL does not take it from there.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

Line = dict[str, Any]


class Journal:
    """Append to a journal. A last line that the writer did not finish is cut off."""

    def __init__(self, path: Path) -> None:
        whole = path.read_bytes().rfind(b"\n") + 1 if path.exists() else 0
        self._file = os.open(path, os.O_CREAT | os.O_WRONLY | os.O_APPEND, 0o644)
        os.ftruncate(self._file, whole)

    def write(self, *lines: Line) -> None:
        left = b"".join(json.dumps(line, separators=(",", ":")).encode() + b"\n" for line in lines)
        while left:
            left = left[os.write(self._file, left) :]


def read(path: Path) -> list[Line]:
    """The whole lines of a journal; none where there is no file yet."""
    if not path.exists():
        return []
    return list(_whole(path.read_bytes()))


def _whole(data: bytes) -> Iterator[Line]:
    yield from (json.loads(line) for line in data[: data.rfind(b"\n") + 1].splitlines())


class Tail:
    """What has been added to a journal since the last look."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._at = 0

    def new(self) -> list[Line]:
        if not self._path.exists():
            return []
        with self._path.open("rb") as file:
            file.seek(self._at)
            data = file.read()
        end = data.rfind(b"\n") + 1
        self._at += end
        return list(_whole(data[:end]))
