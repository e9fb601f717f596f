"""What a page's own functions are told: who looks at it, and at which URL."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any

from agentweb.access.callers import Caller
from agentweb.wire.clock import now_datetime

if TYPE_CHECKING:
    from django.contrib.auth.base_user import AbstractBaseUser
    from django.contrib.auth.models import AnonymousUser
    from django.http import HttpRequest


@dataclass(frozen=True, slots=True)
class PageContext:
    """A page, as its ``state`` and ``markdown`` functions see it: who looks, and at which URL.

    ``user`` is the person for whom the caller acts, AnonymousUser when there is none. ``kwargs`` are the parameters
    of the page's path, converted as in ``urls.py``.
    """

    caller: Caller
    request: HttpRequest
    kwargs: Mapping[str, Any] = field(default_factory=dict)

    @property
    def user(self) -> AbstractBaseUser | AnonymousUser:
        return self.caller.user

    @property
    def now(self) -> datetime:
        """The current time in UTC, from the same clock as every rule of a call."""
        return now_datetime()
