"""Paths of pages: ``/cart`` or ``/orders/<int:pk>``, in the syntax of Django's ``path()``, no slash at the end."""

from __future__ import annotations

import re
from typing import Any, Final

from django.core.exceptions import ImproperlyConfigured
from django.urls.resolvers import RoutePattern

from agentweb.catalog.paths import MAX_LENGTH

HINT: Final = (
    "Write the page's own path as in urls.py, a slash first: '/cart' or '/orders/<int:pk>'. Its manifest is at the "
    "same path with .json and .toon."
)
FRONT_PAGE: Final = "/index"
"""Under which name the front page, ``/``, has its manifest."""
RESERVED: Final = ("/sitemap", "/sitemap.agents")
"""Their manifests would be where the site map is."""

_PARAMETER: Final = re.compile(r"<(?:(?P<converter>[A-Za-z_]\w*):)?(?P<name>[A-Za-z_]\w*)>", re.ASCII)
# RFC 3986 3.3 pchar without percent-encoding, so that a path has one spelling.
_LITERAL: Final = re.compile(r"[A-Za-z0-9._~!$&'()*+,;=:@-]*")


def problem_of(path: object) -> str | None:
    """What is wrong with a declared path, or None."""
    if not isinstance(path, str):
        return "is not a string"
    if not path.startswith("/"):
        return "does not begin with a slash"
    if len(path) > MAX_LENGTH:
        return f"is longer than {MAX_LENGTH} characters"
    for segment in path[1:].removesuffix("/").split("/"):
        if not segment and path != "/":
            return "has an empty segment"
        if segment in {".", ".."}:
            return "has a dot segment"
        if _LITERAL.fullmatch(_PARAMETER.sub("", segment)) is None:
            return f"has a character that does not belong into a path, in {segment!r}"
    names = parameters_of(path)
    if len(set(names)) != len(names):
        return "has a parameter twice"
    taken = sorted({"self", "request"}.intersection(names))
    if taken:
        return f"has a parameter {taken[0]}, a name that views have for something else"
    if manifest_stem(path) in RESERVED:
        return "is that of the site map for agents"
    return None


def parameters_of(path: str) -> tuple[str, ...]:
    """The names of the parameters, in order."""
    return tuple(found["name"] for found in _PARAMETER.finditer(path))


def canonical(path: str) -> str:
    """The path as it is published: without the slash at its end, except that of the front page."""
    return path.rstrip("/") or "/"


def manifest_stem(path: str) -> str:
    """What stands before ``.json`` in the URL of the manifest, for the path of a page or of a URL of it."""
    found = canonical(path)
    return FRONT_PAGE if found == "/" else found


def shape_of(path: str) -> str:
    """What two paths have in common when they match the same URLs: the converters without the names."""
    return _PARAMETER.sub(lambda found: f"<{found['converter'] or 'str'}>", manifest_stem(path))


def named_shape_of(path: str) -> str:
    """What the path of a page and the one that an action names have in common: the names without the converters."""
    return _PARAMETER.sub(lambda found: f"<{found['name']}>", canonical(path))


def as_template(path: str) -> str:
    """``/orders/<int:pk>`` as ``/orders/{pk}``."""
    return _PARAMETER.sub(lambda found: f"{{{found['name']}}}", path)


def as_regex(path: str) -> str:
    """A regular expression for where the manifests of a page are: any text for each parameter."""
    return "[^/]+".join(re.escape(part) for part in re.split(r"<[^>]*>", manifest_stem(path)))


def filled(path: str, value: str) -> str:
    """The path with ``value`` for each of its parameters."""
    return _PARAMETER.sub(lambda _found: value, path)


def order_of(path: str) -> list[tuple[bool, str]]:
    """Segment by segment, what is written out comes before a parameter: ``/orders/open`` before ``/orders/<pk>``."""
    return [("<" in segment, segment) for segment in path.split("/")]


def pattern_of(path: str, suffix: str = "") -> RoutePattern | None:
    """Django's pattern for the path without its first slash; None when it has no converter of such a name (yet).

    A site registers converters of its own in its URLconf, which is loaded after the declarations.
    """
    try:
        return RoutePattern(path[1:] + suffix, is_endpoint=True)
    except ImproperlyConfigured:
        return None


def match(pattern: RoutePattern, path: str) -> dict[str, Any] | None:
    """The parameters in a path without its first slash, converted; None when it is no URL of the pattern."""
    found = pattern.match(path)
    return None if found is None else dict(found[2])
