"""What a run is to be: one database, a duration, a seed, and how many of everything."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

SQLITE: Final = "sqlite"
SQLITE_DEFAULTS: Final = "sqlite-defaults"
POSTGRES: Final = "postgres"
DATABASES: Final = (SQLITE, SQLITE_DEFAULTS, POSTGRES)
SERVERS: Final = ("gunicorn", "uvicorn")

MESSENGER: Final = "messenger"
MONEY: Final = "money"
SCENARIOS: Final = (MESSENGER, MONEY)

PER_AGENT: Final = 3
"""Writers, or buyers, that share one agent, its key and its quota."""


@dataclass(frozen=True)
class Plan:
    """Kills go on for ``seconds``, and beyond until there were ``kills`` and ``acknowledgements``, at most ``at_most``
    seconds in all.

    ``finishing`` is how many seconds everybody may take to finish once nothing is killed any more.

    ``quota`` is how many messages each agent may have accepted, None for more than it sends. ``pace`` divides the time
    that processes live. ``bug`` is planted in the servers. ``old_events`` are in the log from the beginning, for
    retention to delete meanwhile.
    """

    scenario: str = MESSENGER
    database: str = POSTGRES
    seconds: float = 30
    seed: str = "1"
    server: str = "gunicorn"
    writers: int = 6
    readers: int = 4
    with_redis: bool = True
    quota: int | None = None
    pace: float = 1.0
    kills: int = 0
    acknowledgements: int = 0
    at_most: float = 3_600
    finishing: float = 90
    bug: str = ""
    old_events: int = 40_000

    @property
    def agents(self) -> list[str]:
        """Names of the writing agents, and of one that only listens."""
        speaking = -(-self.writers // PER_AGENT)
        return [f"writer-{number + 1}" for number in range(speaking)] + ["listener"]
