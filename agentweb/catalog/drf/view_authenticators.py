"""Who may call a published view over HTTP, as far as its authenticators say it.

An agent's call asks no authenticator: its person is the user. So a view for which nobody at all is authenticated has
to see nobody here too, and one that only takes callers of another kind (a service with a key of its own) is worth a
warning.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final

from rest_framework.authentication import (
    BasicAuthentication,
    RemoteUserAuthentication,
    SessionAuthentication,
    TokenAuthentication,
)
from rest_framework.views import APIView

from agentweb.catalog.drf.view_endpoints import Endpoint
from agentweb.catalog.drf.view_routes import layers_of, view_class_of

_OF_PEOPLE: Final = (
    BasicAuthentication,
    RemoteUserAuthentication,
    SessionAuthentication,
    TokenAuthentication,
)
_PACKAGES_OF_PEOPLE: Final = frozenset(
    {
        "allauth",
        "dj_rest_auth",
        "drf_social_oauth2",
        "durin",
        "knox",
        "mozilla_django_oidc",
        "oauth2_provider",
        "rest_framework_jwt",
        "rest_framework_simplejwt",
    }
)
"""Packages whose authenticators know the users of the site."""


def knows_people(endpoint: Endpoint, callback: Callable[..., Any]) -> bool:
    """Whether the view authenticates anybody: with ``authentication_classes = []`` everyone is anonymous."""
    return authenticators_of(endpoint, callback) != ()


def strange_to_people(endpoint: Endpoint, callback: Callable[..., Any] | None) -> tuple[type, ...]:
    """The authenticators of a view when none of them is known to authenticate users of the site; else ()."""
    found = authenticators_of(endpoint, callback) or ()
    return () if any(_is_of_people(each) for each in found) else found


def authenticators_of(endpoint: Endpoint, callback: Callable[..., Any] | None) -> tuple[type, ...] | None:
    """The classes that authenticate callers of ``callback``, the routed callable; None when nothing says them."""
    cls: Any = endpoint.cls
    if not endpoint.is_drf or cls.get_authenticators is not APIView.get_authenticators:
        return None
    own = dict(endpoint.initkwargs)
    for view in layers_of(callback):
        if view_class_of(view) is cls:
            own |= getattr(view, "initkwargs", None) or getattr(view, "view_initkwargs", None) or {}
            break
    return tuple(own.get("authentication_classes", cls.authentication_classes))


def _is_of_people(authenticator: Any) -> bool:
    return any(_origins(authenticator))


def _origins(authenticator: Any) -> Iterator[bool]:
    for each in getattr(authenticator, "__mro__", ()):
        yield each in _OF_PEOPLE or each.__module__.partition(".")[0] in _PACKAGES_OF_PEOPLE
