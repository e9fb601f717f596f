"""Files with secrets: readable by their owner only, written whole or not at all."""

from __future__ import annotations

import os
import re
import secrets
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from agentweb.client.errors import KeyStoreError

try:
    import fcntl
except ImportError:  # Windows has other locks and no modes; one process at a time is then the user's care
    fcntl = None  # type: ignore[assignment]

_TEMPORARY: Final = re.compile(r"[0-9a-f]{16}")
_LEFT: Final = 3_600
"""Seconds after which nobody writes a file any more."""
_IS_POSIX: Final = os.name == "posix"
_CLOSE_ON_EXEC: Final = getattr(os, "O_CLOEXEC", 0)
_NO_WAITING: Final = getattr(os, "O_NONBLOCK", 0)


def read_private(path: Path) -> bytes:
    """The content of a file that nobody but its owner, who we are, can read or write.

    Raises KeyStoreError ``keystore_unsafe`` for any other file, or one that cannot be opened, FileNotFoundError
    when there is none.
    """
    try:
        # Without waiting: a pipe would wait for somebody who writes into it.
        descriptor = os.open(path, os.O_RDONLY | _CLOSE_ON_EXEC | _NO_WAITING)
    except FileNotFoundError:
        raise
    except OSError as error:
        raise KeyStoreError("keystore_unsafe", f"{path} cannot be opened: {error.strerror}.") from error
    # A descriptor of its own, because a folder cannot be made into a file object.
    try:
        # Of the open file, so that it cannot be swapped between the look and the reading.
        _refuse_unsafe(path, os.fstat(descriptor))
        with os.fdopen(descriptor, "rb", closefd=False) as file:
            return file.read()
    finally:
        os.close(descriptor)


def make_private_file(path: Path) -> None:
    """See to it that the file is there, empty at first, and that only its owner can use it.

    Raises KeyStoreError ``keystore_unsafe`` for one that others can use. A file that is there already is not opened:
    closing it would end the locks that this process holds on it.
    """
    try:
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | _CLOSE_ON_EXEC, 0o600))
    except FileExistsError:
        _refuse_unsafe(path, path.stat())
    except OSError as error:
        raise KeyStoreError("keystore_unsafe", f"{path} cannot be opened: {error.strerror}.") from error


def _refuse_unsafe(path: Path, status: os.stat_result) -> None:
    if not stat.S_ISREG(status.st_mode):
        raise KeyStoreError("keystore_unsafe", f"{path} is not a regular file.")
    if _IS_POSIX and (status.st_mode & 0o077 or status.st_uid != os.geteuid()):
        raise KeyStoreError(
            "keystore_unsafe",
            f"Others than its owner can use {path}: make it yours, then: chmod 600 {path}",
        )


def write_private(path: Path, data: bytes, *, replace: bool) -> None:
    """Write the whole file with mode 0600 and bring it to the disk; a crash leaves the old file or the new.

    Without ``replace``, FileExistsError when there is a file already; of several writers one wins.
    """
    _sweep(path)
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _CLOSE_ON_EXEC, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            if _IS_POSIX:
                os.fchmod(file.fileno(), 0o600)  # whatever the umask was
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        if replace:
            temporary.replace(path)
        else:
            # A link, unlike a rename, never overwrites.
            os.link(temporary, path)
            temporary.unlink()
    except BaseException:
        with suppress(FileNotFoundError):
            temporary.unlink()
        raise
    sync_folder(path.parent)


def _sweep(path: Path) -> None:
    """Take away what writers of this file left who were killed: it holds the same secrets."""
    start, now = f".{path.name}.", time.time()
    with suppress(OSError):
        for entry in os.scandir(path.parent):
            if entry.name.startswith(start) and _TEMPORARY.fullmatch(entry.name[len(start) :]):
                with suppress(OSError):
                    if now - entry.stat(follow_symlinks=False).st_mtime > _LEFT:
                        os.unlink(entry)


def sync_folder(folder: Path) -> None:
    """Bring the names in a folder to the disk."""
    if not _IS_POSIX:
        return
    descriptor = os.open(folder, os.O_RDONLY | _CLOSE_ON_EXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def make_private_folder(folder: Path) -> None:
    """The folder and its missing parents, for the owner only."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold the lock of a file, across threads and processes, for the block."""
    descriptor = os.open(path.with_name(path.name + ".lock"), os.O_RDWR | os.O_CREAT | _CLOSE_ON_EXEC, 0o600)
    try:
        if fcntl is not None:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)
