"""Who sits in front of a page: a person who logged in with their browser, and nobody else."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any, Final

from django.contrib.auth import SESSION_KEY
from django.http import HttpRequest

from agentweb.access import sessions
from agentweb.people import presence
from agentweb.wire.encoding import b64url, new_nonce

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


def browser_of(key: str | None) -> str:
    """A digest of a session's key, "" for none: it opens nothing, and finds what was noted under it."""
    return b64url(hashlib.sha256(key.encode()).digest()) if key else ""


def mark_of(request: HttpRequest) -> str:
    """A name for this login of this browser, the same until its end; made when it is first asked for.

    Not the session's key, which changes within a login, and which some of Django's stores do not have. But the site
    notes which key the mark belongs to: of a login that is written over, the key is all that is left.
    """
    session: Any = request.session
    if _MARK not in session:
        session[_MARK] = new_nonce()
    mark, browser = str(session[_MARK]), browser_of(session.session_key)
    if browser:
        sessions.note_login(mark, browser)
    return mark


def end_sessions(sender: Any, request: HttpRequest | None, **kwargs: Any) -> None:
    """Receiver of ``user_logged_out``: what was agreed to in this login ends with it.

    A failure is not caught: whoever logs out has to know that their agents go on.
    """
    session: Any = getattr(request, "session", {})
    mark = str(session.get(_MARK) or "")
    if not mark:
        return
    # Two requests at once may each have made one, and the session keeps one of them.
    noted = sessions.logins_noted(browser_of(getattr(session, "session_key", None)))
    for each in sorted({mark, *noted}):
        sessions.log_out(each)


def end_sessions_before(sender: Any, request: HttpRequest | None, **kwargs: Any) -> None:
    """Receiver of ``user_logged_in``: who logs in over another person's login has ended it.

    Django empties the session then and tells nobody; a session that is the same person's goes on as it is.
    """
    session: Any = getattr(request, "session", {})
    key, members = presence.session_before(request)
    if key and key == getattr(session, "session_key", None):
        return
    over = {*sessions.logins_noted(browser_of(key)), str(members.get(_MARK) or "")} - {""}
    if session.get(_MARK) in over:
        return
    for mark in sorted(over):
        sessions.log_out(mark)
