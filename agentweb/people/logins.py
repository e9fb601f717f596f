"""Who sits in front of a page: a person who logged in with their browser, and nobody else."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.contrib.auth import SESSION_KEY
from django.http import HttpRequest

if TYPE_CHECKING:
    from django.contrib.auth.models import AbstractBaseUser


def person_of(request: HttpRequest) -> AbstractBaseUser | None:
    """The user whose login the browser's session holds; None for everybody else.

    ``request.user`` alone would not do: a site's middleware may set it for a token, and whoever holds a token for a
    person, an agent above all, is not that person.
    """
    user: Any = getattr(request, "user", None)
    session = getattr(request, "session", None)
    if user is None or session is None or not user.is_authenticated:
        return None
    if session.get(SESSION_KEY) != user._meta.pk.value_to_string(user):
        return None
    person: AbstractBaseUser = user
    return person
