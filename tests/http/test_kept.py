"""What is kept in a process."""

from __future__ import annotations

import threading

import pytest

from agentweb.http.kept import Kept


def test_of_readers_who_come_at_once_one_builds() -> None:
    kept: Kept[str] = Kept()
    built: list[int] = []
    others_wait = threading.Event()

    def build() -> str:
        built.append(1)
        others_wait.wait(30)
        return "value"

    found: list[str] = []
    readers = [threading.Thread(target=lambda: found.append(kept.get("key", build))) for _ in range(5)]
    for reader in readers:
        reader.start()
    while kept._flights["key"].readers < 5:
        others_wait.wait(0.001)
    # Another key waits for nobody.
    assert kept.get("other", lambda: "other") == "other"
    others_wait.set()
    for reader in readers:
        reader.join()
    assert found == ["value"] * 5
    assert built == [1]
    assert not kept._flights


def test_where_building_fails_the_next_reader_tries() -> None:
    kept: Kept[str] = Kept()
    with pytest.raises(ZeroDivisionError):
        kept.get("key", lambda: str(1 // 0))
    assert kept.get("key", lambda: "value") == "value"
    assert not kept._flights


def test_what_is_built_may_ask_for_more_of_the_same() -> None:
    kept: Kept[int] = Kept()
    assert kept.get("key", lambda: kept.get("key", lambda: 1) + 1) == 2
