"""Playing chapters, and what all of them need from an answer."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import httpx

from agentweb.wire.errors import AgentError
from demo_project.story.narrator import UnexpectedError


def play(chapters: Iterable[Callable[[], None]]) -> None:
    """All chapters in order. Raises UnexpectedError at the first step that goes otherwise."""
    for chapter in chapters:
        try:
            chapter()
        except (LookupError, TypeError, ValueError, httpx.HTTPError) as error:
            got = f"{type(error).__name__}: {error}"
            raise UnexpectedError("the answers have their shape", "no surprise", got) from error


def answered(response: httpx.Response, *, status: int = httpx.codes.OK) -> Any:
    """The JSON of an answer that must have this status."""
    if response.status_code != status:
        raise UnexpectedError("the site answers", status, f"{response.status_code} {response.text}")
    return response.json()


def attempt(what: str, call: Callable[[], Any]) -> Any:
    """What a call of the client answers, which must be answered."""
    try:
        return call()
    except AgentError as error:
        raise UnexpectedError(f"the site answers {what}", "a result", error.as_dict()) from error


def held_back(call: Callable[[], Any]) -> AgentError:
    """The error of a call of the client that must be refused, by the site or by the client."""
    try:
        answer = call()
    except AgentError as error:
        return error
    raise UnexpectedError("the call is refused", "an error", answer)


def refused(response: httpx.Response) -> dict[str, Any]:
    """The ``error`` member of an answer that must be no, and its ``status``."""
    try:
        error: dict[str, Any] = response.json()["error"]
    except (ValueError, KeyError, TypeError):
        raise UnexpectedError("the site refuses", "an error", response.text) from None
    return {**error, "status": response.status_code}
