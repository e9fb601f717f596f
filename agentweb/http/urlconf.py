"""What the site's URLconf does with a path, for system checks: who answers there, and in which order they are asked."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from django.urls import URLPattern, URLResolver, get_resolver, get_script_prefix
from django.utils import translation

from agentweb.http.mount import sites_language
from agentweb.http.views import AgentView

_PACKAGE: Final = "agentweb."
_NO_NAME: Final = "d1c0nosuchname"


def views_at(path: str) -> Iterator[Any]:
    """Every view whose pattern fits, in the order in which Django would ask."""
    yield from (pattern.callback for pattern in patterns_at(path))


def patterns_at(path: str) -> Iterator[URLPattern]:
    """Every pattern that fits, in the order in which Django would ask. One view may stand behind several."""
    # In the language of the addresses that are published, whatever language the check is run in.
    with translation.override(sites_language()):
        found = list(_within(get_resolver(), path_info(path)))
    yield from found


def routes_below(start: str) -> Iterator[tuple[str, Any]]:
    """Route and view of every pattern of the site's own that is written for a path below ``start``, ``/shop/awp/``;
    patterns that begin with what may be anything are not. In the order in which Django would ask."""
    with translation.override(sites_language()):
        found = list(_routes(get_resolver(), ""))
    begin = path_info(start).lstrip("/")
    yield from (
        (route, view)
        for route, view in found
        if route.startswith(begin) and not name_of(view).startswith(_PACKAGE)
    )


def _routes(resolver: URLResolver, above: str) -> Iterator[tuple[str, Any]]:
    for each in resolver.url_patterns:
        # Of a regular expression too the beginning is mostly what it says.
        route = above + str(each.pattern).removeprefix("^").replace("\\", "")
        if isinstance(each, URLPattern):
            yield route, each.callback
        else:
            yield from _routes(each, route)


def path_info(path: str) -> str:
    """The path as the URLconf and middleware see it, without where the server mounts the site."""
    script = get_script_prefix()
    return path.removeprefix(script.rstrip("/")) if path.startswith(script) else path


def _within(resolver: URLResolver, path: str) -> Iterator[URLPattern]:
    match = resolver.pattern.match(path)
    if not match:
        return
    for each in resolver.url_patterns:
        if isinstance(each, URLPattern):
            if each.resolve(match[0]):
                yield each
        else:
            yield from _within(each, match[0])


def is_ours(view: Any) -> bool:
    cls = getattr(view, "cls", None)
    return isinstance(cls, type) and issubclass(cls, AgentView)


def name_of(view: Any) -> str:
    view = getattr(view, "view_class", view)
    return f"{getattr(view, '__module__', '?')}.{getattr(view, '__qualname__', type(view).__qualname__)}"


def other_views(path: str, catch_alls: set[Any]) -> list[str]:
    """The names of the site's views at a path of ours, in either slash form: one before us takes our requests, one
    behind us gets none. Where a front-end takes everything behind us, that is how it should be.

    ``catch_alls`` are the views that take every path; what takes every path of so many parts is found here.
    """
    anything = catch_alls.union(views_at(_nowhere(path)))
    found = (
        name_of(view)
        for form in (path, f"{path}/")
        for position, view in enumerate(views_at(form))
        if not is_ours(view) and (view not in anything or position == 0)
    )
    return list(dict.fromkeys(found))


def _nowhere(path: str) -> str:
    """A path that is built like this one and that nothing is made for: what fits it takes any path of so many parts."""
    parts = (part.partition(".") for part in path.split("/"))
    return "/".join(f"{name and _NO_NAME}{dot}{suffix}" for name, dot, suffix in parts)
