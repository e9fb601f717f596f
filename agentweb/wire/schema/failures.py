"""What a keyword reports: which keyword failed on which value, without a message."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from jsonschema import ValidationError

Path = tuple[str | int, ...]
Errors = Iterator[ValidationError]


class Failure(ValidationError):
    """One broken keyword, without a message.

    ``member`` is the object member that is missing or unknown; ``branches`` holds, for ``anyOf`` and
    ``oneOf``, the failures of each branch by its position; ``detail`` is a position or count the wording
    needs. ``code`` replaces the keyword as the problem's code.
    """

    def __init__(
        self,
        *,
        member: str | None = None,
        branches: list[list[ValidationError]] | None = None,
        detail: Any = None,
        code: str | None = None,
        path: Iterable[str | int] = (),
    ) -> None:
        super().__init__("", path=path)
        self.member = member
        self.branches = branches
        self.detail = detail
        self.code = code
