"""The limit for how long a page may take."""

from __future__ import annotations

import signal
import threading
from contextlib import suppress

import pytest

from agentweb.awp.content.timing import OutOfTime, at_most, telling_interrupts


def hang() -> None:
    while True:
        try:
            threading.Event().wait(0.01)
        except Exception:  # noqa: S112 - as some code of a site's does
            continue


def hang_on(swallowed: list[int]) -> None:
    while True:
        try:
            threading.Event().wait(0.01)
        except BaseException:
            if swallowed:
                raise
            swallowed.append(1)


def test_code_that_catches_every_exception_is_ended_all_the_same() -> None:
    with pytest.raises(OutOfTime), at_most(0.05):
        hang()


def test_an_exception_that_is_swallowed_comes_again() -> None:
    swallowed: list[int] = []
    with pytest.raises(OutOfTime), at_most(0.05):
        hang_on(swallowed)
    assert swallowed == [1]


def test_afterwards_nothing_rings_and_everything_is_as_before() -> None:
    before = signal.getsignal(signal.SIGALRM)
    with at_most(30):
        assert signal.getitimer(signal.ITIMER_REAL)[0] > 0
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)
    assert signal.getsignal(signal.SIGALRM) is before


def test_an_alarm_of_the_sites_own_is_left_alone() -> None:
    rung: list[int] = []
    before = signal.signal(signal.SIGALRM, lambda number, frame: rung.append(number))
    try:
        with at_most(0.01):
            signal.raise_signal(signal.SIGALRM)
        assert rung == [signal.SIGALRM]
    finally:
        signal.signal(signal.SIGALRM, before)


def test_in_other_threads_nothing_is_limited() -> None:
    done: list[str] = []

    def work() -> None:
        with at_most(0.01):
            threading.Event().wait(0.05)
        done.append("done")

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert done == ["done"]


def test_only_an_interrupt_from_outside_is_told_as_one() -> None:
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with telling_interrupts() as is_interrupted, suppress(KeyboardInterrupt):
            raise KeyboardInterrupt
        assert not is_interrupted()
        with telling_interrupts() as is_interrupted, suppress(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
            threading.Event().wait(30)
        assert is_interrupted()
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    finally:
        signal.signal(signal.SIGINT, before)
