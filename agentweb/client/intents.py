"""An intent: one thing that is meant once, with its idempotency key and what a person approved of it.

The key is on the disk before the first attempt, and so is the approval: asking, confirming and trying again are one
intent. Calls keep it as a pending call, the steps of a flow in their run.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol


@dataclass(frozen=True, slots=True)
class Approved:
    """What was approved of a call: the digest of what was shown, and the id of the grant in it."""

    digest: str
    grant: str | None

    def as_dict(self) -> dict[str, Any]:
        return {"digest": self.digest, "grant": self.grant}

    @classmethod
    def read(cls, content: Any) -> Approved | None:
        """From what ``as_dict`` wrote, or None. Raises KeyError and TypeError for anything else."""
        if content is None:
            return None
        return cls(str(content["digest"]), None if content["grant"] is None else str(content["grant"]))


@dataclass(frozen=True, slots=True)
class Begun:
    """An intent on the disk. ``is_resumed``: an earlier call began it, and its outcome is not known."""

    key: str
    is_resumed: bool
    approved: Approved | None = None


class Intent(Protocol):
    """Where an intent is kept."""

    def find(self) -> Begun | None:
        """The intent, if it was begun and is not settled."""

    def begin(self, *, key: str | None, approved: Approved | None) -> Begun:
        """The intent, on the disk when this returns; ``key`` is that of a new one."""

    def settle(self) -> None:
        """The outcome is known."""


class NoIntent:
    """For reads, and for calls whose key is the caller's own care: nothing is kept."""

    def __init__(self, key: str | None = None) -> None:
        self._key = key

    def find(self) -> Begun | None:
        return None

    def begin(self, *, key: str | None, approved: Approved | None) -> Begun:
        return Begun(self._key or "", is_resumed=False, approved=approved)

    def settle(self) -> None:
        return None
