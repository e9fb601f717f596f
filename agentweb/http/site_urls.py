"""Which paths under ACTION_PREFIX are the site's own, though no action: then we step aside for them.

A path without an action is answered 404 in JSON, for an agent reads it. But ``/agent/help`` may be a page of the
site whose pattern stands behind our include, and Django asks us first. So the URLconf is asked what it would do
without us. A pattern that takes every path (a front-end's, a CMS's) makes no path the site's own, except the bare
prefix: nothing is called there, and such a site may well have a page of that name.
"""

from __future__ import annotations

from contextvars import ContextVar
from typing import Any, Final

from django.conf import settings
from django.http import Http404
from django.urls import Resolver404, URLResolver, get_resolver, get_urlconf

from agentweb.http.mount import mounted_at

NO_SUCH_PATH: Final = "/agentweb-check/no-such-path-d1c0"
"""A path that only a pattern fits which takes every path."""

_without_us: ContextVar[bool] = ContextVar("agentweb_without_us", default=False)


def is_sites_own(path: str, *, is_prefix: bool = False, is_well_known: bool = False) -> bool:
    """Whether the site itself answers at ``path``, given as below our include, without a slash at its beginning.

    ``is_prefix`` says that it is the bare ACTION_PREFIX, ``is_well_known`` that the path is at the root of the host
    wherever we are included. With APPEND_SLASH a path is the site's too when it is with a slash at its end: the site
    then redirects.
    """
    if _without_us.get():
        return True
    token = _without_us.set(True)
    try:
        root = get_resolver(get_urlconf())
        above = "" if is_well_known else f"/{mounted_at()}".rstrip("/")
        whole = f"{above}/{path}"
        forms = [whole, f"{whole}/"] if settings.APPEND_SLASH and not whole.endswith("/") else [whole]
        found = [match for match in (_match(root, form) for form in forms) if match is not None]
        return (
            bool(found) if is_prefix else any(match != _match(root, above + NO_SUCH_PATH) for match in found)
        )
    finally:
        _without_us.reset(token)


def has_own_url(path: str, *, beside: str) -> bool:
    """Whether the site itself answers at ``path`` by a URL that is made for it, given as below our include.

    A pattern that takes every path is not, and neither is the one that answers at ``beside`` too.
    """
    if _without_us.get():
        return True
    token = _without_us.set(True)
    try:
        root = get_resolver(get_urlconf())
        above = f"/{mounted_at()}".rstrip("/")
        found = _match(root, f"{above}/{path}")
        if found is None:
            return False
        others = (f"{above}/{beside}", f"{above}/{beside.rstrip('/')}/", above + NO_SUCH_PATH)
        return all(found != _match(root, other) for other in others)
    finally:
        _without_us.reset(token)


def nothing_at(path_info: str) -> Http404:
    """What Django raises for a request's path when nothing is there: what the URLconf says of it without us."""
    token = _without_us.set(True)
    try:
        get_resolver(get_urlconf()).resolve(path_info)
    except Resolver404 as error:
        # Under DEBUG, one that tried no pattern is answered with Django's page for a new project, and 200.
        if error.args and error.args[0].get("tried"):
            return error
    finally:
        _without_us.reset(token)
    # Or a pattern of the site's takes every path; its view cannot be run from here, past the middleware.
    return Http404(path_info)


def is_asked_without_us() -> bool:
    """Whether the URLconf is asked what it would do without us: then a resolver of ours finds nothing."""
    return _without_us.get()


def _match(root: URLResolver, path: str) -> tuple[Any, str] | None:
    """The view and the pattern that answer."""
    try:
        match = root.resolve(path)
    except Resolver404:
        return None
    return match.func, match.route
