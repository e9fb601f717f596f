"""Probes: what the doctor looks at. A room has a module ``probes`` with ``PROBES``; the floors' are the doctor's own.

A probe has a stable id, one level, a sentence that holds when nothing is wrong, and a function that tells what is.
Ids and meanings: ``docs/reference/doctor.md``. Looking changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final, Protocol

from agentweb.http.documents import Place
from agentweb.http.headers import EXPOSED

WITH_TABLES: Final = ("D020", "D021")
"""``after`` of a probe that asks the database: it answers, and is migrated."""
WITH_ANSWERS: Final = (*WITH_TABLES, "D013")
"""``after`` of a probe that asks the site: it lets in who calls it by its own name."""


class Level(StrEnum):
    OK = "ok"
    WARNING = "warning"
    ERROR = "error"


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong, and what to do about it."""

    text: str
    fix: str


@dataclass(frozen=True, slots=True)
class Answer:
    """The site's answer to one request. ``headers`` have lower-case names; ``log`` is what agentweb and Django logged
    meanwhile; ``written`` names the tables that were written to, agentweb's own aside."""

    status: int
    headers: Mapping[str, str]
    body: bytes
    cookies: tuple[str, ...] = ()
    log: tuple[str, ...] = ()
    written: tuple[str, ...] = ()

    @property
    def media_type(self) -> str:
        """Of the Content-Type, without parameters, in lower case."""
        return self.headers.get("content-type", "").partition(";")[0].strip().lower()

    @property
    def is_ours(self) -> bool:
        """Whether a view of agentweb answered, and not the site's own or a middleware.

        Told by a header that is all ours; others give answers an X-Request-Id too.
        """
        return self.headers.get("access-control-expose-headers") == EXPOSED

    @property
    def is_redirect(self) -> bool:
        return self.status in {301, 302, 303, 307, 308}


class Examined(Protocol):
    """The site as a probe sees it."""

    @property
    def place(self) -> Place: ...

    def ask(
        self, method: str, path: str, headers: Mapping[str, str] | None = None, body: bytes = b""
    ) -> Answer:
        """The answer of the whole site, middleware and all, to a caller who shows nothing.

        ``path`` is that of the URL, with its query if any. What the request wrote is rolled back. The same
        question is asked once.
        """
        ...


Look = Callable[[Examined], Iterable[Problem] | None]
"""The problems; none when all is well, None when there is nothing to look at here."""


@dataclass(frozen=True, slots=True)
class Probe:
    """``healthy`` is said when ``look`` finds no problem.

    ``after``: ids of the probes that must have found nothing before this one is run. ``is_for_production``: under
    DEBUG its problems are only noted. ``looks_inside``: it sees nothing over the network.
    """

    id: str
    level: Level
    healthy: str
    look: Look = field(repr=False)
    after: tuple[str, ...] = ()
    is_for_production: bool = False
    looks_inside: bool = False
