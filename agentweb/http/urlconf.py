"""What the site's URLconf does with a path, for system checks: who answers there, and in which order they are asked."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from django.urls import URLPattern, URLResolver, get_resolver, get_script_prefix
from django.utils import translation

from agentweb.http.mount import sites_language
from agentweb.http.views import AgentView


def views_at(path: str) -> Iterator[Any]:
    """Every view whose pattern fits, in the order in which Django would ask."""
    yield from (pattern.callback for pattern in patterns_at(path))


def patterns_at(path: str) -> Iterator[URLPattern]:
    """Every pattern that fits, in the order in which Django would ask. One view may stand behind several."""
    # In the language of the addresses that are published, whatever language the check is run in.
    with translation.override(sites_language()):
        found = list(_within(get_resolver(), path_info(path)))
    yield from found


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
