"""Who gets one of the few threads that may wait, and who gives it back for whom."""

from __future__ import annotations

from typing import Any

import pytest
from django.http import HttpRequest
from django.test import AsyncRequestFactory, RequestFactory

from agentweb.http.waiting import POLLS_PER_HOLDER, Place, Threads

THREADED = {"wsgi.multithread": True}


class Polls:
    """Polls at a server, and which of them were ended."""

    def __init__(self, settings: Any, most: int, *, is_asgi: bool = False) -> None:
        names = ("STREAM_THREADS", "BRIDGE_CALLS_PER_PROCESS")
        settings.AGENTWEB = {**settings.AGENTWEB, **dict.fromkeys(names, most)}
        self.threads = Threads()
        self.ended: list[str] = []
        self._is_asgi = is_asgi

    def take(self, holder: str, **environ: Any) -> Place | None:
        request: HttpRequest = (
            AsyncRequestFactory().get("/")
            if self._is_asgi
            else RequestFactory().get("/", **{**THREADED, **environ})
        )
        return self.threads.take_poll(request, holder, lambda: self.ended.append(holder))

    def taken(self, *holders: str) -> list[Place]:
        """The places of those that got one, to be kept."""
        return [place for place in map(self.take, holders) if place is not None]


@pytest.mark.parametrize(("most", "polls"), [(0, 0), (1, 1), (2, 1), (3, 1), (4, 2), (10, 5)])
def test_polls_have_half_of_the_threads_that_wait(settings: Any, most: int, polls: int) -> None:
    assert len(Polls(settings, most).taken(*"abcdefgh")) == polls


def test_a_server_with_one_thread_has_none_to_wait_in(settings: Any) -> None:
    assert Polls(settings, 10).take("a", **{"wsgi.multithread": False}) is None


def test_under_asgi_polls_have_places_of_their_own(settings: Any) -> None:
    polls = Polls(settings, 3, is_asgi=True)
    with polls.threads.take_call(is_threaded=False):
        assert len(polls.taken(*"abcd")) == 3
    assert polls.ended == []


@pytest.mark.parametrize("is_asgi", [True, False])
def test_one_more_of_a_holder_ends_its_oldest_and_nobody_else_s(settings: Any, is_asgi: bool) -> None:
    polls = Polls(settings, 20, is_asgi=is_asgi)
    kept = polls.taken("b", *["a"] * (POLLS_PER_HOLDER + 2))
    assert (len(kept), polls.ended) == (POLLS_PER_HOLDER + 3, ["a", "a"])
    # The places of those that were ended are given back once.
    for place in kept[1:3]:
        with place:
            pass
    assert len(polls.taken(*"cdefghijklmnopqrstuvwxyz")) == (20 if is_asgi else 10) - 1 - POLLS_PER_HOLDER


def test_no_holder_takes_every_place_of_a_small_server(settings: Any) -> None:
    polls = Polls(settings, 4)
    kept = polls.taken("a", "a", "b")
    assert (len(kept), polls.ended) == (3, ["a"])


def test_a_call_ends_a_poll_where_too_many_would_wait(settings: Any) -> None:
    polls = Polls(settings, 2)
    kept = polls.taken("a")
    with polls.threads.take_call(is_threaded=True):
        assert polls.ended == []
        with polls.threads.take_call(is_threaded=True):
            assert polls.ended == ["a"]
            assert not polls.threads.are_short()
            assert polls.take("b") is None
    assert kept
    assert polls.take("b") is not None


def test_streams_have_what_polls_leave_and_the_only_place(settings: Any) -> None:
    polls = Polls(settings, 2)
    kept = polls.taken("a")
    assert [polls.threads.enter_stream() for _ in range(2)] == [True, False]
    assert polls.ended == []
    alone = Polls(settings, 1)
    kept += alone.taken("a")
    assert alone.threads.enter_stream()
    assert (alone.ended, alone.take("b")) == (["a"], None)
    alone.threads.leave_stream()
    assert alone.take("b") is not None


def test_a_poll_that_nobody_knows_any_more_keeps_no_place(settings: Any) -> None:
    polls = Polls(settings, 2)
    polls.take("a")
    assert polls.take("b") is not None
