"""Where manifests answer: explicit patterns for each page of the catalog and each form, always up to date.

Where there are pages there is the site map too. The catalog may change after the URLconf was loaded (tests do it), so
the patterns are looked up in a resolver that follows ``registry.version``. There is no pattern that takes every
``.json``, so the site's own URLs are not taken. Where a page has parameters, a URL of the site's own that is made for
a path goes first: ``/<slug:page>`` does not take ``/feed.json`` away from the site.
"""

from __future__ import annotations

from typing import Any

from django.urls import Resolver404, ResolverMatch, URLPattern, URLResolver
from django.urls.resolvers import RegexPattern, RoutePattern

from agentweb.aip.addresses import FORMS
from agentweb.aip.views import PageManifestView, SiteMapView
from agentweb.catalog import page_paths
from agentweb.catalog.registry import registry
from agentweb.http.site_urls import has_own_url, is_asked_without_us


class _Table:
    """The patterns of one state of the catalog."""

    def __init__(self, version: int) -> None:
        self.version = version
        self.fixed: dict[str, URLPattern] = {}
        self.parametrised: list[tuple[str, URLPattern]] = []
        self.is_complete = True
        if registry.pages():
            for form in FORMS:
                self.fixed[form.site_map[1:]] = _fixed(form.site_map, SiteMapView.as_view(form=form))
        for page in sorted(registry.pages(), key=lambda each: page_paths.order_of(each.path)):
            stem = page_paths.manifest_stem(page.path)
            for form in FORMS:
                pattern = page_paths.pattern_of(stem, form.suffix)
                if pattern is None:
                    # Its converter is not registered yet; the URLconf is still being loaded.
                    self.is_complete = False
                    continue
                view: Any = PageManifestView.as_view(page=page, form=form)
                entry = URLPattern(pattern, view)
                if page.parameters:
                    self.parametrised.append((form.suffix, entry))
                else:
                    self.fixed[stem[1:] + form.suffix] = entry
        self.patterns = [*self.fixed.values(), *(entry for _suffix, entry in self.parametrised)]

    def resolve(self, path: str) -> ResolverMatch | None:
        # Both slash forms, as everywhere.
        bare = path.removesuffix("/")
        exact = self.fixed.get(bare)
        if exact is not None:
            return exact.resolve(bare)
        for suffix, entry in self.parametrised:
            if not bare.endswith(suffix):
                continue
            match = entry.resolve(bare)
            if match is not None and not has_own_url(path, beside=bare.removesuffix(suffix)):
                return match
        return None


def _fixed(path: str, view: Any) -> URLPattern:
    return URLPattern(RoutePattern(path[1:], is_endpoint=True), view)


class PageResolver(URLResolver):
    """Resolves the addresses of the manifests as the catalog is now."""

    def __init__(self) -> None:
        super().__init__(RegexPattern(r""), [])
        self._table: _Table | None = None

    @property
    def url_patterns(self) -> list[URLPattern | URLResolver]:
        return list(self.table().patterns)

    def table(self) -> _Table:
        """The patterns of the current catalog, built when it has changed."""
        version, table = registry.version, self._table
        if table is None or table.version != version or not table.is_complete:
            table = self._table = _Table(version)
        return table

    def resolve(self, path: str) -> ResolverMatch:
        match = None if is_asked_without_us() else self.table().resolve(str(path))
        if match is None:
            raise Resolver404({"path": path, "tried": []})
        return match
