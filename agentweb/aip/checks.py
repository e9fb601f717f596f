"""System checks of AIP: has every page a manifest at its own address, and does the page itself exist?

========== =============================================================================================
E070       another view of the site answers at the address of a page's manifest, or is kept from answering by it
E071       the path of a page has a converter that nothing registered
W070       no view of the site answers at the path of a page
W071       an action names a page that is not declared
W072       an action of a page has no form on AIP (see ``projection_checks``)
W073       django-cors-headers covers our paths and would answer their preflights by the site's own policy
W074       a page has browser actions, and no browser can be known (see ``bridge.checks``)
W075       PAGE_NEGOTIATION is on, and the middleware that it needs is not there
========== =============================================================================================
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final

from django.conf import settings
from django.core.checks import CheckMessage, Error, Warning
from django.urls import URLPattern, get_resolver
from django.utils.module_loading import import_string

from agentweb import conf
from agentweb.aip.addresses import FORMS, manifest_path
from agentweb.aip.bridge.checks import check_logins
from agentweb.aip.projection_checks import check_projections
from agentweb.catalog import page_paths
from agentweb.catalog.pages import Page
from agentweb.catalog.registry import registry
from agentweb.http import cors
from agentweb.http.mount import mount_prefix, path_of
from agentweb.http.site_urls import NO_SUCH_PATH
from agentweb.http.urlconf import is_ours, name_of, path_info, patterns_at, views_at

_LINKS: Final = "agentweb.middleware.PageLinksMiddleware"
_SAMPLES: Final = ("0", "x", "00000000-0000-4000-8000-000000000000")
"""Values for the parameters of a path: what Django's own converters take."""


def check_manifest_addresses(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    """E070, also for the site map."""
    if not _is_included():
        return []
    prefix = mount_prefix()
    catch_alls = {
        pattern for nowhere in {NO_SUCH_PATH, prefix + NO_SUCH_PATH} for pattern in _patterns_at_both(nowhere)
    }
    found: list[CheckMessage] = []
    for page in registry.pages():
        for form in FORMS:
            address = page_paths.manifest_stem(page.path) + form.suffix
            for action in registry.routes().get(address, {}).values():
                who = f"The action {action.name!r}"
                found.append(_taken(who, address, f"the manifest of the page {page.path}", page.where))
            for sample in _samples(page):
                path = manifest_path(sample, form, prefix)
                # What answers at the page too is no URL that was made for the manifest's address.
                beside = {*catch_alls, *_patterns_at_both(prefix + sample)}
                other = _other_view(path, beside)
                if other is not None:
                    found.append(_taken(other, path, f"the manifest of the page {page.path}", page.where))
                    break
    if registry.pages():
        for form in FORMS:
            other = _other_view(prefix + form.site_map, catch_alls)
            if other is not None:
                found.append(_taken(other, prefix + form.site_map, "the site map for agents", None))
    return found


def check_converters(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    """E071: a site registers its own in the URLconf, which is loaded by now."""
    if not _is_included():
        return []
    return [
        Error(
            f"The path {page.path} has a converter that is not registered, so its manifest does not answer.",
            hint="Correct its name, or call register_converter() in the URLconf.",
            obj=page.where,
            id="agentweb.E071",
        )
        for page in registry.pages()
        if page_paths.pattern_of(page.path) is None
    ]


def check_pages_exist(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    """W070."""
    if not _is_included():
        return []
    prefix = mount_prefix()
    return [
        Warning(
            f"No view of the site answers at {prefix}{page.path}, the path of a page.",
            hint="Write the path that urls.py has, below where agentweb.urls is included; agents open the page at it. "
            "A view outside of that cannot be a page; it is content for agents by AGENTWEB['AWP']['SITEMAPS'].",
            obj=page.where,
            id="agentweb.W070",
        )
        for page in registry.pages()
        if (samples := _samples(page))
        and not any(any(True for _ in _patterns_at_both(prefix + sample)) for sample in samples)
    ]


def check_named_pages(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    """W071, for a site that has pages at all."""
    pages = registry.pages()
    shapes = {page_paths.named_shape_of(page.path) for page in pages}
    return [
        Warning(
            f"The action {action.name!r} is offered on {path}, and no such page is declared.",
            hint=f"Declare it with page({path!r}, title=…), or correct pages= of the action.",
            obj=action.where,
            id="agentweb.W071",
        )
        for action in registry.actions()
        for path in action.pages
        if pages and page_paths.named_shape_of(path) not in shapes
    ]


def check_cors(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    """W073, beside W042: an agent in a browser sends its token after a preflight."""
    if cors.MIDDLEWARE not in settings.MIDDLEWARE or not registry.pages() or not _is_included():
        return []
    prefix = cors.prefix_seen()
    own = path_info(path_of("sessions") or "").removesuffix("sessions")
    addresses = [
        prefix + page_paths.manifest_stem(sample) + form.suffix
        for page in registry.pages()
        for sample in _samples(page)
        for form in FORMS
    ]
    if not any(map(cors.covers, (f"{own}invoke", *addresses))):
        return []
    return [
        Warning(
            "CORS_URLS_REGEX covers the addresses of page manifests, so django-cors-headers answers their preflights.",
            hint=cors.hint(),
            id="agentweb.W073",
        )
    ]


def check_negotiation(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    """W075."""
    if not conf.get("PAGE_NEGOTIATION") or any(map(_is_links, settings.MIDDLEWARE)):
        return []
    return [
        Warning(
            "AGENTWEB['PAGE_NEGOTIATION'] is on, and nothing comes of it: its middleware is not there.",
            hint=f"Add {_LINKS!r} to MIDDLEWARE, where LocaleMiddleware is, after it.",
            id="agentweb.W075",
        )
    ]


def _is_links(middleware: str) -> bool:
    """Whether it is the middleware of page links, or one that a site has made of it."""
    bases = getattr(import_string(middleware), "__mro__", ())
    return any(f"{each.__module__}.{each.__qualname__}" == _LINKS for each in bases)


def _is_included() -> bool:
    """Whether our URLs answer at all; W040 speaks where they do not."""
    if not getattr(settings, "ROOT_URLCONF", None):
        return False
    _ = get_resolver().url_patterns  # loaded now, with the converters that it registers
    own = path_of("sessions")
    return own is not None and is_ours(next(views_at(own), None))


def _samples(page: Page) -> list[str]:
    """Paths that the page may have; none where a converter of the site's own takes none of our samples."""
    pattern = page_paths.pattern_of(page.path)
    if pattern is None:
        return []
    filled = dict.fromkeys(page_paths.filled(page.path, sample) for sample in _SAMPLES)
    return [path for path in filled if page_paths.match(pattern, path[1:]) is not None]


def _patterns_at_both(path: str) -> Iterator[URLPattern]:
    """The site's own patterns at a path, in either slash form."""
    for form in _slash_forms(path):
        yield from (pattern for pattern in patterns_at(form) if not is_ours(pattern.callback))


def _slash_forms(path: str) -> tuple[str, ...]:
    bare = path.rstrip("/")
    return tuple(dict.fromkeys([path, bare or "/", f"{bare}/"]))


def _other_view(path: str, beside: set[URLPattern]) -> str | None:
    """The name of a view at ``path``, in either slash form, that is not ours: one made for it, or any that goes first.

    A view that answers at the page too may have a pattern of its own for the address of the manifest, as the views of
    Django REST framework do.
    """
    for form in _slash_forms(path):
        for position, pattern in enumerate(patterns_at(form)):
            is_before = position == 0 and form == path  # our own pattern has no slash
            if not is_ours(pattern.callback) and (pattern not in beside or is_before):
                return name_of(pattern.callback)
    return None


def _taken(other: str, path: str, what: str, where: str | None) -> CheckMessage:
    return Error(
        f"{other} answers at {path} too, the address of {what}.",
        hint="Give the view another address, or do not declare the page; one address has one owner. A pattern that "
        "takes every path stands below agentweb.urls.",
        obj=where,
        id="agentweb.E070",
    )


CHECKS: Final[tuple[Callable[..., list[CheckMessage]], ...]] = (
    check_manifest_addresses,
    check_converters,
    check_pages_exist,
    check_named_pages,
    check_projections,
    check_cors,
    check_logins,
    check_negotiation,
)
"""What ``agentweb.checks`` runs for this room."""
