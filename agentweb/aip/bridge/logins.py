"""Which login a browser's page belongs to: a mark in the Django session, so that pages end when it does.

Signals close the pages of a login that ends at once. They do not tell of every end: ``still_there`` does.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Final

from django.contrib.auth.signals import user_logged_in, user_logged_out
from django.http import HttpRequest

from agentweb.aip.bridge import open_pages
from agentweb.aip.bridge.open_pages import Owner
from agentweb.people import presence
from agentweb.people.logins import browser_of, person_of
from agentweb.wire.encoding import random_id
from agentweb.wire.errors import AuthenticationError, Code

if TYPE_CHECKING:
    from django.contrib.auth.models import AbstractBaseUser

_MARK: Final = "_agentweb_bridge"


def owner_of(request: HttpRequest, *, begins: bool = False) -> Owner:
    """The person who sits in front of the page. ``begins``: give the login its mark if it has none yet.

    Raises session_required for everybody who has not logged in with this browser; no token or signature does.
    """
    person = person_of(request)
    if person is None:
        raise AuthenticationError(
            Code.SESSION_REQUIRED, "Only the page of a person who has logged in with this browser talks here."
        )
    mark = request.session.get(_MARK)
    if mark is None and begins:
        mark = request.session[_MARK] = random_id("bl_")
    mark = str(mark or "none")
    login = presence.login_of(request, person, (_MARK, mark))
    return Owner(person.pk, mark, browser_of(login.session), login.sealed)


def still_there(pages: Iterable[tuple[str, Any, str, str]]) -> dict[str, AbstractBaseUser]:
    """Of pages (id, person's key, mark of the login, ``session``) the persons, if they are logged in at this moment."""
    return presence.present(
        {
            ident: presence.opened(sealed, user_id, (_MARK, mark)) if mark else None
            for ident, user_id, mark, sealed in pages
        }
    )


def end_with_the_login(*, request: HttpRequest | None = None, **kwargs: Any) -> None:
    """Close the pages of a login that ends."""
    mark = getattr(request, "session", {}).get(_MARK)
    if mark is not None:
        open_pages.log_out(str(mark))


def end_with_the_login_before(*, request: HttpRequest | None = None, **kwargs: Any) -> None:
    """Close the pages of a login over which another person has logged in."""
    session: Any = getattr(request, "session", {})
    key, members = presence.session_before(request)
    kept = str(session.get(_MARK) or "")
    if key and key != getattr(session, "session_key", None):
        open_pages.leave_browser(browser_of(key), kept)
    before = str(members.get(_MARK) or "")
    if before and before != kept:
        open_pages.log_out(before)


user_logged_out.connect(end_with_the_login, dispatch_uid="agentweb.bridge")
user_logged_in.connect(end_with_the_login_before, dispatch_uid="agentweb.bridge")
