"""What processes do with the content, each with its own connection: see ``tests.support.races``."""

from __future__ import annotations

import os
import resource
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

from django.test import override_settings

from agentweb.awp.content import running, runs, storing
from agentweb.awp.content.models import ContentPage, ContentPart, ContentRun
from agentweb.catalog.registry import registry
from agentweb.wire.clock import clock
from tests.awp.content import site
from tests.site.models import Note

MANY = 40


@contextmanager
def _site(*more: str) -> Iterator[None]:
    site.PAGES = {f"page-{number}": f"This is page {number}." for number in range(MANY)}
    site.sitemaps = {"articles": site.Articles, "more": site.Paths(*more)}
    awp = {"SITEMAPS": "tests.awp.content.site.sitemaps"}
    settings = override_settings(
        ROOT_URLCONF="tests.awp.content.site", AGENTWEB={"ORIGIN": "https://shop.example", "AWP": awp}
    )
    with settings, registry.only():
        yield


def one_run(workers: int = 1, later: float = 0, *more: str) -> dict[str, Any] | None:
    """A run, in ``later`` seconds from now; None when another one is at work."""
    with _site(*more), clock(lambda: time.time() + later):
        found = running.run(workers)
    if found is None:
        return None
    return {
        "counts": found.counts,
        "is_complete": found.is_complete,
        "why": {each.path: [str(each.why.reason), each.why.detail] for each in found.reports},
    }


def slow_run() -> dict[str, Any] | None:
    """A run that takes its time, so that others meet it."""
    with patch.object(running.Run, "_take", _slowly(running.Run._take)):
        return one_run()


def _slowly(take: Any) -> Any:
    def slower(*arguments: Any) -> None:
        time.sleep(0.02)
        take(*arguments)

    return slower


def killed_after(pages: int) -> None:
    """A run that is killed in the middle of writing a page: its child is, so that this process can say so."""
    child = os.fork()
    if child == 0:
        written = []

        def once(*arguments: Any) -> Any:
            written.append(arguments)
            if len(written) > pages:
                # The page's row is written and its parts are not.
                with patch.object(ContentPart.objects, "bulk_create", _die):
                    return real(*arguments)
            return real(*arguments)

        real = storing.write
        with patch.object(storing, "write", once):
            one_run()
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL


def _die(*_: Any, **__: Any) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def run_that_was_taken_for_dead() -> str:
    """A run that pauses after its tenth page for so long that another one takes over and ends."""
    with _site():
        taken: list[Any] = []
        with running.begin() as first:
            try:
                for _ in first.pages():
                    taken.append(1)
                    if len(taken) == 10:
                        site.PAGES = {name: f"{said} Changed." for name, said in site.PAGES.items()}
                        with clock(lambda: time.time() + 2 * runs.LEASE_SECONDS):
                            second = running.run()
                        assert second is not None
                        assert second.is_complete
                        site.PAGES = {"page-0": "Old."}
            except runs.Superseded:
                return "superseded"
        return "went on"


def state() -> dict[str, Any]:
    """What is stored, and whether it is whole."""
    rows = list(ContentPage.objects.all())
    parts = {row.pk: list(row.content_parts.values_list("number", flat=True)) for row in rows}
    return {
        "pages": len(rows),
        "are_whole": all(sorted(parts[row.pk]) == list(range(1, row.parts + 1)) for row in rows),
        "changed": sum("Changed." in part.text for part in ContentPart.objects.all()),
        "running": ContentRun.objects.filter(is_running=True).count(),
        "complete": ContentRun.objects.filter(is_complete=True).count(),
    }


def hanging_run(workers: int) -> dict[str, Any] | None:
    """A run over pages that hang, end their process or raise, with little patience."""
    with (
        patch("agentweb.awp.content.rendering.PAGE_SECONDS", 3.0),
        patch("agentweb.awp.content.workers.PAGE_SECONDS", 3.0),
        patch("agentweb.awp.content.workers._GRACE_SECONDS", 1.0),
    ):
        more = ("/hangs/", "/crash/", "/exits/") + (("/dies/", "/stays/") if workers > 1 else ())
        return one_run(workers, 0, *more)


def leaky_run() -> dict[str, Any] | None:
    """A run over pages that leave transactions open, or raise what Ctrl-C does, between others that are sound."""
    done = one_run(1, 0, "/leaks/", "/by-hand/", "/leaks-and-crashes/", "/interrupts/", "/notes/")
    return done and {**done, **state(), "notes": Note.objects.count()}


def large_site(pages: int) -> dict[str, Any]:
    """Two runs over so many pages of different lengths, and what they took."""
    words = "Every shoe of this shop is made by hand, from leather that was tanned here. " * 12
    site.PAGES = {f"shoe-{number}": f"Shoe {number}. {words * (number % 7)}" for number in range(pages)}
    site.sitemaps = {"articles": site.Articles}
    awp = {"SITEMAPS": "tests.awp.content.site.sitemaps"}
    settings = override_settings(
        ROOT_URLCONF="tests.awp.content.site",
        AGENTWEB={"ORIGIN": "https://shop.example", "AWP": awp},
        DEBUG=True,
    )
    with settings, registry.only():
        began = time.monotonic()
        first = running.run()
        seconds = time.monotonic() - began
        before = dict(ContentPage.objects.values_list("slug", "updated_at"))
        site.PAGES["shoe-1"] += " Now in brown."
        second = running.run()
    assert first is not None
    assert second is not None
    after = dict(ContentPage.objects.values_list("slug", "updated_at"))
    return {
        "first": first.counts,
        "second": second.counts,
        "touched": sorted(slug for slug, at in after.items() if before[slug] != at),
        "rate": round(pages / seconds),
        "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
    }
