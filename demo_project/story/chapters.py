"""Playing chapters, and what all of them need from an answer."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import httpx

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


def refused(response: httpx.Response) -> dict[str, Any]:
    """The ``error`` member of an answer that must be no, and its ``status``."""
    try:
        error: dict[str, Any] = response.json()["error"]
    except (ValueError, KeyError, TypeError):
        raise UnexpectedError("the site refuses", "an error", response.text) from None
    return {**error, "status": response.status_code}
