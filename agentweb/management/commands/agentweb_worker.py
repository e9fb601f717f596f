"""``manage.py agentweb_worker``: the messenger's background work, payments settled, and what is over deleted, without
a broker.

It looks at the log every few seconds, and at once where a wake-up reaches it. Several workers share the work; one that
is killed is made up for by the next look of any other.
"""

from __future__ import annotations

import json
import logging
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from types import FrameType
from typing import Any, Final

from django.core.management.base import CommandError, CommandParser
from django.db import DatabaseError, InterfaceError, close_old_connections, connections

from agentweb import rooms, upkeep
from agentweb.access.database import is_passing
from agentweb.aim import wakeups
from agentweb.aim.sweep import Swept, sweep
from agentweb.ledger import providers, settling
from agentweb.ledger.settling import Swept as Settled
from agentweb.management.commands._migrated import MigratedCommand
from agentweb.management.commands._repeating import SLICE_SECONDS, repeated
from agentweb.management.commands._settled import in_words
from agentweb.wire.clock import now_datetime

logger = logging.getLogger("agentweb.worker")

_BACKGROUND_SECONDS: Final = 30.0
"""From one look for what may take long to the next."""
_SETTLE_SECONDS: Final = 5.0
"""How often a worker asks whether it is its turn to settle payments."""
_GATHER_SECONDS: Final = 0.05
_LONGEST_PERIOD: Final = 3_600.0
_LONGEST_BACKOFF: Final = 30.0


class Command(MigratedCommand):
    help = (
        "Do the messenger's background work every few seconds, settle payments every half minute, and delete what is "
        "over every few minutes, until SIGTERM or Ctrl-C. Run as many as you like."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--every", default="2", help="Seconds from look to look; 2 unless given.")
        parser.add_argument("--once", action="store_true", help="Do everything that is due, once, and end.")
        parser.add_argument(
            "--json", action="store_true", help="Print a JSON object for each look that did something."
        )

    def handle(self, *args: Any, **options: Any) -> None:
        every = _seconds(options["every"])
        if options["once"]:
            swept, cleared = sweep(every), upkeep.clear_expired()
            settled = settling.sweep()
            _tell(settled)
            beside = {
                "settled": settled.ended,
                "unsettled": settled.left,
                "background": rooms.background(_never),
            }
            self._report(swept, cleared, beside, as_json=options["json"])
            return
        with _until_told_to_end() as stop, _beside(stop):
            self._work(every, stop, as_json=options["json"])

    def _work(self, every: float, stop: _Stop, *, as_json: bool) -> None:
        status, backoff, has_worked = _Status(self.stdout), 0.0, False
        try:
            while not stop():
                before = wakeups.mark()
                try:
                    close_old_connections()
                    swept = sweep(every, stop)
                    cleared = upkeep.clear_expired_if_due(stop)
                except (DatabaseError, InterfaceError) as error:
                    if not has_worked or not is_passing(error):
                        raise
                    connections.close_all()
                    backoff = min(max(every, 2 * backoff), _LONGEST_BACKOFF)
                    logger.warning("The database does not answer; trying again in %g s: %s", backoff, error)
                    _rest(backoff, before, stop)
                    continue
                has_worked, backoff = True, 0.0
                if swept.events or swept.told or any((cleared or {}).values()):
                    status.wipe()
                    self._report(swept, cleared, as_json=as_json, is_loop=True)
                status.show(swept)
                _rest(every, before, stop)
        finally:
            status.wipe()

    def _report(
        self,
        swept: Swept,
        cleared: dict[str, int] | None,
        beside: dict[str, Any] | None = None,
        *,
        as_json: bool,
        is_loop: bool = False,
    ) -> None:
        """``beside``, with --once: what a loop does in threads of its own."""
        found = {"events": swept.events, "told": swept.told, "lag": swept.lag, "cleared": cleared or {}}
        found |= beside or {}
        if as_json:
            self.stdout.write(json.dumps({"at": now_datetime().isoformat(timespec="seconds"), **found}))
            self.stdout.flush()
        elif not is_loop or any((cleared or {}).values()):
            gone = ", ".join(f"{n} {what.replace('_', ' ')}" for what, n in (cleared or {}).items() if n)
            swept_ones = f"{swept.events} events swept, {swept.told} signals sent, {swept.lag} left"
            self.stdout.write("; ".join([swept_ones, f"deleted: {gone or 'nothing'}", *_said(beside or {})]))


@contextmanager
def _beside(stop: Callable[[], bool]) -> Iterator[None]:
    """What may take minutes goes on in threads of its own: other sites and payment providers that do not answer keep no
    message waiting."""
    with ExitStack() as threads:
        if rooms.has_background():
            threads.enter_context(
                repeated("background", rooms.background, every=_BACKGROUND_SECONDS, stop=stop)
            )
        if providers.is_configured():
            threads.enter_context(repeated("payments", _settle, every=_SETTLE_SECONDS, stop=stop))
        yield


def _said(beside: dict[str, Any]) -> list[str]:
    """Of payments, where there is a provider or something was open; of the rooms, what they did."""
    found = []
    settled = [*in_words(beside.get("settled", {}))]
    if beside.get("unsettled"):
        settled.append(f"{beside['unsettled']} open still")
    if settled or (beside and providers.is_configured()):
        found.append(f"settled: {', '.join(settled) or 'nothing'}")
    done = [f"{count} {what.replace('_', ' ')}" for what, count in beside.get("background", {}).items()]
    return [*found, ", ".join(done)] if done else found


def _never() -> bool:
    return False


def _settle(stopping: Callable[[], bool]) -> None:
    _tell(upkeep.settle_payments_if_due(stopping))


def _tell(settled: Settled | None) -> None:
    if settled is not None and settled.ended:
        logger.info("Settled: %s", ", ".join(in_words(settled.ended)))


class _Stop:
    """Whether it is to end. A plain flag: a lock could be held by the very thread that a signal interrupts."""

    is_set = False

    def __call__(self) -> bool:
        return self.is_set


@dataclass
class _Status:
    """One line on a terminal that says that the worker lives; nothing anywhere else."""

    to: Any
    swept: int = 0
    is_shown: bool = False

    def show(self, swept: Swept) -> None:
        self.swept += swept.events
        if self.to.isatty():
            at = time.strftime("%H:%M:%S")
            self.to.write(f"\r\x1b[K{at}  {self.swept} events swept, {swept.lag} left", ending="")
            self.to.flush()
            self.is_shown = True

    def wipe(self) -> None:
        if self.is_shown:
            self.to.write("\r\x1b[K", ending="")
            self.to.flush()
            self.is_shown = False


def _rest(every: float, before: int, stop: _Stop) -> None:
    """Wait for the next look: a while, or a wake-up. In slices, since a signal wakes nobody who waits."""
    until = time.monotonic() + every
    while not stop() and (left := until - time.monotonic()) > 0:
        if wakeups.wait(left, before, at_most=SLICE_SECONDS):
            # What is accepted at the same time is one look.
            time.sleep(_GATHER_SECONDS)
            return


@contextmanager
def _until_told_to_end() -> Iterator[_Stop]:
    """Set by SIGTERM and Ctrl-C: the batch under way is finished. A second one ends at once."""
    stop = _Stop()

    def end(number: int, frame: FrameType | None) -> None:
        if stop():
            raise KeyboardInterrupt
        stop.is_set = True

    before = {number: signal.signal(number, end) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _seconds(text: str) -> float:
    try:
        seconds = float(text) if text.isascii() else 0.0
    except ValueError:
        seconds = 0.0
    if not 0.05 <= seconds <= _LONGEST_PERIOD:
        raise CommandError(f"--every: {text!r} is no number of seconds from 0.05 to {_LONGEST_PERIOD:g}.")
    return seconds
