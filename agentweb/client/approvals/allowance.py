"""What was spent without asking within the last 24 hours, so that many small sums do not become a large one.

What was let through counts, also when the site refused it afterwards: the count is never too low.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from agentweb.client.errors import KeyStoreError
from agentweb.client.files import read_private, write_private
from agentweb.wire.errors import AgentError
from agentweb.wire.strict_json import dumps, loads

A_DAY: Final = 86_400
_MAX_BYTES: Final = 4_194_304


class Allowance:
    """One file: currency -> [[Unix seconds, minor units], …]. Used under the lock of the approvals only."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def used(self, currency: str, *, now: float) -> int:
        """Minor units that passed within the last 24 hours."""
        return sum(entry[1] for entry in _within_a_day(self._read(), currency, now))

    def take(self, currency: str, minor: int, *, limit: int, now: float) -> bool:
        """Count the amount, unless it and that of the last 24 hours together are over the limit."""
        spent = self._read()
        recent = _within_a_day(spent, currency, now)
        if sum(entry[1] for entry in recent) + minor > limit:
            return False
        spent[currency] = [*recent, [int(now), minor]]
        write_private(self.path, dumps({"version": 1, "spent": spent}), replace=True)  # type: ignore[dict-item]
        return True

    def _read(self) -> dict[str, list[list[int]]]:
        try:
            content: Any = loads(read_private(self.path), max_bytes=_MAX_BYTES)
            return {
                str(currency): [[int(at), int(minor)] for at, minor in entries]
                for currency, entries in content["spent"].items()
            }
        except FileNotFoundError:
            return {}
        except (AgentError, KeyError, TypeError, ValueError, AttributeError, ArithmeticError) as error:
            if isinstance(error, KeyStoreError):
                raise
            raise KeyStoreError(
                "keystore_invalid",
                f"{self.path} does not say what was spent unasked; delete it to begin anew.",
            ) from error


def _within_a_day(spent: Mapping[str, list[list[int]]], currency: str, now: float) -> list[list[int]]:
    return [entry for entry in spent.get(currency, []) if now - A_DAY < entry[0]]
