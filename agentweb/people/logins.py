"""Who sits in front of a page: a person who logged in with their browser, and nobody else."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from django.contrib.auth import SESSION_KEY
from django.http import HttpRequest

from agentweb.access import sessions
from agentweb.wire.encoding import new_nonce

if TYPE_CHECKING:
    from django.contrib.auth.models import AbstractBaseUser

_MARK: Final = "_agentweb_login"


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


def mark_of(request: HttpRequest) -> str:
    """A name for this login of this browser, the same until its end; made when it is first asked for.

    Not the session's key, which changes within a login, and which some of Django's stores do not have.
    """
    session: Any = request.session
    if _MARK not in session:
        session[_MARK] = new_nonce()
    return str(session[_MARK])


def end_sessions(sender: Any, request: HttpRequest | None, **kwargs: Any) -> None:
    """Receiver of ``user_logged_out``: what was agreed to in this login ends with it.

    A failure is not caught: whoever logs out has to know that their agents go on.
    """
    mark = getattr(request, "session", {}).get(_MARK)
    if mark:
        sessions.log_out(str(mark))
