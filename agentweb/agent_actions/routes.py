"""Where actions answer: one explicit pattern for each path of the catalog, both slash forms, always up to date.

The catalog may change after the URLconf was loaded (tests do it), so the patterns are looked up in a resolver that
follows ``registry.version``. A parameter of a path holds no slash, not even ``%2F``: servers decode the path before
anyone can tell. ACTION_PREFIX and everything under it is ours too, 404 in JSON, unless the site has a URL of its
own there (see ``http.site_urls``).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from django.urls import Resolver404, ResolverMatch, URLPattern, URLResolver
from django.urls.resolvers import RegexPattern

from agentweb import conf
from agentweb.agent_actions.views import ActionView
from agentweb.catalog.actions import Action
from agentweb.catalog.registry import registry
from agentweb.http.site_urls import is_sites_own

_PARAMETER: Final = "{}"


class _Table:
    """The patterns of one state of the catalog."""

    def __init__(self, key: tuple[int, str]) -> None:
        self.key = key
        self.fixed: dict[str, URLPattern] = {}
        self.parametrised: list[URLPattern] = []
        for route, actions in sorted(registry.routes().items(), key=lambda item: _order(item[0])):
            pattern = _pattern(_regex(route), actions)
            if _PARAMETER in route:
                self.parametrised.append(pattern)
            else:
                self.fixed[route.strip("/")] = pattern
        self.prefix = key[1]
        self.unknown = _pattern(rf"{re.escape(self.prefix)}(?:/[\s\S]*)?", {})
        self.patterns = [*self.fixed.values(), *self.parametrised, self.unknown]

    def resolve(self, path: str) -> ResolverMatch | None:
        exact = self.fixed.get(path.removesuffix("/"))
        for pattern in [exact] if exact is not None else self.parametrised:
            match = pattern.resolve(path)
            if match is not None:
                return match
        unknown = self.unknown.resolve(path)
        if unknown is None or is_sites_own(path, is_prefix=path.removesuffix("/") == self.prefix):
            return None
        return unknown


class CatalogResolver(URLResolver):
    """Resolves the paths of the catalog as it is now."""

    def __init__(self) -> None:
        super().__init__(RegexPattern(r""), [])
        self._table: _Table | None = None

    @property
    def url_patterns(self) -> list[URLPattern | URLResolver]:
        return list(self.table().patterns)

    def table(self) -> _Table:
        """The patterns of the current catalog, built when it has changed."""
        key = (registry.version, conf.get("ACTION_PREFIX"))
        table = self._table
        if table is None or table.key != key:
            table = self._table = _Table(key)
        return table

    def resolve(self, path: str) -> ResolverMatch:
        match = self.table().resolve(str(path))
        if match is None:
            raise Resolver404({"path": path, "tried": []})
        return match


def _pattern(regex: str, actions: Mapping[str, Action]) -> URLPattern:
    return URLPattern(
        RegexPattern(f"^{regex}/?$", is_endpoint=True), ActionView.as_view(actions=dict(actions))
    )


def _regex(route: str) -> str:
    """``/orders/{}`` as a pattern with groups p0, p1, …, which a name in braces could not always be."""
    segments: list[str] = []
    for segment in route.strip("/").split("/"):
        if segment == _PARAMETER:
            count = sum(1 for each in segments if each.startswith("(?P<"))
            segments.append(f"(?P<p{count}>[^/]+)")
        else:
            segments.append(re.escape(segment))
    return "/".join(segments)


def _order(route: str) -> list[tuple[bool, str]]:
    """Segment by segment, what is written out comes before a parameter: ``/orders/open`` before ``/orders/{}``."""
    return [(segment == _PARAMETER, segment) for segment in route.split("/")]
