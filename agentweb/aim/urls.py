"""The URLs of the messenger: the well-known manifest, ``/v2/…``, the guides and the OpenAPI document.

What is under ``/v2/`` and is nothing is 404 in JSON, unless the site has a URL of its own there.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, Final

from django.urls import URLPattern, URLResolver, re_path
from django.urls.resolvers import RegexPattern, ResolverMatch

from agentweb.aim import mount
from agentweb.aim.routes import ROUTES, Route
from agentweb.aim.views.nothing import NothingView
from agentweb.http import cors
from agentweb.http.bodies import MEDIA_TYPE
from agentweb.http.doors import Door, advertise
from agentweb.http.mount import path_of
from agentweb.http.site_urls import is_asked_without_us, is_sites_own

_VARIES: Final = re.compile(r"\\\{([a-z_]+)\\\}")


class _NothingPattern(URLPattern):
    """``/v2/`` and what is under it, where neither we nor the site have anything."""

    def __init__(self) -> None:
        super().__init__(RegexPattern(rf"^{mount.ROOT}(?:/|$)"), NothingView.as_view())

    def resolve(self, path: str) -> ResolverMatch | None:
        match = super().resolve(path)
        if match is None or is_asked_without_us():
            return None
        return None if is_sites_own(str(path), is_prefix=str(path).strip("/") == mount.ROOT) else match


def _pattern(route: Route) -> Any:
    path = _VARIES.sub(r"(?P<\1>[^/]+)", re.escape(route.path))
    return re_path(rf"^{path}/?$", route.view.as_view(**route.options), name=route.name)


well_known: list[URLPattern | URLResolver] = [_pattern(route) for route in ROUTES if route.is_well_known]

urlpatterns: list[URLPattern | URLResolver] = [
    *(_pattern(route) for route in ROUTES if not route.is_well_known),
    _NothingPattern(),
]

advertise(Door("aim", f"/{mount.MANIFEST}", MEDIA_TYPE, is_well_known=True))
advertise(Door("aim_openapi", f"/{mount.OPENAPI}", MEDIA_TYPE))
advertise(Door("aim_policy", f"/{mount.POLICY}", MEDIA_TYPE))


def _beginnings(prefix: str) -> Iterable[str]:
    if path_of("aim-policy") is not None:
        yield from (f"{prefix}/{mount.ROOT}/", f"{prefix}/docs/", f"{prefix}/openapi")


cors.keep_off("aim", _beginnings)
