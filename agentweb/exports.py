"""Public documents as files, laid out like their URLs, for a static host or for review in version control.

What an export wrote stands in an index beside it, ``.agentweb-export.json`` (path -> SHA-256, sorted): only files of
the index are ever removed, and only while they are as they were written. A folder may hold other files as well.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import stat
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from difflib import unified_diff
from pathlib import Path
from typing import Any, Final

from django.conf import settings

from agentweb import conf, rooms
from agentweb.http.documents import Place
from agentweb.http.mount import mount_prefix
from agentweb.wire.http_signature import authority_of

INDEX: Final = ".agentweb-export.json"
_VERSION: Final = 1
_LARGEST_INDEX: Final = 10_000_000
_SEGMENT: Final = re.compile(r"[A-Za-z0-9_~!$&'()+,;=@.-]{1,255}")


class ExportError(Exception):
    """The export cannot be made or compared; the message says why, and nothing of it was written."""


@dataclass(frozen=True, slots=True)
class Written:
    """What an export did, as paths below its folder. ``kept`` were exported once and edited since, so they stay."""

    written: tuple[str, ...]
    unchanged: tuple[str, ...]
    removed: tuple[str, ...]
    kept: tuple[str, ...]


@dataclass(slots=True)
class Drift:
    """How a folder differs from what the site serves; ``diffs`` by path, as unified diffs."""

    missing: list[str] = field(default_factory=list)
    extra: list[str] = field(default_factory=list)
    diffs: dict[str, str] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.missing or self.extra or self.diffs)


def here() -> Place:
    """Where this site is, without a request. Raises ExportError when AGENTWEB["ORIGIN"] does not say it."""
    origin = conf.get("ORIGIN")
    if origin is None:
        debug = " (that of the request is used under DEBUG, and here is none)" if settings.DEBUG else ""
        raise ExportError(f"AGENTWEB['ORIGIN'] is not set{debug}: the documents name the site by it.")
    try:
        return Place(str(origin).rstrip("/"), authority_of(str(origin)), mount_prefix())
    except ValueError as error:
        raise ExportError(f"AGENTWEB['ORIGIN'] {origin!r} cannot be used: {error}") from None


def contents(place: Place) -> Iterator[tuple[str, bytes]]:
    """(path below the folder, bytes) of every public document, in alphabetical order.

    Raises ExportError before the first one when a path cannot be a file, or two want to be one.
    """
    documents = {}
    for document in rooms.documents():
        name = document.path_at(place).removeprefix("/")
        check_name(name)
        if name in documents:
            raise ExportError(f"Two documents have the address /{name}.")
        documents[name] = document
    for name in documents:
        for parent in _parents(name):
            if parent in documents:
                raise ExportError(
                    f"/{parent} is a document and also the folder of /{name}; no disk can hold both."
                )
    for name in sorted(documents):
        yield name, documents[name].content(place)


def check_name(name: str) -> None:
    """Raises ExportError when a path does not stay below its folder, or is none that every disk can hold."""
    segments = name.split("/")
    if name == INDEX or not all(_SEGMENT.fullmatch(each) and each.strip(".") for each in segments):
        raise ExportError(f"The address /{name} cannot be written as a file.")


def write(folder: Path, exported: Mapping[str, bytes]) -> Written:
    """Make the folder hold these files. Each is replaced at once and whole; one that is right is not touched."""
    before = _read_index(folder)
    for name in {*exported, *before}:
        _refuse_links(folder, name)
    written, unchanged = [], []
    try:
        for name, content in exported.items():
            if _content_of(folder / name) == content:
                unchanged.append(name)
            else:
                _replace(folder / name, content)
                written.append(name)
        removed, kept = _remove(folder, before, exported)
        # Last: a file that is in no index is in nobody's way, one that is wrongly in it could be removed.
        _write_index(folder, {name: _digest(content) for name, content in exported.items()})
    except OSError as error:
        raise ExportError(f"{error.filename or folder}: {error.strerror or error}") from error
    return Written(tuple(written), tuple(unchanged), tuple(removed), tuple(kept))


def compare(folder: Path, exported: Mapping[str, bytes]) -> Drift:
    """How the folder differs. Files that no export made are nobody's business."""
    drift = Drift()
    before = _read_index(folder)
    for name in {*exported, *before}:
        _refuse_links(folder, name)
    try:
        for name, content in exported.items():
            there = _content_of(folder / name)
            if there is None:
                drift.missing.append(name)
            elif there != content:
                drift.diffs[name] = _diff(name, there, content)
        drift.extra += [name for name in sorted(before) if name not in exported and (folder / name).exists()]
    except OSError as error:
        raise ExportError(f"{error.filename or folder}: {error.strerror or error}") from error
    return drift


def _remove(folder: Path, before: Mapping[str, str], exported: Iterable[str]) -> tuple[list[str], list[str]]:
    """Take away what an earlier export wrote and this one has not; folders that are empty then, too."""
    removed, kept = [], []
    for name in sorted(before.keys() - set(exported)):
        there = _content_of(folder / name)
        if there is None:
            continue
        if _digest(there) != before[name]:
            kept.append(name)
            continue
        (folder / name).unlink()
        removed.append(name)
        for parent in _parents(name):
            with contextlib.suppress(OSError):
                (folder / parent).rmdir()
    return removed, kept


def _read_index(folder: Path) -> dict[str, str]:
    """What earlier exports wrote here. Raises ExportError for an index that is none: it says what may be removed."""
    path = folder / INDEX
    if path.is_symlink():
        raise ExportError(f"{path} is a symbolic link; an export follows none.")
    if path.exists() and not path.is_file():
        raise ExportError(f"{path} is not the index of an export. Look at it, and remove it.")
    try:
        with path.open("rb") as file:
            text = file.read(_LARGEST_INDEX + 1)
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise ExportError(f"{path}: {error.strerror or error}") from error
    try:
        index: Any = json.loads(text) if len(text) <= _LARGEST_INDEX else None
        files: Any = index["files"] if index["version"] == _VERSION else None
        for name, digest in files.items():
            check_name(name)
            if not re.fullmatch(r"[0-9a-f]{64}", digest):
                raise ValueError("not a digest")
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError, ExportError):
        raise ExportError(f"{path} is not the index of an export. Look at it, and remove it.") from None
    return dict(files)


def _write_index(folder: Path, files: Mapping[str, str]) -> None:
    content = (
        json.dumps({"version": _VERSION, "files": dict(sorted(files.items()))}, indent=1).encode() + b"\n"
    )
    if _content_of(folder / INDEX) != content:
        _replace(folder / INDEX, content)


def _refuse_links(folder: Path, name: str) -> None:
    """A link below the folder would let an export write, compare or remove outside of it."""
    for each in (*reversed(_parents(name)), name):
        if (folder / each).is_symlink():
            raise ExportError(f"{folder / each} is a symbolic link; an export follows none.")


def _replace(path: Path, content: bytes) -> None:
    """The file's whole content at once: nobody sees half of it, and a power cut leaves the old or the new."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name[:100]}.", suffix=".tmp")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        # mkstemp makes it private, and a web server is to read it.
        Path(temporary).chmod(0o644)
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def _content_of(path: Path) -> bytes | None:
    """A file's bytes, None when there is none. Raises ExportError for what is no file, a pipe above all, which could
    keep its reader waiting for ever."""
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            raise ExportError(f"{path} is not a file; an export would have to be one.")
        return path.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return None


def _parents(name: str) -> list[str]:
    """``a/b`` and ``a`` of ``a/b/c``."""
    parts = name.split("/")
    return ["/".join(parts[:count]) for count in range(len(parts) - 1, 0, -1)]


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _diff(name: str, there: bytes, content: bytes) -> str:
    """From what is there to what is served, as a unified diff; JSON is compared line by line, written out."""
    old, new = _lines(there), _lines(content)
    if old is None or new is None or old == new:
        return f"{name}: {len(there)} bytes are there and {len(content)} are served; their bytes differ.\n"
    return "".join(unified_diff(old, new, f"{name} (there)", f"{name} (served)"))


def _lines(content: bytes) -> list[str] | None:
    try:
        text = content.decode()
    except UnicodeDecodeError:
        return None
    with contextlib.suppress(ValueError, RecursionError):
        text = json.dumps(json.loads(text), indent=2, ensure_ascii=False)
    return [f"{line}\n" for line in text.splitlines()]
