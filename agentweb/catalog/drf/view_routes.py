"""Where the site's URLconf routes a view, so that an agent's call is the call that a browser would make.

The callable that stands in the URLconf is what is called: with its ``initkwargs``, and with whatever the site put
around it (``login_required``, a cache). Looked up when it is needed, since the URLconf must not be imported while
``agents.py`` is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any, Final
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
from django.views import View

from agentweb.catalog.drf.view_endpoints import Endpoint

_NAMES_ONLY: Final = frozenset({"suffix", "basename", "name", "description", "detail"})
"""Arguments of ``as_view`` by which routers and people tell views apart."""

_MAX_LAYERS: Final = 64
"""Callables that are looked at behind one pattern."""


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
    """Whether the URLconf leads to other endpoints of the same class, and by no callable to this one."""
    found = [
        getattr(route.callback, "actions", None)
        for route in _within(get_resolver(get_urlconf()), (), frozenset(), {})
        if endpoint.cls is not None and view_class_of(route.callback) is endpoint.cls
    ]
    # What as_view() makes is a new callable each time: the author's own and the router's answer alike.
    return bool(found) and not any(
        endpoint.actions is None or (actions or {}).get(endpoint.method) == endpoint.handler
        for actions in found
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
    # The very callable that was published counts more than one that was made alike.
    found = [
        route for route in found if any(each is endpoint.given for each in layers_of(route.callback))
    ] or found
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
    """Whether the callable of a pattern, with or without decorators around it, is this endpoint.

    Decorators that do not say what they wrap are looked into: a guard that were overlooked would hold over HTTP and
    not for agents.
    """
    return any(_is_endpoint(each, endpoint) for each in layers_of(callback))


def _is_endpoint(view: Any, endpoint: Endpoint) -> bool:
    if view is endpoint.given:
        return True
    given = endpoint.given
    if given is not None and not _is_plain(given, endpoint):
        # The author's own function or decorated view is nothing else.
        return False
    if view is endpoint.cls:
        # A decorator makes the view of it when it is called.
        return given is None
    if view_class_of(view) is not endpoint.cls or endpoint.cls is None:
        return False
    if given is not None and way_of(view) != way_of(given):
        return False
    if endpoint.actions is None:
        return True
    actions = getattr(view, "actions", None) or {}
    return bool(actions.get(endpoint.method) == endpoint.handler)


def _is_plain(view: Any, endpoint: Endpoint) -> bool:
    """Whether this is what ``as_view`` made, with nothing around it but what ``as_view`` itself puts there."""
    cls: Any = view_class_of(view)
    if cls is None:
        return False
    actions = getattr(view, "actions", None)
    made = (
        cls.as_view(**endpoint.initkwargs) if actions is None else cls.as_view(actions, **endpoint.initkwargs)
    )
    return wrappers_of(view) == wrappers_of(made)


def wrappers_of(view: Any) -> int:
    """How many layers say what they wrap."""
    count = 0
    while (view := getattr(view, "__wrapped__", None)) is not None:
        count += 1
    return count


def way_of(view: Any) -> dict[str, Any]:
    """The arguments of ``as_view`` that change what the view does; what it makes is a new callable each time."""
    given = getattr(view, "initkwargs", None) or getattr(view, "view_initkwargs", None) or {}
    return {name: each for name, each in given.items() if name not in _NAMES_ONLY}


def view_class_of(view: Any) -> Any:
    """The class of which ``as_view`` made this callable, else None."""
    return getattr(view, "cls", None) or getattr(view, "view_class", None)


def layers_of(callback: Any) -> Iterator[Any]:
    """A callable and what it visibly holds: what it wraps, its closure, its bound arguments, its own members, and
    what its code calls by a global name. What ``as_view`` made is the end of a way."""
    waiting, seen = [callback], set[int]()
    while waiting and len(seen) < _MAX_LAYERS:
        each = waiting.pop(0)
        if id(each) in seen or not callable(each):
            continue
        seen.add(id(each))
        yield each
        if view_class_of(each) is None and not isinstance(each, type):
            waiting += _held_by(each)
        elif (wrapped := getattr(each, "__wrapped__", None)) is not None:
            waiting.append(wrapped)


def _held_by(each: Any) -> list[Any]:
    if isinstance(each, partial):
        return [each.func, *each.args, *each.keywords.values()]
    function = getattr(each, "__func__", each)
    held = [getattr(function, "__wrapped__", None)]
    code = getattr(function, "__code__", None)
    if code is None:
        # An object that is called: it keeps what it guards among its members.
        return held + [value for value in getattr(each, "__dict__", {}).values() if callable(value)]
    if function is not each and hasattr(each.__self__, "__dict__"):
        held += [value for value in vars(each.__self__).values() if callable(value)]
    for cell in function.__closure__ or ():
        with suppress(ValueError):  # an empty cell
            held.append(cell.cell_contents)
    named = (function.__globals__.get(name) for name in code.co_names)
    return held + [value for value in named if _is_view(value)]


def _is_view(value: Any) -> bool:
    if isinstance(value, type):
        return issubclass(value, View)
    return callable(value) and view_class_of(value) is not None
