"""Both performances of ``manage.py demo``: the story, and the shop that stays open."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Final

from django.conf import settings
from django.db import DatabaseError

from demo_project import staging
from demo_project.origin import noted
from demo_project.running import SiteFailedError, running
from demo_project.shop.payments import NO_MONEY
from demo_project.staging import StagingError
from demo_project.story.at_the_pages import AtThePages
from demo_project.story.bargaining import Bargaining
from demo_project.story.narrator import Narrator, UnexpectedError
from demo_project.story.script import Story

_LOG_LINES: Final = 40


@dataclass(frozen=True, slots=True)
class Opened:
    """A shop that is open: its origin, the passwords of its people by name, and its SQLite file if it has one."""

    origin: str
    passwords: dict[str, str]
    database: Path | None


class FailedError(Exception):
    """The performance did not go as it should; the text says how."""


def tell(narrator: Narrator, *, database: Path | None, fresh: bool, port: int) -> None:
    """Play the story. Raises FailedError when a step goes otherwise than told."""
    narrator.title("The Corner Shop, and an agent that shops for Ada")
    narrator.title(NO_MONEY)
    with tempfile.TemporaryFile() as log, _failures_told(log):
        with _stage(narrator, database, fresh) as environment, ExitStack() as open_site:
            with narrator.working("Opening the site"):
                site = open_site.enter_context(running(environment, port=port, log=log))
            narrator.says("", f"It answers at {site.origin}.")
            _publish(narrator, site.origin)
            folder = Path(open_site.enter_context(tempfile.TemporaryDirectory(prefix="agent-")))
            try:
                Story(site.origin, narrator, folder).play()
                AtThePages(site.origin, narrator).play()
                Bargaining(site.origin, narrator, folder).play()
            except UnexpectedError as error:
                narrator.failed(error)
                raise FailedError(
                    "A step went otherwise than expected. If the database was changed by hand, try --fresh."
                ) from error
        narrator.title(
            "\nEvery step went as expected. To walk around yourself: python manage.py demo --serve"
        )


def serve(
    narrator: Narrator,
    opened: Callable[[Opened], None],
    *,
    database: Path | None,
    fresh: bool,
    port: int,
) -> None:
    """Keep the shop open until interrupted. ``opened`` is called once it answers."""
    with _failures_told(None), _stage(narrator, database, fresh) as environment, ExitStack() as held:
        passwords = {name: staging.renew_password(name) for name in (staging.STAFF, *staging.CUSTOMERS)}
        site = held.enter_context(running(environment, port=port))
        file = environment.get("AGENTWEB_DEMO_DATABASE")
        if file is not None:
            held.enter_context(noted(Path(file), site.origin))
        _publish(narrator, site.origin)
        opened(Opened(site.origin, passwords, None if file is None else Path(file)))
        while site.is_running:
            time.sleep(0.2)
        raise FailedError("The site stopped by itself; what it said stands above.")


@contextmanager
def _stage(narrator: Narrator, database: Path | None, fresh: bool) -> Iterator[dict[str, str]]:
    """A database ready to open with; what the site's process must know of it."""
    with ExitStack() as held:
        path = _claim(narrator, held, database or staging.current(), chosen=database is not None)
        if path is None and fresh:
            raise StagingError("--fresh deletes an SQLite file; empty another database yourself.")
        if path is not None:
            staging.use(path)
            if fresh:
                staging.remove(path)
        with narrator.working(f"Preparing the database {path or settings.DATABASES['default']['NAME']}"):
            staging.migrate()
            staging.create_site_key()
        with narrator.working("Filling the shelves") as progress:
            count = staging.fill(lambda done, total: progress(f"{done} of {total}"))
            staging.bring_life()
        narrator.says("", f"{count} products are for sale.")
        environment = {"AGENTWEB_DEMO_SECRET_KEY": settings.SECRET_KEY, "AGENTWEB_DEMO_DEBUG": "0"}
        if path is not None:
            environment["AGENTWEB_DEMO_DATABASE"] = str(path)
        yield environment


def _publish(narrator: Narrator, origin: str) -> None:
    """Write the shop's pages for agents, once it is known where they are: the links in them name the site."""
    with narrator.working("Writing its pages as Markdown for agents"):
        pages = staging.publish(origin)
    narrator.says("", f"{pages} pages can be read at {origin}/awp/manifest.json.")


def _claim(narrator: Narrator, held: ExitStack, path: Path | None, *, chosen: bool) -> Path | None:
    """The file that is now ours alone. When the usual one is taken, a temporary one will do as well."""
    if path is None:
        return None
    path = path.expanduser().absolute()
    try:
        held.enter_context(staging.alone(path))
    except StagingError:
        if chosen:
            raise
        path = Path(held.enter_context(tempfile.TemporaryDirectory(prefix="demo-"))) / "demo.sqlite3"
        narrator.says("", "Another demo is running, so this one uses a database of its own.")
    return path


@contextmanager
def _failures_told(log: IO[bytes] | None) -> Iterator[None]:
    """Whatever keeps the site from running becomes FailedError, with the end of the site's log."""
    try:
        yield
    except DatabaseError as error:
        raise FailedError(
            f"The database cannot be used as it is: {error}. Perhaps it is of an earlier version; try --fresh."
        ) from error
    except (StagingError, SiteFailedError, FailedError) as error:
        raise FailedError("\n".join([str(error), *_end_of(log)])) from error


def _end_of(log: IO[bytes] | None) -> list[str]:
    if log is None:
        return []
    log.seek(0)
    lines = log.read().decode(errors="replace").splitlines()[-_LOG_LINES:]
    return ["", "The end of the site's log:", *lines] if lines else []
