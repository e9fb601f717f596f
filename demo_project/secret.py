"""The demo's SECRET_KEY: made at first use and kept in a file that only its owner can read."""

from __future__ import annotations

import contextlib
import os
import secrets
from pathlib import Path


def secret_key(path: Path) -> str:
    """The key in ``path``, created when missing. On a read-only disk: a key for this process alone."""
    with contextlib.suppress(OSError):
        return path.read_text(encoding="ascii")
    fresh = secrets.token_urlsafe(48)
    draft = path.with_name(f"{path.name}-{os.getpid()}")
    try:
        with open(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="ascii") as file:
            file.write(fresh)
        # A link appears whole or not at all, and only once: two processes that start together share one key.
        with contextlib.suppress(FileExistsError):
            os.link(draft, path)
        draft.unlink()
        return path.read_text(encoding="ascii")
    except OSError:
        return fresh
