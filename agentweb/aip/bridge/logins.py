"""Which login a browser's page belongs to: a mark in the Django session, so that pages end when it does."""

from __future__ import annotations

from typing import Any, Final

from django.contrib.auth.signals import user_logged_out
from django.http import HttpRequest

from agentweb.aip.bridge import open_pages
from agentweb.aip.bridge.open_pages import Owner
from agentweb.people.logins import person_of
from agentweb.wire.encoding import random_id
from agentweb.wire.errors import AuthenticationError, Code

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
    return Owner(person.pk, str(mark or "none"))


def end_with_the_login(*, request: HttpRequest | None = None, **kwargs: Any) -> None:
    """Close the pages of a login that ends."""
    mark = getattr(request, "session", {}).get(_MARK)
    if mark is not None:
        open_pages.log_out(mark)


user_logged_out.connect(end_with_the_login, dispatch_uid="agentweb.bridge")
