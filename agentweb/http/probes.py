"""Probes: what the doctor looks at. A room has a module ``probes`` with ``PROBES``; the floors' are the doctor's own.

A probe has a stable id, one level, a sentence that holds when nothing is wrong, and a function that tells what is.
Ids and meanings: ``docs/reference/doctor.md``. Looking changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol

from agentweb.http.documents import Place


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
        """Whether a view of agentweb answered, and not the site's own or a middleware."""
        return self.headers.get("x-request-id", "").startswith("rq_")

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

    ``needs_tables``: not run while the database does not answer or is not migrated. ``is_for_production``: under
    DEBUG its problems are only noted.
    """

    id: str
    level: Level
    healthy: str
    look: Look = field(repr=False)
    needs_tables: bool = False
    is_for_production: bool = False
