"""Published views against the URLconf: what could not be known while ``agents.py`` was read.

========== ================================================================================================
W051       every URL of the view has keyword arguments that the action's input does not hold: all calls fail
W052       the URLconf routes the view in several ways; an agent's call goes to the first
W053       the URLconf routes other actions of the view and not this one: agents reach what HTTP does not
W057       no URL is seen to lead to the view: what guards it in the URLconf does not hold for agents
W058       none of the view's authenticators is known to authenticate people: over HTTP they may not get in
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
    """W051, W052, W053, W057 and W058."""
    published = [action for action in registry.actions() if hasattr(action.handler, "endpoint")]
    if not published or not getattr(settings, "ROOT_URLCONF", None):
        return []
    return [message for action in published for message in _messages(action)]


def _messages(action: Any) -> Iterator[CheckMessage]:
    # Not before there is a view to look at: a site may have no use for Django REST framework.
    from agentweb.catalog.drf.view_authenticators import strange_to_people  # noqa: PLC0415
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
    elif not routes:
        yield Warning(
            f"No URL is seen to lead to {action.name!r}, so agents call the view itself: what stands around it in the "
            "URLconf (a decorator, a guard) does not hold for them.",
            hint="Let decorators use functools.wraps, or publish the callable of the URLconf instead of the class. "
            "Silence this for a view that is for agents only.",
            obj=action.where,
            id="agentweb.W057",
        )
    strange = strange_to_people(endpoint, routes[0].callback if routes else None)
    if strange:
        yield Warning(
            f"{action.name!r} authenticates its callers by {', '.join(each.__name__ for each in strange)} only. If "
            "that is not for the people of this site, HTTP turns them away and lets their agents in.",
            hint="Do not publish it, or ask for a permission that such people do not have. Silence this where people "
            "do get in by it.",
            obj=action.where,
            id="agentweb.W058",
        )


def _way(route: Any) -> str:
    """What tells two routes to one view apart: arguments of ``as_view`` that matter, decorators, the version."""
    from agentweb.catalog.drf.view_routes import layers_of, view_class_of, way_of, wrappers_of  # noqa: PLC0415

    callback = route.callback
    layers, hidden = wrappers_of(callback), 0
    for each in layers_of(callback):
        if view_class_of(each) is not None:
            callback = each
            break
        hidden += 1
    is_versioned = getattr(getattr(callback, "cls", None), "versioning_class", None) is not None
    namespace = route.name.rpartition(":")[0] if is_versioned and isinstance(route.name, str) else ""
    return repr((layers, hidden, namespace, sorted(way_of(callback).items(), key=lambda each: each[0])))
