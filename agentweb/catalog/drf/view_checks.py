"""Published views against the URLconf: what could not be known while ``agents.py`` was read.

========== ================================================================================================
W051       every URL of the view has keyword arguments that the action's input does not hold: all calls fail
W052       the URLconf routes the view in several ways; an agent's call goes to the first
W053       the URLconf routes other actions of the view and not this one: agents reach what HTTP does not
========== ================================================================================================
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from django.conf import settings
from django.core.checks import CheckMessage, Warning

from agentweb.catalog.registry import registry

_WRITE: Final = "Write url_kwargs={{{name!r}: {{'type': 'string'}}}}."


def check_views(app_configs: Any = None, **kwargs: Any) -> list[CheckMessage]:
    """W051, W052 and W053."""
    published = [action for action in registry.actions() if hasattr(action.handler, "endpoint")]
    if not published or not getattr(settings, "ROOT_URLCONF", None):
        return []
    return [message for action in published for message in _messages(action)]


def _messages(action: Any) -> Iterator[CheckMessage]:
    # Not before there is a view to look at: a site may have no use for Django REST framework.
    from agentweb.catalog.drf.view_routes import is_known_elsewhere, routes_of  # noqa: PLC0415

    endpoint, taken = action.handler.endpoint, action.handler.taken
    routes = routes_of(endpoint)
    names = set(taken.path.values())
    fitting = [route for route in routes if route.kwargs <= names]
    if routes and not fitting:
        missing = sorted(routes[0].kwargs - names)
        yield Warning(
            f"The URL of {action.name!r} needs {', '.join(missing)}, which the input does not hold: every call fails.",
            hint=_WRITE.format(name=missing[0]),
            obj=action.where,
            id="agentweb.W051",
        )
    ways = {(route.kwargs, _way(route)) for route in fitting}
    if len({kwargs for kwargs, _ in ways}) < len(ways):
        yield Warning(
            f"The URLconf routes {action.name!r} in several ways; an agent's call goes to the first.",
            hint="Publish what as_view() made for one of the routes, instead of the class.",
            obj=action.where,
            id="agentweb.W052",
        )
    if not routes and is_known_elsewhere(endpoint):
        yield Warning(
            f"The URLconf routes the view of {action.name!r} without this action of it: agents reach what HTTP does "
            "not.",
            hint="Leave it out with exclude=, or route it.",
            obj=action.where,
            id="agentweb.W053",
        )


def _way(route: Any) -> str:
    """What tells two routes to one view apart: arguments of ``as_view`` that matter, decorators, the version."""
    callback = route.callback
    given = getattr(callback, "initkwargs", None) or getattr(callback, "view_initkwargs", None) or {}
    kept = {
        name: each
        for name, each in given.items()
        if name not in {"suffix", "basename", "name", "description"}
    }
    layers = 0
    inner = callback
    while (inner := getattr(inner, "__wrapped__", None)) is not None:
        layers += 1
    is_versioned = getattr(getattr(callback, "cls", None), "versioning_class", None) is not None
    namespace = route.name.rpartition(":")[0] if is_versioned and isinstance(route.name, str) else ""
    return repr((layers, namespace, sorted(kept.items(), key=lambda each: each[0])))
