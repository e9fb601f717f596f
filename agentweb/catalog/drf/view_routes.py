"""Where the site's URLconf routes a view, so that an agent's call is the call that a browser would make.

The callable that stands in the URLconf is what is called: with its ``initkwargs``, and with whatever the site put
around it (``login_required``, a cache). Looked up when it is needed, since the URLconf must not be imported while
``agents.py`` is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any
from urllib.parse import unquote

from django.urls import (
    NoReverseMatch,
    Resolver404,
    ResolverMatch,
    URLPattern,
    URLResolver,
    get_resolver,
    get_script_prefix,
    get_urlconf,
    reverse,
)

from agentweb.catalog.drf.view_endpoints import Endpoint


@dataclass(frozen=True, slots=True, eq=False)
class Route:
    """One pattern of the URLconf. ``kwargs`` are the names that it captures, ``name`` is for ``reverse``."""

    callback: Callable[..., Any]
    name: Any
    kwargs: frozenset[str]
    defaults: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Place:
    """Where one call goes: ``path`` without the script prefix, ``match`` as a request would have it."""

    callback: Callable[..., Any]
    path: str
    kwargs: dict[str, Any]
    match: ResolverMatch | None


class NoSuchAddress(ValueError):
    """The view is routed, and no URL of it can hold these values: over HTTP this is a 404."""


class NoSuchURL(ValueError):
    """No URL of the view takes exactly these keyword arguments: some are ``missing``, or some are ``unknown``."""

    def __init__(self, missing: frozenset[str], unknown: frozenset[str]) -> None:
        super().__init__(f"missing: {sorted(missing)}, unknown: {sorted(unknown)}")
        self.missing = missing
        self.unknown = unknown


def routes_of(endpoint: Endpoint) -> tuple[Route, ...]:
    """The patterns that lead to the endpoint, in the order of the URLconf; those with a format suffix left out."""
    return _routes_of(get_resolver(get_urlconf()), endpoint)


def is_known_elsewhere(endpoint: Endpoint) -> bool:
    """Whether the URLconf leads to another endpoint of the same class."""
    routes = _within(get_resolver(get_urlconf()), (), frozenset(), {})
    return endpoint.cls is not None and any(
        getattr(route.callback, "cls", None) is endpoint.cls for route in routes
    )


def place_of(endpoint: Endpoint, kwargs: Mapping[str, Any]) -> Place | None:
    """The routed place of a call with these keyword arguments, or None when the view is not routed at all.

    Raises NoSuchAddress or NoSuchURL.
    """
    routes = routes_of(endpoint)
    if not routes:
        return None
    for route in routes:
        if route.kwargs == kwargs.keys():
            return _reversed(route, kwargs)
    nearest = min(routes, key=lambda route: len(route.kwargs ^ kwargs.keys()))
    raise NoSuchURL(nearest.kwargs - kwargs.keys(), frozenset(kwargs.keys() - nearest.kwargs))


def _reversed(route: Route, kwargs: Mapping[str, Any]) -> Place:
    try:
        url = reverse(route.name, kwargs=dict(kwargs))
    except NoReverseMatch:
        raise NoSuchAddress from None
    path = "/" + unquote(url.removeprefix(get_script_prefix()))
    try:
        match = get_resolver(get_urlconf()).resolve(path)
    except Resolver404:
        raise NoSuchAddress from None
    if match.func is not route.callback:
        # Another pattern stands before it, or has the same name: the callable counts, the address is a detail.
        return Place(route.callback, path, {**route.defaults, **{k: str(v) for k, v in kwargs.items()}}, None)
    return Place(route.callback, path, match.kwargs, match)


@lru_cache(maxsize=1_024)
def _routes_of(resolver: URLResolver, endpoint: Endpoint) -> tuple[Route, ...]:
    found = [route for route in _within(resolver, (), frozenset(), {}) if _leads_to(route.callback, endpoint)]
    plain = [route for route in found if "format" not in route.kwargs]
    return tuple(plain or found)


def _within(
    resolver: URLResolver, namespaces: tuple[str, ...], names: frozenset[str], defaults: Mapping[str, Any]
) -> Iterator[Route]:
    for each in resolver.url_patterns:
        inner = names | _captured(each)
        if isinstance(each, URLPattern):
            # An unnamed pattern is found by its callable, which Django does outside of namespaces only.
            name = ":".join([*namespaces, each.name]) if each.name else each.callback
            yield Route(each.callback, name, inner, {**defaults, **each.default_args})
        else:
            further = (*namespaces, each.namespace) if each.namespace else namespaces
            yield from _within(each, further, inner, {**defaults, **each.default_kwargs})


def _captured(each: Any) -> frozenset[str]:
    converters = getattr(each.pattern, "converters", None)
    if converters:
        return frozenset(converters)
    return frozenset(each.pattern.regex.groupindex)


def _leads_to(callback: Any, endpoint: Endpoint) -> bool:
    """Whether the callable of a pattern, with or without decorators around it, is this endpoint."""
    if endpoint.given is not None:
        return _is_around(callback, endpoint.given)
    cls = getattr(callback, "cls", None) or getattr(callback, "view_class", None)
    if cls is not endpoint.cls:
        return False
    if endpoint.actions is None:
        return True
    actions = getattr(callback, "actions", None) or {}
    return bool(actions.get(endpoint.method) == endpoint.handler)


def _is_around(callback: Any, view: Any) -> bool:
    while callback is not None:
        if callback is view:
            return True
        callback = getattr(callback, "__wrapped__", None)
    return False
