"""Listeners hear of every answer, and cannot spoil one."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from agentweb.http import answers
from tests.support.web import send

pytestmark = pytest.mark.usefixtures("shop")


@pytest.fixture
def heard(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    monkeypatch.setattr(answers, "_listeners", [])
    found: list[Any] = []
    answers.listen(lambda view, response: found.append((type(view).__name__, response.status_code)))
    return found


def test_every_answer_is_heard_of_once_errors_too(heard: list[Any]) -> None:
    send("GET", "/agent/search_products?query=tea")
    send("GET", "/agent/search_products")
    send("PUT", "/agent/search_products")
    send("POST", "/agent/crash", b"{}")
    assert [status for _name, status in heard] == [200, 422, 405, 500]


def test_a_listener_that_fails_changes_nothing_and_is_logged(
    heard: list[Any], caplog: pytest.LogCaptureFixture
) -> None:
    def fail(view: Any, response: Any) -> None:
        raise RuntimeError("broken")

    answers._listeners.insert(0, fail)
    with caplog.at_level(logging.ERROR, logger="agentweb.http"):
        answer = send("GET", "/agent/search_products?query=tea")
    assert answer.status_code == 200
    assert len(heard) == 1
    assert answer["X-Request-Id"] in caplog.text
    assert "broken" in caplog.text


def test_listening_twice_is_listening_once(heard: list[Any]) -> None:
    seen: list[Any] = []

    def listener(view: Any, response: Any) -> None:
        seen.append(response)

    answers.listen(listener)
    answers.listen(listener)
    send("GET", "/agent/search_products?query=tea")
    assert len(seen) == 1
